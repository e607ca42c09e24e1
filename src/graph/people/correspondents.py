"""People in the headers of messages that a search found (docs/spec/people.md#correspondence)."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from graph.people.types import PeopleSource, PersonMatch
from policy.caller import Caller
from providers.mail.merging import without
from providers.mail.query_matching import NameMatcher
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailSlice
from providers.records.base import EPOCH
from providers.records.mail import Email, Participant
from providers.search_text import fold
from providers.turns import in_turns

_SOURCES = (PeopleSource.CORRESPONDENCE,)


async def find(
    name: str,
    pages: Iterable[tuple[ConnectionInfo, MailSlice]],
    fields: AbstractSet[str],
    caller: Caller,
) -> list[PersonMatch]:
    """
    Return the people of *name* in *fields* of the messages, the latest contact first.

    The accounts of the caller are left out, and whom its recipient rules exclude.
    """
    is_meant = NameMatcher(name)
    own = {fold(connection.account_email or "") for connection in caller.connections}
    people: dict[str, PersonMatch] = {}
    async for info, email in in_turns(await _newest_first(pages)):
        rules = caller.on(info.id).grant.recipients
        async for person in in_turns(_people(email, fields)):
            if not is_meant(person):
                continue
            key = fold(person.email)
            if key in people:
                people[key] = _named(people[key], person)
            elif key not in own and (rules is None or rules.allows(person.email)):
                people[key] = _match(person, email, info)
    return sorted(people.values(), key=_rank)


async def _newest_first(
    pages: Iterable[tuple[ConnectionInfo, MailSlice]],
) -> Sequence[tuple[ConnectionInfo, Email]]:
    """Return the messages of all pages; each is mapped when it is accessed, which takes a while."""
    messages: list[tuple[ConnectionInfo, Email]] = []
    for info, page in pages:
        indices = in_turns(range(len(page.emails)))
        messages += [(info, without(page.emails[index], page.hidden)) async for index in indices]
    return sorted(messages, key=lambda entry: entry[1].received_at or EPOCH, reverse=True)


def _people(email: Email, fields: AbstractSet[str]) -> Iterator[Participant]:
    if "from_" in fields and email.from_:
        yield email.from_
    for field, people in (("to", email.to), ("cc", email.cc)):
        if field in fields:
            yield from people or ()


def _named(known: PersonMatch, person: Participant) -> PersonMatch:
    return replace(known, name=person.name) if person.name and not known.name else known


def _match(person: Participant, email: Email, info: ConnectionInfo) -> PersonMatch:
    return PersonMatch(
        email=person.email,
        name=person.name or None,
        last_contact=email.received_at,
        connection_id=info.id,
        account=info.account_email,
        sources=_SOURCES,
    )


def _rank(person: PersonMatch) -> tuple[float, str]:
    return -(person.last_contact or EPOCH).timestamp(), person.email
