"""What is written down of one call: who, what, how it ended and what decided it; never content."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gateway.store import timestamps
from policy.vocabulary import Surface
from providers import ids
from providers.content import ids as collab_ids

if TYPE_CHECKING:
    from gateway.operations import views

_DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


class Outcome(StrEnum):
    """How a call ended; `failed`: nothing of ours refused it."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"


class EntryPoint(StrEnum):
    """Which door a call came through."""

    REST = "rest"
    GRAPHQL = "graphql"
    INTERNAL = "internal"


class Decision(NamedTuple):
    """
    One call, or one root field of a GraphQL request. Members are columns of `decisions`, in order.

    Attributes:
        at: When it was answered; milliseconds.
        surface: None for calls that belong to none.
        operation: The root field that answers; None when none was reached.
        resource_id: The id that the caller named, if it has the form of one.
        layer: That decided; None when the call was allowed.
        status: That REST answers with; 0 when nobody waited for an answer.
        rule_id: The collab rule that decided.
        policy_rev: Of the token, as the call found it.
        hidden_fields: How many mask words of the surface the token may not see.
        cost: Operations charged to its rate buckets.
        duration: Microseconds since the token was known.
        upstream_calls: Tries at calls upstream; of the request as a whole.
        upstream_status: What the last of them was answered with; None when none was.
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

    def view(self, number: int) -> "views.Decision":
        """Return the object of `GET /api/decisions`; *number* is its id."""
        return {
            "id": number,
            "at": timestamps.to_text(self.at),
            "requestId": self.request_id,
            "tokenId": self.token_id,
            "operatorId": self.operator_id,
            "door": self.door,
            "surface": self.surface,
            "operation": self.operation,
            "resourceId": self.resource_id,
            "outcome": self.outcome,
            "layer": self.layer,
            "code": self.code,
            "status": self.status,
            "ruleId": self.rule_id,
            "policyRevision": self.policy_rev,
            "hiddenFields": self.hidden_fields,
            "cost": self.cost,
            "durationMs": round(self.duration / 1000, 1),
            "upstreamCalls": self.upstream_calls,
            "upstreamStatus": self.upstream_status,
        }


def looks_like_id(surface: str | None, given: str) -> bool:
    """Say whether *given* has the form of an id of *surface*; anything else may be content."""
    return surface is not None and len(given) <= ids.MAX_ID_LENGTH and _FORMED[surface](given)


def _mail(given: str) -> bool:
    split = ids.split_mail_id(given)
    if split is None:
        return False
    provider, native = split
    return (
        ids.is_provider_a_id(native) if provider == "PROVIDER_A" else ids.is_provider_b_id(native)
    )


def _collab(given: str) -> bool:
    reads = (
        collab_ids.split_folder,
        collab_ids.split_drive,
        collab_ids.split_site,
        collab_ids.split_list,
        collab_ids.split_row,
    )
    return any(read(given) is not None for read in reads)


_FORMED: Mapping[str, Callable[[str], bool]] = {
    Surface.EMAIL: _mail,
    Surface.CALENDAR: lambda given: _UUID.fullmatch(given) is not None,
    Surface.TASKS: lambda given: _DIGITS.fullmatch(given) is not None,
    Surface.COLLAB: _collab,
}
