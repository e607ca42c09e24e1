"""
What every answer of the process has in common, whoever wrote it.

Outermost and pure ASGI: the request id, the version, the rate headers, the security headers, and
the last resort for an exception: a 500 in the error shape, without a trace.
"""

import logging
import re
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from starlette.types import Message, Receive, Scope, Send

from gateway.errors import Overloaded
from gateway.http.admission_control import COUNTED, AdmissionControl, Slot, buffer_body
from gateway.telemetry import logs
from gateway.telemetry.metrics import Metrics, known
from policy.quota import RateLimitResult
from rest_compat.responses import RestResponse, send_response

if TYPE_CHECKING:  # heavy, and only loaded when traces are wanted
    from gateway.telemetry.tracing import RequestSpan, Tracing

API_VERSION = "2026-11-20"  # the date of the contract; decisions 11
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_KEY = "gateway.passage"

log = logging.getLogger("gateway")


@dataclass(slots=True)
class RequestState:
    """
    One request on its way through.

    Attributes:
        verdict: The tightest one that it met.
        status: Of the answer; 0 before it began.
        span: Of its trace, when there is one.
    """

    request_id: str
    verdict: RateLimitResult | None = None
    status: int = 0
    span: "RequestSpan | None" = None

    def record_verdict(self, verdict: RateLimitResult) -> None:
        """Keep *verdict* for the rate headers if it is the tightest, or a refusal."""
        if verdict.allowed and not verdict.limit:
            return  # there was no window
        if (
            self.verdict is None
            or not verdict.allowed
            or verdict.remaining < self.verdict.remaining
        ):
            self.verdict = verdict


def request_state(scope: Scope) -> RequestState:
    """Return the passage of the request that *scope* describes."""
    found = scope.get(_KEY)
    return found if isinstance(found, RequestState) else RequestState(str(uuid.uuid4()))


RateStateReader = Callable[[Scope], Awaitable[None]]


class InnerApplication(Protocol):
    """The application that the edge goes around."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; what it raises is a bug."""

    def refuse(self, scope: Scope, failure: Exception) -> RestResponse:
        """Tell of *failure*, in the shape of the path, where nothing else was answered."""


class CommonMiddleware:
    """The outermost layer around *app*."""

    def __init__(
        self,
        app: InnerApplication,
        *,
        read_rate_state: RateStateReader,
        admission: AdmissionControl,
        metrics: Metrics | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        """*read_rate_state* looks up the rate state of a request that nobody has charged."""
        self.app = app
        self._read_rate_state = read_rate_state
        self._admission = admission
        self._metrics = metrics or Metrics()
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        current = RequestState(_request_id(scope))
        scope[_KEY] = current
        with self._watched(scope, current):
            await self._serve(scope, current, receive, send)

    async def _serve(
        self, scope: Scope, current: RequestState, receive: Receive, send: Send
    ) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started, current.status = True, message["status"]
                if current.verdict is None:
                    await self._read_rate_state(scope)
                message["headers"] = _with_common(message.get("headers", ()), scope, current)
            await send(message)

        try:
            await self._admitted(scope, receive, sending)
        except Exception as bug:  # noqa: BLE001 - the last resort of the process
            _report(bug, current.request_id)
            if not started:
                await self._refuse(scope, bug, sending)

    @contextmanager
    def _watched(self, scope: Scope, current: RequestState) -> Iterator[None]:
        """Count, trace and log the request, by its route: paths and queries hold ids and words."""
        began = time.perf_counter()
        method = known(scope["method"])
        named = logs.request_id.set(current.request_id)
        self._metrics.start_request()
        try:
            if self._tracing is None:
                yield
            else:
                with self._tracing.request(scope, method) as current.span:
                    try:
                        yield
                    finally:
                        current.span.finish(method, _route(scope), current.status)
        finally:
            route, seconds = _route(scope), time.perf_counter() - began
            self._metrics.finish_request(method, route, current.status, seconds)
            _tell(method, route, current, seconds)
            logs.request_id.reset(named)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it in its place, if it gets one."""
        if not scope["path"].startswith(COUNTED):
            await self.app(scope, receive, send)
            return
        receive = await buffer_body(scope, receive)
        if not await self._admission.enter():
            await self._refuse(scope, Overloaded(), send)
            return
        stay = Slot(self._admission)
        try:
            await self.app(scope, receive, send)
        finally:
            stay.end()

    async def _refuse(self, scope: Scope, failure: Exception, send: Send) -> None:
        await send_response(self.app.refuse(scope, failure), send, head=scope["method"] == "HEAD")


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value.decode())
    return str(uuid.uuid4())


def _with_common(headers: object, scope: Scope, current: RequestState) -> list[tuple[bytes, bytes]]:
    named = [(bytes(name).lower(), value) for name, value in headers]  # type: ignore[attr-defined]
    present = {name for name, _ in named}
    added = [
        (b"x-request-id", current.request_id.encode()),
        (b"x-api-version", API_VERSION.encode()),
        *_SECURITY,
    ]
    if not scope["path"].startswith(_CACHEABLE):
        added.append((b"cache-control", b"no-store"))
    if current.verdict is not None:
        added += [
            (b"x-ratelimit-limit", str(current.verdict.limit).encode()),
            (b"x-ratelimit-remaining", str(current.verdict.remaining).encode()),
            (b"x-ratelimit-reset", str(current.verdict.reset).encode()),
        ]
    return named + [(name, value) for name, value in added if name not in present]


_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_CACHEABLE = ("/explorer/", "/docs/", "/sandbox/")


def _route(scope: Scope) -> str | None:
    """Return the template of the path, if a route was found for it."""
    found = scope.get("state", {}).get("route") or getattr(scope.get("route"), "path", None)
    return str(found) if found else None


def _tell(method: str, route: str | None, current: RequestState, seconds: float) -> None:
    if not log.isEnabledFor(logging.INFO):
        return
    told: dict[str, object] = {
        "request_id": current.request_id,
        "operation": f"{method} {route or '-'}",
        "status": current.status,
        "milliseconds": round(seconds * 1000, 1),
    }
    if current.span is not None:
        told["trace_id"] = current.span.trace_id
    log.info("request", extra=told)


def _report(bug: Exception, request_id: str) -> None:
    """Log kind and place; the text of an exception may quote content."""
    frames = traceback.extract_tb(bug.__traceback__)[-5:]
    log.error(
        "a request failed unexpectedly",
        extra={
            "request_id": request_id,
            "kind": type(bug).__name__,
            "at": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames],
        },
    )
