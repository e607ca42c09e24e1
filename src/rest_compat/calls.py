"""
One call, from its binder to its shaper; `gateway.http.calls` runs it between them.

A binder makes a `Call` of a request: a row of the table, a saved document, a description, a tool
of agents, a path without a row. The call binds its variables and shapes its reply; when it is
authenticated, charged, admitted by its gates, run once and recorded is decided in one place.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from starlette.types import Scope

from graph.documents.rest_operation import RestOperation
from policy.refusals import Refusal
from policy.vocabulary import Surface
from rest_compat import errors
from rest_compat.held.stored_calls import StoredCall
from rest_compat.ledger import Intent
from rest_compat.readers import Body
from rest_compat.request import RestRequest
from rest_compat.responses import Content, RestResponse
from rest_compat.table import RateBucket

if TYPE_CHECKING:
    from graph.context import Context
    from policy.caller import Caller


class Call(ABC):
    """
    One call. Without a document it is admitted, answered by `run`, and recorded.

    Attributes:
        bucket: The rate limits that count it, also with an invalid token.
        document: The name of the saved document that it runs; else None.
        partial_fail: The caller wants an error when any provider fails (`Prefer: partial=fail`).
        wait: Seconds that the caller waits for a person to release a write (`Prefer: wait=30`).
        body: What was received of the request body; None so far, or without one.
        is_described: Whether its document is shown instead of being run.
        is_document: Whether it is a document of the caller's, with any number of root fields.
    """

    document: str | None = None
    partial_fail: bool = False
    wait: int = 0
    body: Body | None = None
    is_described: bool = False
    is_document: bool = False

    def __init__(self, request: RestRequest, bucket: RateBucket) -> None:
        self.request = request
        self.bucket = bucket

    @property
    def operation(self) -> RestOperation | None:
        """The operation of its document; None without one."""
        return None

    async def measure(self, caller: "Caller") -> RateBucket:  # noqa: ARG002
        """Return the rate limits that count it, once its *caller* is known."""
        return self.bucket

    async def pass_gates(self, context: "Context") -> None:  # noqa: ARG002
        """
        Check the gates that need no parameters.

        Raises:
            Refusal: One refuses.
        """
        return

    def read_terms(self, context: "Context") -> str | None:  # noqa: ARG002
        """
        Read `If-Effect` into *context*, and return the `Idempotency-Key`; None without one.

        Raises:
            Refusal: 400, a header is malformed.
        """
        return None

    async def intent(self, key: str, context: "Context") -> Intent:
        """Receive the body; return what must happen once under *key*."""
        raise NotImplementedError

    @abstractmethod
    async def run(self, context: "Context") -> RestResponse:
        """
        Bind, run and shape.

        Raises:
            Refusal: It is refused before its operation runs.
        """

    def stored(self) -> StoredCall:
        """Return the call, which ran up to its first write, to be made again."""
        raise NotImplementedError

    def kept(self, reply: RestResponse, context: "Context") -> RestResponse:  # noqa: ARG002
        """Return *reply*, of the run under a key or of an earlier one."""
        return reply

    @abstractmethod
    def refuse(self, refusal: BaseException, request_id: str) -> RestResponse:
        """Shape the reply to a refused call."""

    def finish(self, reply: RestResponse, context: "Context | None") -> RestResponse:  # noqa: ARG002
        """Return *reply* with the headers of every reply; without a context it was not admitted."""
        return reply


class PlainCall(Call):
    """A call without a document: *answer* makes the reply, or refuses; *surface* shapes that."""

    def __init__(
        self,
        request: RestRequest,
        bucket: RateBucket,
        answer: "Callable[[Context], Awaitable[RestResponse]]",
        *,
        surface: Surface | None = None,
    ) -> None:
        super().__init__(request, bucket)
        self._answer = answer
        self._surface = surface

    async def run(self, context: "Context") -> RestResponse:
        return await self._answer(context)

    def refuse(self, refusal: BaseException, request_id: str) -> RestResponse:
        return errors.refuse(refusal, request_id=request_id, surface=self._surface)


def refused_call(
    request: RestRequest,
    bucket: RateBucket,
    refusal: Refusal,
    *,
    surface: Surface | None = None,
    documents: Sequence[str] | None = None,
) -> Call:
    """
    Build the call that nothing answers: its caller is authenticated and charged, then refused.

    A token that may run none of *documents* learns that instead.
    """

    async def refuse(context: "Context") -> RestResponse:
        if documents is not None:
            context.check_document(documents)
        raise refusal

    return PlainCall(request, bucket, refuse, surface=surface)


class Calls(Protocol):
    """Runs calls; `gateway` passes it in."""

    def request_id(self, scope: Scope) -> str:
        """Return the request's id, which the header `X-Request-Id` carries."""

    async def run(self, call: Call) -> RestResponse:
        """Authenticate, charge, run and record *call*; refusals are replies too."""

    async def may_run(self, scope: Scope, bucket: RateBucket, document: str) -> bool:
        """
        Authenticate the token, and return whether it may run a saved document.

        Nothing is charged for a valid token; an invalid one is charged a request of *bucket*.

        Raises:
            Refusal: 401, 429 or 503.
        """

    def open_content(self, context: "Context") -> AbstractAsyncContextManager[Content]:
        """
        Open the file that the operation found; enter, read and leave in one task.

        Raises:
            Refusal: The provider failed, also while the bytes are read.
        """
