"""
The People API: searches of contacts, of other contacts and of the directory.

Contacts are found in a search cache, which is updated some seconds after a call, and which is
forgotten when nobody calls. See docs/spec/upstream/google-people.md.
"""

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from sandbox.http import Handler, Request, Response, json_response
from sandbox.provider_a import partial_response
from sandbox.provider_a.errors import GoogleError, require_scope
from sandbox.provider_a.gmail.parameters import COMMON_PARAMETERS
from sandbox.state import SandboxState
from sandbox.storage.database import Database

UPDATED_SECONDS, OLD_SECONDS = 5, 300
_MOST_RESULTS, _MOST_PEOPLE = 30, 500
_CONTACTS = frozenset({"query", "pageSize", "readMask"})
_METHODS: Mapping[str, tuple[str, tuple[str, ...], frozenset[str]]] = MappingProxyType(
    {
        "people:searchContacts": (
            "contacts",
            ("contacts", "contacts.readonly"),
            _CONTACTS | {"sources"},
        ),
        "otherContacts:search": ("otherContacts", ("contacts.other.readonly",), _CONTACTS),
        "people:searchDirectoryPeople": (
            "directory",
            ("directory.readonly",),
            _CONTACTS | {"sources", "mergeSources", "pageToken"},
        ),
    }
)
_OF_OTHERS = frozenset({"emailAddresses", "metadata", "names", "phoneNumbers"})
_OF_ALL = _OF_OTHERS | frozenset(
    """
    addresses ageRanges biographies birthdays calendarUrls clientData coverPhotos events externalIds
    genders imClients interests locales locations memberships miscKeywords nicknames occupations
    organizations photos relations sipAddresses skills urls userDefined
    """.split()  # noqa: SIM905 - one name a line fills the page
)
_DIRECTORY_SOURCES = frozenset(
    {"DIRECTORY_SOURCE_TYPE_DOMAIN_CONTACT", "DIRECTORY_SOURCE_TYPE_DOMAIN_PROFILE"}
)
_WORD = re.compile(r"\w+")


def store_people(
    database: Database,
    *,
    contacts: Sequence[tuple[str, str]] = (),
    other_contacts: Sequence[tuple[str, str]] = (),
    directory: Sequence[tuple[str, str]] | None = (),
) -> None:
    """Store pairs of a name and an address; *directory* None: the account is a consumer's."""
    for key, people in (("contacts", contacts), ("otherContacts", other_contacts)):
        database.set_meta(f"people-a:{key}", json.dumps(list(people)))
    database.set_meta("people-a:directory", json.dumps(directory))


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of ``/v1/people:…`` and ``/v1/otherContacts:search``."""
    endpoints = _Searches(state)

    async def handle(request: Request) -> Response | None:
        if request.segments[:1] != ("v1",) or len(request.segments) != 2:
            return None
        if request.method != "GET" or request.segments[1] not in _METHODS:
            return None
        try:
            selection = partial_response.parse(request.first("fields"))
            content = endpoints.search(request, request.segments[1])
        except GoogleError as error:
            return error.response()
        except partial_response.BadSelection as problem:
            return GoogleError(400, str(problem), "invalidArgument").response()
        return json_response(partial_response.apply(content, selection))

    return handle


class _Searches:
    """The three searches. Nobody but the sandbox's account calls them, so one cache suffices."""

    def __init__(self, state: SandboxState) -> None:
        self._state = state
        self._cached: dict[str, list[tuple[str, str]]] = {}
        self._calls: dict[str, tuple[float, float]] = {}

    def search(self, request: Request, method: str) -> Mapping[str, Any]:
        """Check the parameters, and return a page of people."""
        source, scopes, known = _METHODS[method]
        for name, _ in request.query:
            if name not in known | COMMON_PARAMETERS:
                message = f'Invalid JSON payload received. Unknown name "{name}": Cannot bind.'
                raise GoogleError(400, message, "invalidArgument")
        require_scope(request.grant, *scopes)
        members = _members(request, _OF_OTHERS if source == "otherContacts" else _OF_ALL)
        words = _WORD.findall(request.first("query").casefold())
        if source == "directory":
            return self._directory(request, words, members)
        size = min(_size(request) or 10, _MOST_RESULTS)
        people = [each for each in self._visible(source) if words and _matches(words, each)]
        return {"results": [{"person": _person(each, members)} for each in people[:size]]}

    def _directory(
        self, request: Request, words: Sequence[str], members: Sequence[str]
    ) -> Mapping[str, Any]:
        sources = request.every("sources")
        if not sources or not _DIRECTORY_SOURCES.issuperset(sources):
            raise GoogleError(400, "sources must be specified.", "invalidArgument")
        if not words:
            raise GoogleError(400, "query must be specified.", "invalidArgument")
        people = self._stored("directory")
        if people is None:
            raise GoogleError(400, "Must be a G Suite domain user.", "failedPrecondition")
        size = _size(request) or 100
        if size > _MOST_PEOPLE:
            raise GoogleError(400, f"pageSize must be at most {_MOST_PEOPLE}.", "invalidArgument")
        matching = [each for each in people if _matches(words, each)]
        token = request.first("pageToken", "0")
        if not token.isdecimal():
            raise GoogleError(400, "Invalid page token.", "invalidArgument")
        page = {"people": [_person(each, members) for each in matching[int(token) :][:size]]}
        rest = int(token) + size
        more = {"nextPageToken": str(rest)} if rest < len(matching) else {}
        return {**page, **more, "totalSize": len(matching)}

    def _visible(self, source: str) -> Sequence[tuple[str, str]]:
        """Return the contacts of the search cache, and have it updated."""
        now = self._state.clock()
        first, last = self._calls.get(source, (now, now))
        if now - last >= OLD_SECONDS:
            first = now
            self._cached.pop(source, None)
        self._calls[source] = first, now
        if now - first >= UPDATED_SECONDS:
            self._cached[source] = self._stored(source) or []
        return self._cached.get(source, [])

    def _stored(self, source: str) -> list[tuple[str, str]] | None:
        stored = json.loads(self._state.database.meta(f"people-a:{source}", "[]") or "[]")
        return None if stored is None else [(name, address) for name, address in stored]


def _members(request: Request, known: frozenset[str]) -> Sequence[str]:
    members = [name for name in request.first("readMask").split(",") if name]
    if not members:
        raise GoogleError(
            400,
            "readMask mask is required. Please specify one or more valid paths.",
            "invalidArgument",
        )
    for name in members:
        if name.partition(".")[0] not in known:
            message = f'Invalid readMask mask path: "{name}".'
            raise GoogleError(400, message, "invalidArgument")
    return [name.partition(".")[0] for name in members]


def _size(request: Request) -> int:
    text = request.first("pageSize", "0")
    if not text.isdecimal():
        raise GoogleError(400, "Invalid value at 'page_size' (TYPE_INT32).", "invalidArgument")
    return int(text)


def _matches(words: Sequence[str], person: tuple[str, str]) -> bool:
    """Return whether *words*, as a phrase, begin anywhere in a field: "foo n" has "foo name"."""
    return any(
        all(
            each.startswith(word) if at == len(words) - 1 else each == word
            for at, (word, each) in enumerate(zip(words, field[start:], strict=False))
        )
        for field in (_WORD.findall(text.casefold()) for text in person)
        for start in range(len(field) - len(words) + 1)
    )


def _person(person: tuple[str, str], members: Sequence[str]) -> Mapping[str, Any]:
    name, address = person
    number = uuid5(NAMESPACE_DNS, address).int % 10**19
    first, _, last = name.rpartition(" ")
    fields: dict[str, Any] = {
        "names": [{"displayName": name, "givenName": first or name, "familyName": last}],
        "emailAddresses": [{"metadata": {"primary": True}, "value": address}],
    }
    selected = {member: fields[member] for member in fields if member in members}
    return {"resourceName": f"people/c{number}", "etag": "%EgUBAi43PRoEAQIFBw==", **selected}
