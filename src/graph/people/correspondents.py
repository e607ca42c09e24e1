"""People in the headers of messages that a search found (docs/spec/people.md#correspondence)."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from graph.people.matches import Matches
from graph.people.types import PeopleSource
from providers.mail.merging import without
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailSlice
from providers.records.base import EPOCH
from providers.records.mail import Email, Participant
from providers.turns import in_turns


async def add(
    matches: Matches, pages: Iterable[tuple[ConnectionInfo, MailSlice]], fields: AbstractSet[str]
) -> None:
    """Add the people in *fields* of the messages, the latest first."""
    people = (
        (person, info, email.received_at)
        for info, email in await _newest_first(pages)
        for person in _people(email, fields)
    )
    async for person, info, received_at in in_turns(people):
        matches.add(person, PeopleSource.CORRESPONDENCE, info, last_contact=received_at)


async def _newest_first(
    pages: Iterable[tuple[ConnectionInfo, MailSlice]],
) -> Sequence[tuple[ConnectionInfo, Email]]:
    """Return what the account shows of the messages of all pages, the latest first."""
    messages: list[tuple[ConnectionInfo, Email]] = []
    for info, page in pages:
        messages += [(info, without(each, page.hidden)) async for each in in_turns(page.emails)]
    return sorted(messages, key=lambda entry: entry[1].received_at or EPOCH, reverse=True)


def _people(email: Email, fields: AbstractSet[str]) -> Iterator[Participant]:
    if "from_" in fields and email.from_:
        yield email.from_
    for field, people in (("to", email.to), ("cc", email.cc)):
        if field in fields:
            yield from people or ()
