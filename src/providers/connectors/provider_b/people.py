"""People by Microsoft Graph: docs/spec/upstream/outlook-mail.md#people."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from providers.http.client import Upstream
from providers.odata import CamelStruct
from providers.ports.opening import Opening
from providers.ports.people import CONTACTS, DIRECTORY, PeoplePage
from providers.records.mail import Participant
from providers.search_text import upstream_terms

_MOST = ("$top", "100")
_EVENTUAL = MappingProxyType({"consistencylevel": "eventual"})  # `$search` of users needs it


class _Address(CamelStruct):
    address: str | None = None


class _Person(CamelStruct):
    display_name: str | None = None
    mail: str | None = None
    scored_email_addresses: tuple[_Address, ...] = ()


class _Page(CamelStruct):
    value: tuple[_Person, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


def open_port(opening: Opening) -> "GraphPeople":
    """Open the people of a connection; makes no call."""
    return GraphPeople(opening.upstream())


class GraphPeople:
    """People of one account; implements `providers.ports.people.PeoplePort`."""

    scopes: Mapping[str, frozenset[str]] = MappingProxyType(
        {
            CONTACTS: frozenset({"people.read", "people.read.all"}),
            DIRECTORY: frozenset(
                {"user.readbasic.all", "user.read.all", "user.readwrite.all", "directory.read.all"}
            ),
        }
    )

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def search(self, source: str, name: str) -> PeoplePage:
        words = [word for term in upstream_terms(name) for word in term.split()]
        if source == CONTACTS:
            select = ("$select", "displayName,scoredEmailAddresses")
            text = ("$search", f'"{" ".join(words)}"')
            response = await self._upstream.call(
                "GET", "v1.0", "me", "people", params=(text, _MOST, select)
            )
        else:
            select = ("$select", "displayName,mail")
            text = ("$search", " AND ".join(map(_word, words)))
            response = await self._upstream.call(
                "GET", "v1.0", "users", params=(text, _MOST, select), headers=_EVENTUAL
            )
        page = response.decode(_Page)
        people = [
            Participant(email=address, name=person.display_name or None)
            for person in page.value
            for address in _addresses(person)
        ]
        return PeoplePage(people, page.next_link is None)


def _word(word: str) -> str:
    return f'("displayName:{word}" OR "mail:{word}")'


def _addresses(person: _Person) -> list[str]:
    addresses = (person.mail, *(scored.address for scored in person.scored_email_addresses))
    return [address for address in addresses if address]
