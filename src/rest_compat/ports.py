"""
What the REST layer asks of the rest of the process, as Protocols.

`gateway` passes the implementations in: the door (who calls, and may they), the prepared GraphQL
operations, and the ledger (`rest_compat.ledger`). Nothing here knows policy or providers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from graphql import GraphQLInputType
from starlette.types import Scope

from rest_compat.responses import RestResponse


@dataclass(frozen=True, slots=True)
class RateBucket:
    """
    The rate buckets a request is counted in, once, by its route. Decisions 10.

    Attributes:
        windows: The name of the limits that apply: "email", "calendar", "tasks", "collab" or
            "management".
        mount: Where the surface stands: "" for the public address, "/internal" for the internal
            one, which has buckets of its own (decisions 8.14).
    """

    windows: str
    mount: str = ""


class Problem(Exception):
    """
    A refusal or failure, already described in GraphQL words.

    *message* is safe to show. *extensions* is what `graph` puts beside a GraphQL error: `code`,
    `httpStatus`, and where they apply `requiredOperation`, `reason`, `details`, `retryAfter`,
    `connectedProviders`, `accessInfo`.
    """

    def __init__(self, message: str, extensions: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.message = message
        self.extensions = extensions


class Notes(Protocol):
    """
    What running an operation left to tell beside its data.

    Attributes:
        applied_limit: The `limit` that was used when the one asked for was above the maximum.
        etag: Of the one resource that was read.
    """

    applied_limit: int | None
    etag: str | None


class AdmittedRequest(Protocol):
    """
    One request that came through the door.

    Attributes:
        token_id: The access token's id.
        context: What operations run in; opaque here.
    """

    @property
    def token_id(self) -> int: ...
    @property
    def context(self) -> Any: ...


class Variable(Protocol):
    """One variable of a document, with its graphql-core type."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> GraphQLInputType: ...
    @property
    def required(self) -> bool: ...
    @property
    def default(self) -> object: ...


class Outcome(Protocol):
    """
    What running an operation gave.

    Attributes:
        data: For msgspec's JSON encoder: objects may be Structs rather than dicts.
        errors: GraphQL error dicts; empty on success.
    """

    @property
    def data(self) -> Mapping[str, Any] | None: ...
    @property
    def errors(self) -> Sequence[Mapping[str, Any]]: ...


class Operation(Protocol):
    """A document, parsed, validated and planned once, at start-up."""

    @property
    def name(self) -> str: ...
    @property
    def variables(self) -> Sequence[Variable]: ...

    async def run(self, variables: Mapping[str, Any], context: Any) -> Outcome: ...


class Graph(Protocol):
    """The schema, able to prepare internal documents."""

    def prepare(self, text: str) -> Operation:
        """Parse and plan *text*; raises when it does not fit the schema."""


class CallObserver(Protocol):
    """Is told of every call that came through the door, when it is over."""

    def __call__(
        self,
        visit: AdmittedRequest,
        operation: Operation | None,
        answer: RestResponse | None,
        failure: BaseException | None,
    ) -> None:
        """
        Take note of one call.

        Args:
            visit: As the door let it in.
            operation: The document of its row; None when there is no row for it.
            answer: None when nothing is answered.
            failure: What ended it early: a `Problem`, which *answer* tells of, or a bug.
        """


class RequestEntry(Protocol):
    """The one way in, shared with `/graphql`: same caller, same context, same charge."""

    def request_id(self, scope: Scope) -> str:
        """Return the request's id, as the header `X-Request-Id` tells it."""

    async def admit(
        self, scope: Scope, charge: RateBucket, *, partial_fail: bool
    ) -> AdmittedRequest:
        """
        Charge the address, know the token, charge its quota, build the context (gates 1 to 3).

        *partial_fail* says whether the caller asked to fail when any provider fails
        (`Prefer: partial=fail`, decisions 5.4).

        Raises:
            Problem: 401 or 429, described.
        """

    def check_gates(self, operation: Operation, visit: AdmittedRequest) -> None:
        """
        Pass gates 4 to 6 for the operation's root field, before any parameter is read.

        Raises:
            Problem: 403 or 422, described.
        """

    def mark_attempt(self, visit: AdmittedRequest, *, seed: str, maybe_sent: bool) -> None:
        """
        Tell the context which intent this is, before its operation runs.

        Every try of one intent has the same *seed*; the Message-ID is made from it. *maybe_sent*
        says that an earlier try may have reached the provider, so that it is looked up first.
        """

    def notes(self, visit: AdmittedRequest) -> Notes:
        """What the operations of this request noted so far."""
