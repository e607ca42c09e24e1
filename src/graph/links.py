"""
Root fields that lead on: `person` and `lastContact`, `links` and `related`.

People are named by address, and need not be known to anybody; texts and meetings lead to what
docs/spec/graphql.md#links says.

Nothing is read for them, so they reveal nothing; edges lead on from them.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import strawberry

from graph.context import Info
from graph.emails.filters import MAX_PARTICIPANTS
from graph.masking import wellformed
from graph.masking.guards import unguarded
from graph.output_types import INTERNAL, output, visible
from policy.caller import Caller
from policy.refusals import InvalidInput
from providers import web_addresses
from providers.mail.query_matching import is_address
from providers.records.base import Record
from providers.search_text import fold

_DAY, _INSTANT = timedelta(days=1), timedelta(milliseconds=1)

Argument = strawberry.argument


@output
class Person(Record, frozen=True, kw_only=True):
    """A person with an e-mail address, who need not be known to the gateway."""

    email: Annotated[str, visible("The address as in the request.")]


@output
class LastContact(Record, frozen=True, kw_only=True):
    """The last contact with a person, by mail and in person."""

    address: Annotated[str, visible("The address of the person.")]


@output
class TaskItemLink(Record, frozen=True, kw_only=True):
    """A web address of a task item."""

    url: Annotated[str, visible("The address as in the text.")]
    provider: Annotated[str, INTERNAL]
    item_id: Annotated[str, INTERNAL]


@output
class Links(Record, frozen=True, kw_only=True):
    """The files and task items that a text names by web addresses."""

    task_items: Annotated[
        tuple[TaskItemLink, ...], visible("In the order of the text, each item once.")
    ]
    web_urls: Annotated[
        str | None,
        visible("The addresses of files, separated by blanks, each once; null without any."),
    ]


@output
class Related(Record, frozen=True, kw_only=True):
    """What people have to do with each other in some days."""

    participants: Annotated[
        tuple[str, ...] | None,
        visible("The addresses without those of the connected accounts: the first ten."),
    ]
    from_: Annotated[datetime | None, visible("The start of the days.")]
    to: Annotated[datetime | None, visible("The end of the days (exclusive).")]
    text: Annotated[str | None, visible("The text with links.")]

    @property
    def after(self) -> datetime | None:
        """The last moment before its days."""
        return None if self.from_ is None else self.from_ - _INSTANT

    @property
    def addresses(self) -> str | None:
        """The participants, separated by commas."""
        return ",".join(self.participants or ()) or None


@unguarded()
async def person(
    info: Info, email: Annotated[str, Argument(description="A complete address.")]
) -> Person:
    """Name a person; nothing is read but what is selected of it."""
    return Person(email=_address(info, "person", email))


@unguarded()
async def last_contact(
    info: Info, email: Annotated[str, Argument(description="A complete address.")]
) -> LastContact:
    """Lead to the newest message and the newest event with a person; only what is selected."""
    return LastContact(address=_address(info, "lastContact", email))


@unguarded(max_limit=web_addresses.MAX_ADDRESSES)
async def links(
    info: Info,
    text: Annotated[str, Argument(description="A text or HTML.")],
    *,
    limit: Annotated[
        int | None, Argument(description="1 to 20 of each kind; more is lowered to 20.")
    ] = 20,
) -> Links:
    """Find the web addresses of files and task items in a text; only what is selected is read."""
    most = web_addresses.MAX_ADDRESSES
    size = info.context.clamp_limit(limit, default=most, maximum=most)
    addresses = web_addresses.addresses_in(text, size)
    return Links(
        task_items=tuple(
            TaskItemLink(url=item.url, provider=item.provider, item_id=item.item_id)
            for item in addresses.items
        ),
        web_urls=" ".join(addresses.files) or None,
    )


@unguarded()
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
) -> Related:
    """Lead to the messages of people in some days, and to links; only what is selected is read."""
    wellformed.check({"participants": participants}, root="related", called=info.argument_name)
    people = None if participants is None else _others(info.context.caller, participants)
    first = end = None
    if from_ is not None and to is not None:
        first, end = _days(from_.astimezone(UTC), to.astimezone(UTC))
    return Related(participants=people, from_=first, to=end, text=text)


def _address(info: Info, root: str, email: str) -> str:
    wellformed.check({"email": email}, root=root, called=info.argument_name)
    local, _, domain = email.strip().rpartition("@")
    if not local or not domain:
        raise InvalidInput("email must be a complete address.")
    return email.strip()


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
