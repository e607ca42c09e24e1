"""
Rights per account: what narrows a token on one of its connections (docs/spec/tokens.md).

A grant of an account that narrows nothing allows everything, so that the meet of it and the
token's is the token's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any

from policy.containment import SETTINGS
from policy.counts import listed
from policy.gates import Connection
from policy.grants import Grant
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code, SendMode, Surface

# Surface -> the attributes of a grant that an account of it narrows.
ATTRIBUTES: Mapping[Surface, tuple[str, ...]] = MappingProxyType(
    {
        Surface.EMAIL: ("email_operations", "visible_email_fields", "send_mode", "recipients"),
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
        ),
        Surface.COLLAB: (
            "collab_operations",
            "visible_collab_fields",
            "collab_search_totals",
            "recipients",
        ),
    }
)


_APART = frozenset({Surface.EMAIL})  # each of their accounts is narrowed for itself


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

    Of the surfaces in `_APART` it has what one of them allows at least, of the others what all of
    them allow. Recipients are its own when the connections do not narrow them all together.
    """
    used = [connection for connection in connections if usable(grant, connection)]
    of_one_surface = len({connection.kind for connection in used}) == 1
    values: dict[str, Any] = {}
    for surface, attributes in ATTRIBUTES.items():
        grants = [on_account(grant, each) for each in used if each.kind == surface]
        for attribute in attributes if grants else ():
            stated = [getattr(each, attribute) for each in grants]
            together = surface not in _APART or len(grants) == 1
            if attribute != "recipients" or (together and of_one_surface):
                combine = SETTINGS[attribute].meet if together else _wider
                values[attribute] = reduce(combine, stated)
    return replace(grant, **values)


def _wider(value: Any, other: Any) -> Any:
    """Return the value that allows what *value* or *other* allows."""
    match value, other:
        case (SendMode(), _):
            return SendMode.DIRECT if SendMode.DIRECT in {value, other} else value
        case (frozenset(), frozenset()):
            return value | other
    raise TypeError(f"Values of accounts that have no join: {value!r}.")


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
