"""Port of the subscriptions to a token's feed of changes: docs/spec/changes.md#subscriptions."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol

import strawberry

from graph.output_types import output, visible
from providers.records.base import Record


@strawberry.enum(graphql_name_from="value", description="Whether a subscription works.")
class SubscriptionState(StrEnum):
    ACTIVE = "active"
    FAILING = "failing"
    DEAD = "dead"


@output
class ChangeSubscription(Record, frozen=True, kw_only=True):
    """A URL that is called when there are changes."""

    id: Annotated[str, visible("The id of the subscription.")]
    url: Annotated[str, visible("Whom to call.")]
    created_at: Annotated[datetime, visible("When it was made.")]
    state: Annotated[
        SubscriptionState,
        visible(
            "`active`; `failing`: the last look or call failed, and is repeated; `dead`: the URL "
            "is called no more until its secret is renewed."
        ),
    ]


@output
class CreatedChangeSubscription(ChangeSubscription, frozen=True, kw_only=True):
    """A new subscription."""

    cursor: Annotated[str, visible("The cursor of `changes` from which on changes are told.")]
    secret: Annotated[str, visible("What signs the calls; it is never shown again.")]


@output
class RotatedChangeSubscription(Record, frozen=True, kw_only=True):
    """A subscription with a new secret."""

    id: Annotated[str, visible("The id of the subscription.")]
    secret: Annotated[str, visible("The new secret; it is never shown again.")]


class Subscriptions(Protocol):
    """The subscriptions of one token."""

    async def check(self, url: str) -> None:
        """
        Check that the token may have one more, of *url*.

        Raises:
            InvalidInput: The URL cannot be called, or the token has the most subscriptions.
        """

    async def create(self, url: str, cursor: str) -> CreatedChangeSubscription:
        """
        Have *url* called for the changes since *cursor*, which was just made.

        Raises:
            InvalidInput: As `check`.
        """

    async def all(self) -> Sequence[ChangeSubscription]:
        """Return the subscriptions, oldest first."""

    async def require(self, subscription_id: str) -> None:
        """
        Check that the token has a subscription.

        Raises:
            NotFound: It has no such one.
        """

    async def rotate(self, subscription_id: str) -> RotatedChangeSubscription:
        """
        Make a new secret; for a day the former one signs too.

        Raises:
            NotFound: The token has no such subscription.
        """

    async def delete(self, subscription_id: str) -> None:
        """
        End a subscription.

        Raises:
            NotFound: The token has no such subscription.
        """
