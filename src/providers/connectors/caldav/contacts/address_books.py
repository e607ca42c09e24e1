"""The people port of one account on a CardDAV server: RFC 6352."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from providers.connectors.caldav.contacts import vcards
from providers.connectors.caldav.dav_client import DavClient
from providers.connectors.caldav.discovery import ADDRESS_BOOKS, homes_of
from providers.connectors.caldav.multistatus import CARDDAV, DAV, Resource
from providers.failures import Missing, Refused
from providers.http.urls import BaseUrl
from providers.ports.opening import Opening
from providers.ports.people import CONTACTS, PeoplePage
from providers.search_text import upstream_terms
from providers.turns import in_turns

_MAX_BOOKS = 10
_LIMIT = 100  # cards of a book that the server is asked for
_MOST_READ = 1000  # of a server that ignores the filter and the limit
_KNOWN_SECONDS = 600.0
_NO_BOOKS = "The server has no address books of this account."
_TYPE, _DATA = f"{DAV}resourcetype", f"{CARDDAV}address-data"


@dataclass(slots=True)
class KnownBooks:
    """The paths of an account's address books, and whether these are all."""

    paths: tuple[str, ...] = ()
    are_all: bool = True
    read_at: float = -_KNOWN_SECONDS  # on the scale of `time.monotonic`


def open_port(opening: Opening) -> "CardDavPeople":
    """Open the contacts of a connection; makes no call."""
    return CardDavPeople(opening)


class CardDavPeople:
    """Contacts of one account; implements `providers.ports.people.PeoplePort`."""

    scopes: Mapping[str, frozenset[str]] = MappingProxyType({CONTACTS: frozenset({"carddav"})})

    def __init__(self, opening: Opening) -> None:
        server = BaseUrl.parse(opening.info.base_url)
        self._start = f"{server.prefix}/" if server.prefix else ""
        self._client = DavClient(opening.upstream(), server.origin)
        self._known = opening.memory(KnownBooks)

    async def search(self, source: str, name: str) -> PeoplePage:
        del source  # contacts are the only one
        words = [word for term in upstream_terms(name) for word in term.split()]
        word = max(words, key=len)
        was_known = time.monotonic() - self._known.read_at < _KNOWN_SECONDS
        if not was_known:
            await self._find_books()
        try:
            return await self._search(word)
        except Missing:
            if not was_known:
                raise
            await self._find_books()
            return await self._search(word)

    async def _find_books(self) -> None:
        homes, _ = await homes_of(self._client, self._start, ADDRESS_BOOKS)
        paths: dict[str, None] = {}
        for home in homes:
            async for resource in in_turns(await self._client.properties(home, (_TYPE,), depth=1)):
                if _is_book(resource):
                    paths[self._client.path_of(resource.href)] = None
        if not paths:
            raise Refused(_NO_BOOKS)
        self._known.paths = tuple(sorted(paths))[:_MAX_BOOKS]
        self._known.are_all = len(paths) <= _MAX_BOOKS
        self._known.read_at = time.monotonic()

    async def _search(self, word: str) -> PeoplePage:
        people = []
        is_complete = self._known.are_all
        for path in self._known.paths:
            cards = await self._client.cards(
                path, vcards.PROPERTIES, word, limit=_LIMIT, most=_MOST_READ
            )
            # Exactly as many as were asked for may be some of more.
            is_complete = is_complete and cards.is_whole and len(cards.resources) != _LIMIT
            async for card in in_turns(cards.resources):
                try:
                    people += vcards.people(card.text(_DATA))
                except vcards.Unreadable:
                    is_complete = False
        return PeoplePage(people, is_complete)


def _is_book(resource: Resource) -> bool:
    types = resource.properties.get(_TYPE)
    return types is not None and types.first(f"{CARDDAV}addressbook") is not None
