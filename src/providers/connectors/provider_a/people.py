"""People by Google's People API: docs/spec/upstream/google-people.md."""

from collections.abc import Mapping
from time import monotonic
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from providers.mail.query_matching import is_address
from providers.odata import CamelStruct
from providers.ports.opening import Opening
from providers.ports.people import CONTACTS, DIRECTORY, OTHER_CONTACTS, PeoplePage
from providers.records.mail import Participant
from providers.search_text import upstream_terms

# Source -> the method below the version. Its colon may not be percent-encoded, as a segment's is.
_METHODS: Mapping[str, str] = MappingProxyType(
    {
        CONTACTS: "people:searchContacts",
        OTHER_CONTACTS: "otherContacts:search",
        DIRECTORY: "people:searchDirectoryPeople",
    }
)
_MEMBERS = ("readMask", "names,emailAddresses")
_MOST_CONTACTS, _MOST_USERS = 30, 100
_DIRECTORY_SOURCES = (
    ("sources", "DIRECTORY_SOURCE_TYPE_DOMAIN_PROFILE"),
    ("sources", "DIRECTORY_SOURCE_TYPE_DOMAIN_CONTACT"),
)
# Google's search cache: updated some seconds after a call, and old some minutes later.
_UPDATED_SECONDS, _OLD_SECONDS = 5, 300


class _Name(CamelStruct):
    display_name: str | None = None


class _Address(CamelStruct):
    value: str | None = None


class _Person(CamelStruct):
    names: tuple[_Name, ...] = ()
    email_addresses: tuple[_Address, ...] = ()


class _Result(CamelStruct):
    person: _Person = msgspec.field(default_factory=_Person)


class _Page(CamelStruct):
    results: tuple[_Result, ...] = ()
    people: tuple[_Person, ...] = ()
    next_page_token: str | None = None


class SearchCaches:
    """Since when calls have kept Google's search cache of each source of an account updated."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[float, float]] = {}  # the first of a row, and the last

    def is_updated(self, source: str) -> bool:
        """Return whether a call that starts now reads an updated cache; notes the call."""
        now = monotonic()
        first, last = self._calls.get(source, (now, now))
        if now - last >= _OLD_SECONDS:
            first = now
        self._calls[source] = first, now
        return now - first >= _UPDATED_SECONDS


def open_port(opening: Opening) -> "GooglePeople":
    """Open the people of a connection, whose base URL is that of people; makes no call."""
    return GooglePeople(opening)


class GooglePeople:
    """People of one account; implements `providers.ports.people.PeoplePort`."""

    scopes: Mapping[str, frozenset[str]] = MappingProxyType(
        {
            CONTACTS: frozenset({"contacts", "contacts.readonly"}),
            OTHER_CONTACTS: frozenset({"contacts.other.readonly"}),
            DIRECTORY: frozenset({"directory.readonly"}),
        }
    )

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._caches = opening.memory(SearchCaches)

    async def search(self, source: str, name: str) -> PeoplePage:
        info = self._opening.info
        url = f"{info.base_url.rstrip('/')}/v1/{_METHODS[source]}"
        upstream = self._opening.make_upstream(replace(info, base_url=url))
        is_directory = source == DIRECTORY
        most = _MOST_USERS if is_directory else _MOST_CONTACTS
        # Google takes the words for one phrase. Of them, the longest has the fewest people.
        words = [word for term in upstream_terms(name) for word in term.split()]
        params = (("query", max(words, key=len)), _MEMBERS, ("pageSize", str(most)))
        is_updated = is_directory or self._caches.is_updated(source)
        response = await upstream.call(
            "GET", params=(*params, *_DIRECTORY_SOURCES) if is_directory else params
        )
        page = response.decode(_Page)
        persons = page.people if is_directory else tuple(each.person for each in page.results)
        has_all = not page.next_page_token if is_directory else len(persons) < most
        people = [each for person in persons for each in _people(person)]
        return PeoplePage(people, is_updated and has_all)


def _people(person: _Person) -> list[Participant]:
    name = next((each.display_name for each in person.names if each.display_name), None)
    addresses = (each.value for each in person.email_addresses)
    return [Participant(email=each, name=name) for each in addresses if each and is_address(each)]
