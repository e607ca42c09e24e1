"""Port of the tokens that a token's holder makes: docs/spec/child-tokens.md."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from graph.request_log import RequestLog
from providers.records.base import Record


class ChildTokenView(Record, frozen=True, kw_only=True):
    """
    A living child token.

    Attributes:
        key_id: The first characters of its text, for display.
        expires_at: UTC; None: never.
        settings: Every setting, as its ancestors narrow it.
    """

    id: int
    name: str
    key_id: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    settings: dict[str, object]


class CreatedChildTokenView(ChildTokenView, frozen=True, kw_only=True):
    """A child token with its text, which is shown this once only."""

    token: str


class ChildTokens(Protocol):
    """The living tokens that were made from one token."""

    async def create(
        self, members: Mapping[str, object], *, request_id: str, request_log: RequestLog
    ) -> CreatedChildTokenView:
        """
        Create a child; *members* are those of the input, by API name.

        Raises:
            InvalidInput: A member is invalid.
            WiderThanParent: The child would allow more than the token.
            ChildrenNotAllowed: The token may not create any by now.
            Conflict: `TOKEN_LIMIT`: it has too many.
        """

    async def all(self) -> Sequence[ChildTokenView]:
        """Return the children, oldest first."""

    async def revoke(self, child_id: int, *, request_id: str, request_log: RequestLog) -> None:
        """
        Revoke a child and its descendants.

        Raises:
            NotFound: `TOKEN_NOT_FOUND`: the token has no such child.
        """
