"""
The root fields `links` and `related`: what texts and meetings lead to (docs/spec/graphql.md#links).

Nothing is read for them, so they reveal nothing; edges lead on from them.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import strawberry

from graph.context import Info
from graph.emails.filters import MAX_PARTICIPANTS
from graph.masking import wellformed
from graph.masking.guards import unguarded
from policy.caller import Caller
from policy.refusals import InvalidInput
from providers import web_addresses
from providers.mail.query_matching import is_address
from providers.records.base import Record
from providers.search_text import fold

_DAY, _INSTANT = timedelta(days=1), timedelta(milliseconds=1)

Argument = strawberry.argument


class TaskItemLinkView(Record, frozen=True, kw_only=True):
    url: str
    provider: str
    item_id: str


class LinksView(Record, frozen=True, kw_only=True):
    task_items: tuple[TaskItemLinkView, ...]
    web_urls: str | None


@strawberry.type(description="A web address of a task item.")
class TaskItemLink:
    url: str = strawberry.field(description="The address as in the text.")


@strawberry.type(description="The files and task items that a text names by web addresses.")
class Links:
    task_items: list[TaskItemLink] = strawberry.field(
        description="In the order of the text, each item once."
    )
    web_urls: str | None = strawberry.field(
        description="The addresses of files, separated by blanks, each once; null without any."
    )


class RelatedView(Record, frozen=True, kw_only=True):
    participants: tuple[str, ...] | None
    from_: datetime | None
    to: datetime | None
    text: str | None

    @property
    def after(self) -> datetime | None:
        """The last moment before its days."""
        return None if self.from_ is None else self.from_ - _INSTANT

    @property
    def addresses(self) -> str | None:
        """The participants, separated by commas."""
        return ",".join(self.participants or ()) or None


@strawberry.type(description="What people have to do with each other in some days.")
class Related:
    participants: list[str] | None = strawberry.field(
        description="The addresses without those of the connected accounts: the first ten."
    )
    from_: datetime | None = strawberry.field(name="from", description="The start of the days.")
    to: datetime | None = strawberry.field(description="The end of the days (exclusive).")
    text: str | None = strawberry.field(description="The text with links.")


@unguarded(returns=Links, max_limit=web_addresses.MAX_ADDRESSES)
async def links(
    info: Info,
    text: Annotated[str, Argument(description="A text or HTML.")],
    *,
    limit: Annotated[
        int | None, Argument(description="1 to 20 of each kind; more is lowered to 20.")
    ] = 20,
) -> LinksView:
    """Find the web addresses of files and task items in a text; only what is selected is read."""
    most = web_addresses.MAX_ADDRESSES
    size = info.context.clamp_limit(limit, default=most, maximum=most)
    addresses = web_addresses.addresses_in(text, size)
    return LinksView(
        task_items=tuple(
            TaskItemLinkView(url=item.url, provider=item.provider, item_id=item.item_id)
            for item in addresses.items
        ),
        web_urls=" ".join(addresses.files) or None,
    )


@unguarded(returns=Related)
async def related(
    info: Info,
    *,
    participants: Annotated[
        str | None, Argument(description="Addresses of people, separated by commas.")
    ] = None,
    from_: Annotated[
        datetime | None, Argument(name="from", description="A time of the first day, in UTC.")
    ] = None,
    to: Annotated[
        datetime | None, Argument(description="The end of a time that ends in the last day.")
    ] = None,
    text: Annotated[str | None, Argument(description="A text or HTML with links.")] = None,
) -> RelatedView:
    """Lead to the messages of people in some days, and to links; only what is selected is read."""
    wellformed.check({"participants": participants}, root="related", called=info.argument_name)
    people = None if participants is None else _others(info.context.caller, participants)
    first = end = None
    if from_ is not None and to is not None:
        first, end = _days(from_.astimezone(UTC), to.astimezone(UTC))
    return RelatedView(participants=people, from_=first, to=end, text=text)


def _days(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """Return the start of the day of *start*, and the end of the day in which *end* falls."""
    try:
        last = max(start, end - _INSTANT)
        first = _midnight(start)
        _ = first - _INSTANT  # messages are listed after it
        return first, _midnight(last) + _DAY
    except OverflowError:
        raise InvalidInput("from and to are too far from today.") from None


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


def _others(caller: Caller, participants: str) -> tuple[str, ...]:
    """Return whole addresses, each once, without those of the caller's own accounts."""
    own = {fold(connection.account_email or "") for connection in caller.connections}
    others = {
        fold(address): address
        for part in participants.split(",")
        if is_address(address := part.strip()) and fold(address) not in own
    }
    return tuple(others.values())[:MAX_PARTICIPANTS]
