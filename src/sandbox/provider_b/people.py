"""
People of Microsoft Graph: relevant people (``/me/people``) and the users of the directory.

See docs/spec/upstream/outlook-mail.md#people.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from sandbox.http import Handler, Request, Response
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.schema import Kind, QueryError, Shape
from sandbox.provider_b.responses import GraphError, error_response, ok, to_graph_error
from sandbox.state import SandboxState
from sandbox.storage.database import Database

_PERSON = Shape(
    name="microsoft.graph.person",
    members={
        **dict.fromkeys(("id", "displayName", "userPrincipalName"), Kind.STRING),
        "scoredEmailAddresses": Kind.UNKNOWN,
    },
)
_USER = Shape(
    name="microsoft.graph.user",
    members=dict.fromkeys(("id", "displayName", "mail", "userPrincipalName"), Kind.STRING),
)
_READ_PEOPLE = ("People.Read", "People.Read.All")
_READ_USERS = ("User.ReadBasic.All", "User.Read.All", "User.ReadWrite.All", "Directory.Read.All")
_TOKEN = re.compile(r'\s*(?:"(displayName|mail|userPrincipalName):([^"]+)"|(AND|OR)|([()]))\s*')
_WORD = re.compile(r"\w+")


def store_people(
    database: Database, *, contacts: Sequence[tuple[str, str]], users: Sequence[tuple[str, str]]
) -> None:
    """Store relevant people and users: pairs of a name and an address, most relevant first."""
    database.set_meta("people:contacts", json.dumps(list(contacts)))
    database.set_meta("people:users", json.dumps(list(users)))


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of ``/v1.0/users``."""

    async def handle(request: Request) -> Response | None:
        if request.segments != ("v1.0", "users") or request.method != "GET":
            return None
        try:
            return _users(request, state.database)
        except QueryError as error:
            return error_response(to_graph_error(error, code="Request_UnsupportedQuery"), request)
        except GraphError as error:
            return error_response(error, request)

    return handle


class PeopleEndpoints:
    """The endpoint of relevant people."""

    def __init__(self, state: SandboxState) -> None:
        self._store = state.database

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes."""
        endpoints.routes.add("GET", "/people", self.people)

    def people(self, call: UserCall) -> Response:
        """``GET /me/people``: a fuzzy search, so that one word of the name suffices."""
        call.require_scope(*_READ_PEOPLE)
        options = query_options.parse(call.request.query, _PERSON, expandable={}, max_top=1000)
        words = _words(options.search or "")
        records = [
            {
                "id": str(uuid5(NAMESPACE_DNS, address)),
                "displayName": name,
                "scoredEmailAddresses": [{"address": address, "relevanceScore": 1.0}],
                "userPrincipalName": None,
            }
            for name, address in _stored(self._store, "people:contacts")
            if not words or any(_begins(word, f"{name} {address}") for word in words)
        ]
        return _page(call.request, records, options, context="people", default=10)


def _users(request: Request, database: Database) -> Response:
    grant = request.grant
    have = {scope.rsplit("/", 1)[-1] for scope in (grant.scopes if grant else ())}
    if not have.intersection(_READ_USERS):
        raise GraphError(
            403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation."
        )
    options = query_options.parse(request.query, _USER, expandable={}, max_top=999)
    if options.search and request.headers.get("consistencylevel", "").lower() != "eventual":
        raise GraphError(
            400,
            "Request_UnsupportedQuery",
            "Request with $search query parameter only works through MSGraph with a special "
            "request header: 'ConsistencyLevel: eventual'",
        )
    condition = _Condition(options.search) if options.search else None
    records = [
        {
            "id": str(uuid5(NAMESPACE_DNS, address)),
            "displayName": name,
            "mail": address,
            "userPrincipalName": address,
        }
        for name, address in _stored(database, "people:users")
    ]
    matching = [record for record in records if condition is None or condition.holds(record)]
    return _page(request, matching, options, context="users", default=100)


def _page(
    request: Request,
    records: Sequence[Mapping[str, Any]],
    options: query_options.Options,
    *,
    context: str,
    default: int,
) -> Response:
    start, size = int(options.skip_token or 0), options.top or default
    page = [
        query_options.select_members(dict(record), options.select, always=())
        for record in records[start : start + size]
    ]
    body: dict[str, Any] = {
        "@odata.context": f"{request.public}/v1.0/$metadata#{context}",
        "value": page,
    }
    if start + size < len(records):
        url = request.link().partition("?")[0]
        link = query_options.next_link(url, request.query, skiptoken=start + size)
        body["@odata.nextLink"] = link
    return ok(body)


class _Condition:
    """A `$search` of the directory: quoted clauses of a property, AND, OR and parentheses."""

    def __init__(self, text: str) -> None:
        self._tokens = list(self._split(text))

    def holds(self, record: Mapping[str, str]) -> bool:
        self._rest = list(self._tokens)
        value = self._any(record)
        if self._rest:
            raise QueryError("Syntax error in $search.")
        return value

    def _split(self, text: str) -> Iterator[tuple[str, str, str, str]]:
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise QueryError(f"Syntax error: character '{text[at]}' is not valid at {at}.")
            member, wanted, word, mark = (group or "" for group in token.groups())
            yield member, wanted, word, mark
            at = token.end()

    def _any(self, record: Mapping[str, str]) -> bool:
        value = self._all(record)
        while self._takes("OR"):
            value = self._all(record) or value
        return value

    def _all(self, record: Mapping[str, str]) -> bool:
        value = self._clause(record)
        while self._takes("AND"):
            value = self._clause(record) and value
        return value

    def _clause(self, record: Mapping[str, str]) -> bool:
        if self._takes("("):
            value = self._any(record)
            if not self._takes(")"):
                raise QueryError("Syntax error in $search: a parenthesis is not closed.")
            return value
        if not self._rest or not self._rest[0][0]:
            raise QueryError("Syntax error in $search: a clause is missing.")
        member, wanted, *_ = self._rest.pop(0)
        if member == "displayName":
            return all(_begins(word, record[member]) for word in _words(wanted))
        return record[member].casefold().startswith(wanted.casefold())

    def _takes(self, mark: str) -> bool:
        if self._rest and mark in self._rest[0][2:]:
            self._rest.pop(0)
            return True
        return False


def _stored(database: Database, key: str) -> list[tuple[str, str]]:
    return [(name, address) for name, address in json.loads(database.meta(key, "[]") or "[]")]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _begins(word: str, text: str) -> bool:
    return any(each.startswith(word) for each in _words(text))
