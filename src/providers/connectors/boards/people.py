"""
Names in people columns: docs/spec/upstream/monday.md#names-of-people.

A column's text joins the names of its people by commas, and a name may have commas itself. So where
the text has another number of parts than the value has people, the names are looked up by the ids.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from providers.connectors.boards import column_types, documents, response_types
from providers.connectors.boards.graphql_client import BoardClient
from providers.failures import NeedsReauth, Refused

_MAX_IDS = 100  # people of one call, and of one page of items


async def with_names(
    client: BoardClient, items: Sequence[response_types.Item]
) -> list[response_types.Item]:
    """
    Return *items* with the names of people where their text does not tell them apart.

    Where the ids are not those of known users, the text is one name.
    """
    unclear = [cell for item in items for cell in _cells(item) if _is_unclear(cell)]
    if not unclear:
        return list(items)
    ids = dict.fromkeys(member for cell in unclear for member in _members(cell))
    users = [member for member in ids if member.isdecimal()][:_MAX_IDS]
    names: Mapping[str, str] = {}
    if users:
        with suppress(Refused, NeedsReauth):  # without the scope no person is known
            data = await client.read(
                documents.USER_NAMES, response_types.UsersData, u=users, n=len(users)
            )
            names = {user.id: user.name for user in data.users or () if user and user.name}
    return [_named(item, names) for item in items]


def _cells(item: response_types.Item) -> Iterator[response_types.ColumnValue]:
    yield from item.column_values or ()
    for subitem in item.subitems or ():
        if subitem is not None:
            yield from subitem.column_values or ()


def _is_unclear(cell: response_types.ColumnValue) -> bool:
    if column_types.TYPES.get(cell.type) != "people" or not cell.text or cell.values is not None:
        return False
    members = _members(cell)
    return bool(members) and len(cell.text.split(", ")) != len(members)


def _members(cell: response_types.ColumnValue) -> list[str]:
    """Return the ids of the people in a value, of teams with the prefix "team-"."""
    try:
        value: Any = msgspec.json.decode(cell.value) if cell.value else None
    except (msgspec.DecodeError, RecursionError):
        return []
    members = value.get("personsAndTeams") if isinstance(value, Mapping) else None
    return [
        str(member.get("id")) if member.get("kind") == "person" else f"team-{member.get('id')}"
        for member in (members if isinstance(members, list) else ())
        if isinstance(member, Mapping)
    ]


def _named(item: response_types.Item, names: Mapping[str, str]) -> response_types.Item:
    subitems = item.subitems
    if subitems is not None:
        subitems = tuple(subitem and _named(subitem, names) for subitem in subitems)
    return replace(item, column_values=_named_cells(item.column_values, names), subitems=subitems)


def _named_cells(
    cells: Iterable[response_types.ColumnValue] | None, names: Mapping[str, str]
) -> tuple[response_types.ColumnValue, ...] | None:
    return None if cells is None else tuple(_named_cell(cell, names) for cell in cells)


def _named_cell(
    cell: response_types.ColumnValue, names: Mapping[str, str]
) -> response_types.ColumnValue:
    if not _is_unclear(cell):
        return cell
    members = _members(cell)
    known = [names[member] for member in members if member in names]
    shown = known if len(known) == len(members) else [cell.text or ""]
    return replace(cell, values=tuple(response_types.Option(name=name) for name in shown))
