"""
Protocols of the services that the REST layer calls.

`gateway` passes the implementations in: the request entry (authentication, limits, gates), the
prepared GraphQL operations and the ledger (`rest_compat.ledger`). This package knows neither
policy decisions nor providers.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphql import GraphQLInputType
from starlette.types import Scope

from rest_compat.ledger import Attempt, Ledger
from rest_compat.responses import RestResponse


@dataclass(frozen=True, slots=True)
class RateBucket:
    """
    The rate limits that count a request, by its route (docs/spec/limits.md#rate-limits).

    Attributes:
        windows: The name of the limits: "email", "calendar", "tasks", "collab" or "management".
        mount: Where the surface is mounted: "" for the public address, "/internal" for the
            internal one, which has buckets of its own (docs/spec/collab.md#internal-address).
        costs: How many requests a call counts as, by the names of limits; empty: one of *windows*.
        requests: The number of requests that a call counts as, by the names of limits.
    """

    windows: str
    mount: str = ""
    costs: tuple[tuple[str, int], ...] = ()
    requests: Mapping[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", dict(self.costs) or {self.windows: 1})


class Problem(Exception):
    """
    A refusal or failure, described as the graph describes its errors.

    Attributes:
        message: Safe to show.
        extensions: The extensions of a GraphQL error: `code`, `httpStatus`, and where they apply
            `requiredOperation`, `requiredOperations`, `reason`, `details`, `retryAfter`,
            `connectedProviders`, `accounts`, `accessInfo`.
    """

    def __init__(self, message: str, extensions: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.message = message
        self.extensions = extensions


class Notes(Protocol):
    """
    Response metadata that an operation leaves in its context.

    Attributes:
        applied_limit: The `limit` that was used when the requested one was above the maximum.
        etag: Of the one resource that was read.
        held: Whether the result waits for a person: 202.
        effect: What a dry run of a mutation shows; None otherwise.
        kept_result: How a mutation under an idempotency key ended, without content; else empty.
        stops_before_write: Whether a mutation cannot write: a dry run, or one that lacks a digest.
        visibility: Digest of all that decides what the token may see.
    """

    applied_limit: int | None
    etag: str | None
    held: bool
    kept_result: bytes

    @property
    def effect(self) -> Mapping[str, Any] | None: ...
    @property
    def stops_before_write(self) -> bool: ...
    @property
    def visibility(self) -> bytes: ...


class Content(Protocol):
    """
    An opened file.

    Attributes:
        name: As its owner wrote it.
        mime_type: As its owner declared it.
        size: Bytes; None when it is known at the end only.
        chunks: The bytes, to be read once.
    """

    @property
    def name(self) -> str: ...
    @property
    def mime_type(self) -> str | None: ...
    @property
    def size(self) -> int | None: ...
    @property
    def chunks(self) -> AsyncIterator[bytes]: ...


class AdmittedRequest(Protocol):
    """
    A request that is authenticated and within its limits.

    Attributes:
        token_id: The access token's id.
        context: The context that operations run in; opaque to this package.
        strict: Whether its token refuses unknown query parameters.
    """

    @property
    def token_id(self) -> int: ...
    @property
    def context(self) -> Any: ...
    @property
    def strict(self) -> bool: ...


class Variable(Protocol):
    """A variable of a document, with its graphql-core type."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> GraphQLInputType: ...
    @property
    def required(self) -> bool: ...
    @property
    def default(self) -> object: ...


class OperationResult(Protocol):
    """
    Result of running an operation.

    Attributes:
        data: For msgspec's JSON encoder: objects may be Structs rather than dicts.
        errors: GraphQL error dicts; empty on success.
    """

    @property
    def data(self) -> Mapping[str, Any] | None: ...
    @property
    def errors(self) -> Sequence[Mapping[str, Any]]: ...


class Operation(Protocol):
    """
    A document, parsed, validated and planned once, at start-up.

    Attributes:
        refusal_depends_on_input: Whether the request body decides which operation a refusal names.
    """

    @property
    def name(self) -> str: ...
    @property
    def variables(self) -> Sequence[Variable]: ...
    @property
    def refusal_depends_on_input(self) -> bool: ...

    async def run(self, variables: Mapping[str, Any], context: Any) -> OperationResult: ...

    def root_call(self, variables: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
        """Return the name and the coerced arguments of the root field; None: they do not fit."""


class Graph(Protocol):
    """The schema, which prepares internal documents."""

    def prepare(self, text: str) -> Operation:
        """Parse and plan *text*; raises when it does not fit the schema."""


class CallObserver(Protocol):
    """Callback at the end of every admitted call."""

    def __call__(
        self,
        admitted: AdmittedRequest,
        operation: Operation | None,
        response: RestResponse | None,
        failure: BaseException | None,
        /,
    ) -> None:
        """
        Record one call.

        Args:
            admitted: The request.
            operation: The document of its row; None when no row answers it.
            response: None when nothing is sent.
            failure: The exception that ended the call: a `Problem`, which *response* describes,
                or a bug.
        """


class RequestEntry(Protocol):
    """Authentication, limits and gates, shared with `/graphql`."""

    def request_id(self, scope: Scope) -> str:
        """Return the request's id, which the header `X-Request-Id` carries."""

    async def admit(
        self, scope: Scope, bucket: RateBucket, *, partial_fail: bool, document: str | None = None
    ) -> AdmittedRequest:
        """
        Charge the address, authenticate the token, charge its quota, build the context.

        *partial_fail*: the caller wants an error when any provider fails (`Prefer: partial=fail`).
        *document* is the name of the saved document that the call runs.

        Raises:
            Problem: 401 or 429, described.
        """

    async def may_run(self, scope: Scope, bucket: RateBucket, document: str) -> bool:
        """
        Authenticate the token, and return whether it may run a saved document.

        Nothing is charged for a valid token; an invalid one is charged a request of *bucket*.

        Raises:
            Problem: 401 or 429, described.
        """

    def check_gates(
        self, operation: Operation, admitted: AdmittedRequest, variables: Mapping[str, Any]
    ) -> None:
        """
        Run gates 4 to 6 for the operation's root field (docs/spec/requests.md#order-of-checks).

        *variables* are empty before the body is read; afterwards a refusal names the operation
        that the members of `$input` need.

        Raises:
            Problem: 403 or 422, described.
        """

    def check_document(self, admitted: AdmittedRequest, names: Sequence[str]) -> None:
        """
        Check that the caller may make a call that runs the saved documents *names*, if any.

        Raises:
            Problem: 403, the token is limited to others.
        """

    def preview(self, admitted: AdmittedRequest, *, dry_run: bool, expected: str | None) -> None:
        """
        Let the operation end at its first write, or write only if its effect is the *expected* one.

        *expected* is the digest of the effect that a dry run showed; None: any, unless the token
        writes only with one.
        """

    def attempt(
        self, admitted: AdmittedRequest, attempt: Attempt, ledger: Ledger
    ) -> AbstractContextManager[None]:
        """
        Return a context in which the operation runs as *attempt*.

        A message is sent as a draft, whose id *ledger* stores for later attempts. Every upstream
        call that may change something is made only while *ledger* confirms the attempt.
        """

    def repeat(self, admitted: AdmittedRequest, kept_result: bytes) -> None:
        """Let the operation answer with the *kept_result* of an earlier run, and change nothing."""

    def open_content(self, admitted: AdmittedRequest) -> AbstractAsyncContextManager[Content]:
        """
        Open the file that the operation found; enter, read and leave in one task.

        Raises:
            Problem: The provider failed, also while the bytes are read.
        """

    def notes(self, admitted: AdmittedRequest) -> Notes:
        """Return what the operations of this request have noted."""
