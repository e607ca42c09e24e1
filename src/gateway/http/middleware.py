"""
The outermost ASGI middleware: what all responses have in common.

It sets the request id and the version, rate-limit and security headers, admits requests, counts,
traces and logs them, and answers an unexpected exception with a 500 in the error shape.
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
from gateway.http.admission_control import LIMITED_PATHS, AdmissionControl, Slot, buffer_body
from gateway.telemetry import logs
from gateway.telemetry.metrics import Metrics, method_label
from policy.quota import RateLimitResult
from rest_compat.responses import RestResponse, send_response

if TYPE_CHECKING:  # heavy, and only loaded when traces are wanted
    from gateway.telemetry.tracing import RequestSpan, Tracing

API_VERSION = "2026-11-20"  # docs/spec/requests.md#versioning
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_KEY = "gateway.request_state"

log = logging.getLogger("gateway")


@dataclass(slots=True)
class RequestState:
    """
    The state of one request, in its ASGI scope.

    Attributes:
        verdict: The tightest rate-limit verdict so far; None when nothing was checked.
        status: The status of the response; 0 before the response began.
        span: The request's span; None when requests are not traced.
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
    """Return the state of the request that *scope* describes; a new one outside the middleware."""
    state = scope.get(_KEY)
    return state if isinstance(state, RequestState) else RequestState(str(uuid.uuid4()))


RateStateReader = Callable[[Scope], Awaitable[None]]


class InnerApplication(Protocol):
    """The application inside the middleware."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; an exception is a bug."""

    def refuse(self, scope: Scope, failure: Exception) -> RestResponse:
        """Build the response for *failure*, in the error shape of the path."""


class CommonMiddleware:
    """The outermost layer; see the module."""

    def __init__(
        self,
        app: InnerApplication,
        *,
        read_rate_state: RateStateReader,
        admission: AdmissionControl,
        metrics: Metrics | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        """*read_rate_state* records the rate state of a request that was never charged."""
        self.app = app
        self._read_rate_state = read_rate_state
        self._admission = admission
        self._metrics = metrics or Metrics()
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        current = RequestState(_request_id(scope))
        scope[_KEY] = current
        with self._observed(scope, current):
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
                message["headers"] = _with_common_headers(
                    message.get("headers", ()), scope, current
                )
            await send(message)

        try:
            await self._serve_admitted(scope, receive, sending)
        except Exception as bug:  # noqa: BLE001 - the last resort of the process
            _report(bug, current.request_id)
            if not started:
                await self._refuse(scope, bug, sending)

    @contextmanager
    def _observed(self, scope: Scope, current: RequestState) -> Iterator[None]:
        """Count, trace and log the request by its route: paths and queries may be private."""
        started = time.perf_counter()
        method = method_label(scope["method"])
        token = logs.request_id.set(current.request_id)
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
            route, seconds = _route(scope), time.perf_counter() - started
            self._metrics.finish_request(method, route, current.status, seconds)
            _log_request(method, route, current, seconds)
            logs.request_id.reset(token)

    async def _serve_admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request once it has a slot; refuse it when there is none."""
        if not scope["path"].startswith(LIMITED_PATHS):
            await self.app(scope, receive, send)
            return
        receive = await buffer_body(scope, receive)
        if not await self._admission.acquire():
            await self._refuse(scope, Overloaded(), send)
            return
        slot = Slot(self._admission)
        try:
            await self.app(scope, receive, send)
        finally:
            slot.release()

    async def _refuse(self, scope: Scope, failure: Exception, send: Send) -> None:
        await send_response(self.app.refuse(scope, failure), send, head=scope["method"] == "HEAD")


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value.decode())
    return str(uuid.uuid4())


def _with_common_headers(
    headers: object, scope: Scope, current: RequestState
) -> list[tuple[bytes, bytes]]:
    headers_before = [(bytes(name).lower(), value) for name, value in headers]  # type: ignore[attr-defined]
    present = {name for name, _ in headers_before}
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
    return headers_before + [(name, value) for name, value in added if name not in present]


_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_CACHEABLE = ("/explorer/", "/docs/", "/sandbox/")


def _route(scope: Scope) -> str | None:
    """Return the path template of the matched route; None without one."""
    route = scope.get("state", {}).get("route") or getattr(scope.get("route"), "path", None)
    return str(route) if route else None


def _log_request(method: str, route: str | None, current: RequestState, seconds: float) -> None:
    if not log.isEnabledFor(logging.INFO):
        return
    fields: dict[str, object] = {
        "request_id": current.request_id,
        "operation": f"{method} {route or '-'}",
        "status": current.status,
        "milliseconds": round(seconds * 1000, 1),
    }
    if current.span is not None:
        fields["trace_id"] = current.span.trace_id
    log.info("request", extra=fields)


def _report(bug: Exception, request_id: str) -> None:
    """Log the type and place of *bug*, never its text, which may quote private data."""
    frames = traceback.extract_tb(bug.__traceback__)[-5:]
    log.error(
        "a request failed unexpectedly",
        extra={
            "request_id": request_id,
            "kind": type(bug).__name__,
            "at": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames],
        },
    )
