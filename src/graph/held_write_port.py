"""Port of the writes that wait for a person: docs/spec/held-writes.md."""

from datetime import datetime
from typing import Annotated, Protocol

from graph.output_types import output, visible
from graph.scalars import JSON
from providers.records.base import Record


@output
class PendingWrite(Record, frozen=True, kw_only=True):
    """A write of this token that a person releases or rejects."""

    id: Annotated[str, visible("Its id.")]
    operation: Annotated[str, visible("The mutation.")]
    state: Annotated[
        str,
        visible(
            "`held`: it waits. `releasing`: a person released it, and it runs. Then it is `done`, "
            "`failed`, `rejected`, `expired`, or `unknown`: it may have been done."
        ),
    ]
    created_at: Annotated[datetime, visible("When it was asked for.")]
    expires_at: Annotated[datetime, visible("Until when a person may release it.")]
    ended_at: Annotated[datetime | None, visible("Null while it waits or runs.")]
    reason: Annotated[str | None, visible("Why it ended without being done.")]
    effect: Annotated[
        dict[str, object] | None,
        visible(
            "What a person sees, as a dry run shows it. Null once the token may see other things.",
            graphql_type=JSON | None,
        ),
    ]
    status: Annotated[int | None, visible("The status of the call, once it ran.")]
    result: Annotated[
        dict[str, object] | None,
        visible(
            "The body that the call would have had, once it ran; its ids alone once the token may "
            "see other things.",
            graphql_type=JSON | None,
        ),
    ]


class HeldWrites(Protocol):
    """The writes of one token that wait for a person, or did so lately."""

    async def get(self, write_id: str, *, wait: int, visibility: bytes) -> PendingWrite:
        """
        Return a write, or wait *wait* seconds for its end first.

        *visibility* is the digest of what the token may see.

        Raises:
            NotFound: The token has no such write.
        """
