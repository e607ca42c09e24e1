"""A row of the decision log: who called what, the outcome and what decided it; never content."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from policy.vocabulary import Surface
from providers import collab_ids, ids

_DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


class Outcome(StrEnum):
    """
    Outcomes of a call; `failed` means that it did not work, but no layer refused it.

    `held`: it was allowed, and a person has the last word: its message is left as a draft
    (docs/spec/email.md#draft-mode), or it waits (docs/spec/held-writes.md).
    """

    ALLOWED = "allowed"
    HELD = "held"
    REFUSED = "refused"
    FAILED = "failed"


class EntryPoint(StrEnum):
    """The way in of a call or a change: `door` in the API and the table."""

    REST = "rest"
    GRAPHQL = "graphql"
    AGENT = "agent"
    INTERNAL = "internal"
    MANAGEMENT = "admin"
    COMMAND_LINE = "cli"
    SIGN_IN = "sign-in"
    RELEASE = "release"


class Decision(NamedTuple):
    """
    One call, or one root field of a GraphQL request. Members are the columns of `decisions`, in
    order.

    Attributes:
        at: Time of the response; milliseconds.
        surface: None for calls that belong to no surface.
        operation: The root field; None when none was reached.
        resource_id: The id that the caller named, if it has the form of an id.
        layer: The layer that decided; None when the call was allowed.
        status: The HTTP status of REST; 0 when the caller left before the response.
        rule_id: The collab rule that decided.
        policy_rev: Policy revision of the token during the call.
        hidden_fields: Number of field words of the surface that the token may not see.
        cost: Operations charged to rate limits.
        duration: Microseconds since authentication.
        upstream_calls: Attempts of upstream calls, over the whole request.
        upstream_status: HTTP status of the last of them; None without a response.
        actor: Who made a change of `gateway.audit.changes`; None for calls of tokens.
        parent_id: The token from which the token was made; None: an operator made it.
        dry_run: Whether the call was a write that ended before it wrote anything.
    """

    at: int
    request_id: str
    token_id: int
    operator_id: str
    door: str
    surface: str | None
    operation: str | None
    resource_id: str | None
    outcome: str
    layer: str | None
    code: str | None
    status: int
    rule_id: int | None
    policy_rev: int
    hidden_fields: int
    cost: int
    duration: int
    upstream_calls: int
    upstream_status: int | None
    actor: str | None = None
    parent_id: int | None = None
    dry_run: bool = False


def looks_like_id(surface: str | None, text: str) -> bool:
    """Return whether *text* has the form of an id of *surface*; anything else may be content."""
    return surface is not None and len(text) <= ids.MAX_ID_LENGTH and _IS_ID[surface](text)


def _is_mail_id(text: str) -> bool:
    parts = ids.split_mail_id(text)
    return parts is not None and ids.is_native_id(*parts)


def _is_collab_id(text: str) -> bool:
    splitters = (
        collab_ids.split_folder,
        collab_ids.split_drive,
        collab_ids.split_site,
        collab_ids.split_list,
        collab_ids.split_list_item,
    )
    return any(split(text) is not None for split in splitters)


_IS_ID: Mapping[str, Callable[[str], bool]] = {
    Surface.EMAIL: _is_mail_id,
    Surface.CALENDAR: lambda text: _UUID.fullmatch(text) is not None,
    Surface.TASKS: lambda text: _DIGITS.fullmatch(text) is not None,
    Surface.COLLAB: _is_collab_id,
}
