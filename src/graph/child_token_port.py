"""Port of the tokens that a token's holder makes: docs/spec/child-tokens.md."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Protocol

from graph.output_types import output, visible
from graph.request_log import RequestLog
from graph.scalars import JSON, Long
from providers.records.base import Record


@output
class ChildToken(Record, frozen=True, kw_only=True):
    """A token that was made from the token of this request."""

    id: Annotated[int, visible("The child's id.", graphql_type=Long)]
    name: Annotated[str, visible("Its name.")]
    key_id: Annotated[str, visible("The first 8 characters of its text.")]
    created_at: Annotated[datetime, visible("When it was created.")]
    expires_at: Annotated[datetime | None, visible("Null when it does not expire.")]
    last_used_at: Annotated[datetime | None, visible("Null when it was never used.")]
    settings: Annotated[
        dict[str, object], visible("All settings, as this token narrows them.", graphql_type=JSON)
    ]


@output
class CreatedChildToken(ChildToken, frozen=True, kw_only=True):
    """A new child token with its text."""

    token: Annotated[str, visible("The text of the token; it is never shown again.")]


class ChildTokens(Protocol):
    """The living tokens that were made from one token."""

    async def create(
        self, members: Mapping[str, object], *, request_id: str, request_log: RequestLog
    ) -> CreatedChildToken:
        """
        Create a child; *members* are those of the input, by API name.

        Raises:
            InvalidInput: A member is invalid.
            WiderThanParent: The child would allow more than the token.
            ChildrenNotAllowed: The token may not create any by now.
            Conflict: `TOKEN_LIMIT`: it has too many.
        """

    async def all(self) -> Sequence[ChildToken]:
        """Return the children, oldest first."""

    async def revoke(self, child_id: int, *, request_id: str, request_log: RequestLog) -> None:
        """
        Revoke a child and its descendants.

        Raises:
            NotFound: `TOKEN_NOT_FOUND`: the token has no such child.
        """
