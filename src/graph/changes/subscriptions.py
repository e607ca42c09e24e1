"""Root fields of subscriptions to changes (docs/spec/changes.md#subscriptions)."""

from typing import Annotated

import strawberry

from graph.changes import queries
from graph.changes.subscription_port import (
    ChangeSubscription,
    CreatedChangeSubscription,
    RotatedChangeSubscription,
    Subscriptions,
)
from graph.changes.surfaces import OPERATIONS
from graph.context import Context, Info
from graph.masking.guards import for_subscribers
from graph.output_types import output, visible
from policy.refusals import InvalidInput, NoDryRun
from policy.vocabulary import Code
from providers.dry_run import before_call
from providers.records.base import Record

_Id = Annotated[str, strawberry.argument(description="The id of the subscription.")]


@strawberry.input(description="A URL that is called when there are changes.")
class CreateChangeSubscriptionInput:
    url: str = strawberry.field(description="https, of a public address.")
    surfaces: list[str] | None = strawberry.field(
        default=None, description="As those of `changes`; absent: all that may be listed."
    )


@output
class ChangeSubscriptionList(Record, frozen=True, kw_only=True):
    """The subscriptions of a token."""

    subscriptions: Annotated[tuple[ChangeSubscription, ...], visible("At most 5, oldest first.")]


@output
class DeletedChangeSubscription(Record, frozen=True, kw_only=True):
    """The subscription that was ended."""

    id: Annotated[str, visible("Its id.")]


@for_subscribers(*OPERATIONS)
async def create_change_subscription(
    info: Info,
    written: Annotated[
        CreateChangeSubscriptionInput,
        strawberry.argument(name="input", description="The subscription."),
    ],
) -> CreatedChangeSubscription:
    """Have a URL called when there are changes; the call names a cursor, and no content."""
    context = info.context
    subscriptions = _changed(context)
    await subscriptions.check(written.url)
    before_call("POST", changes=True)
    page = await queries.begin(context, written.surfaces or ())
    return await subscriptions.create(written.url, page.cursor)


@for_subscribers()
async def change_subscriptions(info: Info) -> ChangeSubscriptionList:
    """List the subscriptions of the token in use."""
    return ChangeSubscriptionList(subscriptions=tuple(await _subscriptions(info.context).all()))


@for_subscribers()
async def rotate_change_subscription(info: Info, id: _Id) -> RotatedChangeSubscription:  # noqa: A002
    """Renew the secret of a subscription; for a day the former one signs too."""
    subscriptions = _changed(info.context)
    await subscriptions.require(id)
    before_call("POST", changes=True)
    return await subscriptions.rotate(id)


@for_subscribers()
async def delete_change_subscription(info: Info, id: _Id) -> DeletedChangeSubscription:  # noqa: A002
    """End a subscription."""
    subscriptions = _changed(info.context)
    await subscriptions.require(id)
    before_call("DELETE", changes=True)
    await subscriptions.delete(id)
    return DeletedChangeSubscription(id=id)


def _changed(context: Context) -> Subscriptions:
    """Return the subscriptions, to change them; `Prefer: dry-run` and `If-Effect` are refused."""
    if context.is_dry_run or context.expected_effect is not None:
        raise NoDryRun("Calls about subscriptions have no dry run and no effect.")
    return _subscriptions(context)


def _subscriptions(context: Context) -> Subscriptions:
    if context.subscriptions is None:
        raise InvalidInput("There are no subscriptions here.", code=Code.VALIDATION_ERROR)
    return context.subscriptions
