"""
Protocols of the services that the REST layer calls.

`gateway` passes the implementations in: the request entry (authentication, limits) and the ledger
(`rest_compat.ledger`). This package knows neither policy decisions nor providers.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from starlette.types import Scope

from graph.documents.operation import Operation
from rest_compat.ledger import Attempt, Ledger
from rest_compat.responses import Content, RestResponse

if TYPE_CHECKING:
    from graph.context import Context


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


class CallObserver(Protocol):
    """Callback at the end of every admitted call."""

    def __call__(
        self,
        context: "Context",
        operation: Operation | None,
        response: RestResponse | None,
        failure: BaseException | None,
        /,
    ) -> None:
        """
        Record one call.

        Args:
            context: That of the request.
            operation: The document of its row; None when no row answers it.
            response: None when nothing is sent.
            failure: The bug that ended the call; None for a refusal, which *response* describes.
        """


class RequestEntry(Protocol):
    """Authentication, limits and gates, shared with `/graphql`."""

    def request_id(self, scope: Scope) -> str:
        """Return the request's id, which the header `X-Request-Id` carries."""

    async def admit(
        self, scope: Scope, bucket: RateBucket, *, partial_fail: bool, document: str | None = None
    ) -> "Context":
        """
        Charge the address, authenticate the token, charge its quota, build the context.

        *partial_fail*: the caller wants an error when any provider fails (`Prefer: partial=fail`).
        *document* is the name of the saved document that the call runs.

        Raises:
            Refusal: 401, 429 or 503.
        """

    async def may_run(self, scope: Scope, bucket: RateBucket, document: str) -> bool:
        """
        Authenticate the token, and return whether it may run a saved document.

        Nothing is charged for a valid token; an invalid one is charged a request of *bucket*.

        Raises:
            Refusal: 401, 429 or 503.
        """

    def attempt(
        self, context: "Context", attempt: Attempt, ledger: Ledger
    ) -> AbstractContextManager[None]:
        """
        Return a context in which the operation runs as *attempt*.

        A message is sent as a draft, whose id *ledger* stores for later attempts. Every upstream
        call that may change something is made only while *ledger* confirms the attempt.
        """

    def open_content(self, context: "Context") -> AbstractAsyncContextManager[Content]:
        """
        Open the file that the operation found; enter, read and leave in one task.

        Raises:
            Refusal: The provider failed, also while the bytes are read.
        """
