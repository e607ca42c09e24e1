"""Changing list items of one connection. Source: wire report 1D.5; decisions 8.11."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists.items import RowReader
from providers.connectors.collab.lists.lists import ListReader
from providers.content.ids import ListKey, RowKey, is_number
from providers.failures import Broken, ProviderFailure, Refused
from providers.http.response import Response
from providers.outcomes import unknown_if_ambiguous
from providers.ports.collab import InvalidFields
from providers.records import collab as records

_LOOKUPS = ("lookup", "person")


class RowWriter:
    """Changes list items."""

    def __init__(
        self, context: ConnectionContext, sites: SiteReader, lists: ListReader, rows: RowReader
    ) -> None:
        self._context = context
        self._sites = sites
        self._lists = lists
        self._rows = rows

    async def create(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """Add a list item; see `RowWritePort.create`."""
        self._sites.admit_site(key.site)
        columns = await self._lists.columns(key)
        check(columns, fields, creating=True)
        body = {"fields": _typed({name: one for name, one in fields.items() if one is not None})}
        selection = await self._rows.field_selection(key, wanted, hidden)
        with unknown_if_ambiguous():
            answer = await self._call("POST", *_address(key), json=body)
            made = answer.decode(response_types.ListItem)
            if not is_number(made.id):
                raise Broken
        told = mapping.row(made, key, wanted, selection=selection)
        return await self._again(RowKey(*key, made.id), told, wanted, hidden)

    async def update(
        self,
        key: RowKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """Change some columns; see `RowWritePort.update`."""
        self._sites.admit_site(key.site)
        check(await self._lists.columns(key.of), fields, creating=False)
        where = (*_address(key.of), "items", key.item, "fields")
        answer = await self._call(
            "PATCH", *where, json=_typed(fields), headers=_if_match(etag), item=True
        )
        changed = response_types.ListItem(id=key.item, fields=answer.decode(dict[str, Any]))
        selection = await self._rows.field_selection(key.of, wanted, hidden)
        return await self._again(
            key, mapping.row(changed, key.of, wanted, selection=selection), wanted, hidden
        )

    async def delete(self, key: RowKey, *, etag: str | None) -> None:
        """Delete a list item; see `RowWritePort.delete`."""
        self._sites.admit_site(key.site)
        where = (*_address(key.of), "items", key.item)
        await self._call("DELETE", *where, headers=_if_match(etag), item=True)

    async def _again(
        self,
        key: RowKey,
        told: records.Row,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """Read what was just written as a whole; what the write told is better than nothing."""
        try:
            return await self._rows.get(key, wanted=wanted, hidden=hidden)
        except ProviderFailure:
            return told

    async def _call(
        self,
        method: str,
        *segments: str,
        json: object = None,
        headers: Mapping[str, str] | None = None,
        item: bool = False,
    ) -> Response:
        """
        Make a change once; an answer that cannot be read is for the caller to judge.

        Raises:
            InvalidFields: Upstream does not take the values.
            OutcomeUnknown: The answer was lost.
        """
        where = segments if item else (*segments, "items")
        try:
            with unknown_if_ambiguous():
                return await self._context.upstream.call(
                    method, V1, *where, json=json, headers=headers or {}
                )
        except Refused as refusal:
            if type(refusal) is Refused and refusal.status == 400 and json is not None:
                raise InvalidFields([("", "The provider does not take a value.")]) from None
            raise


def check(
    columns: tuple[records.Column, ...], fields: Mapping[str, Any], *, creating: bool
) -> None:
    """
    Hold values against the columns of a list.

    Raises:
        InvalidFields: Columns are unknown or read-only, or a required one has no value.
    """
    known = {one.name: one for one in columns}
    known |= {f"{one.name}LookupId": one for one in columns if one.column_type in _LOOKUPS}
    details = []
    for name in fields:
        column = known.get(name)
        if column is None:
            details.append((name, "The list has no such column."))
        elif column.read_only or column.column_type == "calculated":
            details.append((name, "The column is read-only."))
    for column in columns:
        needed = column.required and not column.read_only and not column.hidden
        if not needed or (creating and column.has_default):
            continue
        keys = (column.name, f"{column.name}LookupId")
        given = [fields[key] for key in keys if key in fields]
        if (creating and not given) or any(value in (None, "", []) for value in given):
            details.append((column.name, "The column is required."))
    if details:
        raise InvalidFields(details)


def _typed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Say of several values what they are several of, as upstream wants it."""
    typed: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, list):
            numbers = bool(value) and all(isinstance(one, int) for one in value)
            typed[f"{name}@odata.type"] = f"Collection(Edm.{'Int32' if numbers else 'String'})"
        typed[name] = value
    return typed


def _address(key: ListKey) -> tuple[str, ...]:
    return ("sites", key.site, "lists", key.list)


def _if_match(etag: str | None) -> Mapping[str, str]:
    return {"if-match": etag} if etag else {}
