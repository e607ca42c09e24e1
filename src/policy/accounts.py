"""
Rights per account: what narrows a token on one of its connections (docs/spec/tokens.md).

A grant of an account that narrows nothing allows everything, so that the meet of it and the
token's is the token's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

from policy.containment import SETTINGS
from policy.counts import listed
from policy.gates import Connection
from policy.grants import Grant
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code, Surface, WriteMode

# Surface -> the attributes of a grant that an account of it narrows.
ATTRIBUTES: Mapping[Surface, tuple[str, ...]] = MappingProxyType(
    {
        Surface.EMAIL: (
            "email_operations",
            "visible_email_fields",
            "send_mode",
            "recipients",
            "write_mode",
        ),
        Surface.CALENDAR: (
            "calendar_level",
            "visible_calendar_fields",
            "past_days",
            "future_days",
            "calendar_ids",
        ),
        Surface.TASKS: (
            "task_operations",
            "task_boards",
            "visible_task_fields",
            "writable_task_fields",
            "recipients",
            "write_mode",
        ),
        Surface.COLLAB: (
            "collab_operations",
            "visible_collab_fields",
            "collab_search_totals",
            "recipients",
            "write_mode",
        ),
    }
)


class AmbiguousAccount(InvalidInput):
    """A write could go to several *connections*, and names none."""

    code = Code.AMBIGUOUS_ACCOUNT

    def __init__(self, connections: Sequence[Connection]) -> None:
        accounts = tuple((connection.id, connection.account_email) for connection in connections)
        names = [f"{connection} ({account})" for connection, account in accounts]
        super().__init__(listed("Several accounts could be meant, and none is named:", names))
        self.accounts = accounts


def usable(grant: Grant, connection: Connection) -> bool:
    """Return whether a call may use *connection* as far as its state and its id go."""
    return connection.status == "active" and (
        grant.connection_ids is None or connection.id in grant.connection_ids
    )


def narrowed(grant: Grant, connections: Iterable[Connection]) -> Grant:
    """
    Return *grant* as its usable *connections* narrow it, each on its surface.

    It has what one of them allows at least. Recipients are its own unless there is one connection
    only, and its write mode is the widest of theirs.
    """
    used = [connection for connection in connections if usable(grant, connection)]
    values: dict[str, Any] = {}
    if modes := write_modes(grant, used):
        values["write_mode"] = reduce(partial(_wider, "write_mode"), modes)
    for surface, attributes in ATTRIBUTES.items():
        grants = [on_account(grant, each) for each in used if each.kind == surface]
        for attribute in attributes if grants else ():
            stated = [getattr(each, attribute) for each in grants]
            if attribute == "write_mode":
                continue
            if attribute != "recipients" or len(used) == 1:
                values[attribute] = reduce(partial(_wider, attribute), stated)
    return replace(grant, **values)


def write_modes(grant: Grant, connections: Iterable[Connection]) -> list[WriteMode]:
    """Return the write mode of *grant* on each of *connections* that has one."""
    return [
        on_account(grant, each).write_mode
        for each in connections
        if "write_mode" in ATTRIBUTES[Surface(each.kind)]
    ]


def write_mode_on(
    grant: Grant, connections: Sequence[Connection], connection_id: int | None, surface: Surface
) -> WriteMode:
    """Return the mode of a write to one of *connections*; of an unknown one: the narrowest."""
    of_surface = [each for each in connections if each.kind == surface]
    known = [each for each in of_surface if each.id == connection_id]
    modes = write_modes(grant, known or of_surface)
    return reduce(SETTINGS["write_mode"].meet, modes) if modes else grant.write_mode


def differ(grant: Grant, connections: Iterable[Connection]) -> bool:
    """Return whether usable *connections*, all of one surface, narrow *grant* differently."""
    used = [each for each in connections if usable(grant, each)]
    return len({_values(on_account(grant, each), Surface(each.kind)) for each in used}) > 1


def _values(grant: Grant, surface: Surface) -> tuple[Any, ...]:
    return tuple(getattr(grant, attribute) for attribute in ATTRIBUTES[surface])


def _wider(attribute: str, value: Any, other: Any) -> Any:
    """Return the value of an attribute that allows what *value* or *other* allows."""
    if isinstance(value, frozenset) and isinstance(other, frozenset):
        return value | other
    if isinstance(value, tuple) and isinstance(other, tuple):  # boards
        return tuple(dict.fromkeys(value + other))
    # The values of every other attribute are in one order; None is no restriction.
    return other if SETTINGS[attribute].allows_more(value, other) else value


def on_account(grant: Grant, connection: Connection) -> Grant:
    """Return *grant* as *connection* narrows it on its surface."""
    account = dict(grant.accounts).get(connection.id)
    if account is None:
        return grant
    values: dict[str, Any] = {
        attribute: SETTINGS[attribute].meet(getattr(grant, attribute), getattr(account, attribute))
        for attribute in ATTRIBUTES[Surface(connection.kind)]
    }
    return replace(grant, **values)


def require_narrower(settings: Mapping[str, Any]) -> None:
    """
    Check that no account is given more than the token has by its other *settings*.

    Raises:
        InvalidInput: `VALIDATION_ERROR` with one detail per setting that allows more.
    """
    grant = Grant.read(settings)
    details = [
        Detail(f"settings.accounts.{connection}.{row.setting}", "It allows more than the token.")
        for connection, account in grant.accounts
        for attribute, row in SETTINGS.items()
        if row.setting in settings["accounts"][str(connection)]
        and row.allows_more(getattr(grant, attribute), getattr(account, attribute))
    ]
    if details:
        message = "Accounts may only narrow what the token allows."
        raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=details)
