"""
The outermost ASGI middleware: what all responses have in common.

It sets the request id and the version, rate-limit and security headers, admits requests, counts,
traces and logs them, and answers an unexpected exception with a 500 in the error shape.
"""

import logging
import re
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import msgspec
from starlette.types import Message, Receive, Scope, Send

from gateway.errors import Overloaded
from gateway.http.admission_control import (
    BODILESS_METHODS,
    LIMITED_PATHS,
    PROBES,
    AdmissionControl,
    buffer_body,
    paced_body,
)
from gateway.http.caller_keys import CallerKeys
from gateway.http.request_state import KEY, RequestState
from gateway.telemetry import logs
from gateway.telemetry.metrics import Metrics, method_label
from gateway.version import API_VERSION
from rest_compat.responses import RestResponse, send_response

if TYPE_CHECKING:  # heavy, and only loaded when traces are wanted
    from gateway.telemetry.tracing import Tracing

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")

log = logging.getLogger("gateway")


RateStateReader = Callable[[Scope], Awaitable[None]]


class InnerApplication(Protocol):
    """The application inside the middleware."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        """Serve one connection; an exception is a bug."""

    def refuse(self, scope: Scope, failure: Exception) -> RestResponse:
        """Build the response for *failure*, in the error shape of the path."""


class CommonMiddleware:
    """The outermost layer; see the module."""

    def __init__(  # noqa: PLR0913 - the parts of the process that it calls
        self,
        app: InnerApplication,
        *,
        read_rate_state: RateStateReader,
        admission: AdmissionControl,
        callers: CallerKeys,
        draining: Callable[[], bool] = lambda: False,
        metrics: Metrics | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        """
        *read_rate_state* records the rate state of a request that was never charged; while
        *draining*, each connection ends after its next response.
        """
        self.app = app
        self._read_rate_state = read_rate_state
        self._admission = admission
        self._draining = draining
        self._callers = callers
        self._metrics = metrics or Metrics()
        self._tracing = tracing

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self.app(scope, receive, send)
        scope[KEY] = current = RequestState(_request_id(scope))
        if self._tracing is None:
            return self._observe(scope, current, receive, send)
        return self._trace(self._tracing, scope, current, receive, send)

    async def _trace(
        self, tracing: "Tracing", scope: Scope, current: RequestState, receive: Receive, send: Send
    ) -> None:
        with tracing.request(scope, method_label(scope["method"])) as current.span:
            await self._observe(scope, current, receive, send)

    async def _observe(
        self, scope: Scope, current: RequestState, receive: Receive, send: Send
    ) -> None:
        """Count, trace and log the request by its route: paths and queries may be private."""
        started = time.perf_counter()
        method = method_label(scope["method"])
        token = logs.request_id.set(current.request_id)
        self._metrics.start_request()
        sending = _Sending(self, scope, current, send)
        try:
            await self._serve_admitted(scope, current, receive, sending)
        except Exception as bug:  # noqa: BLE001 - the last resort of the process
            _report(bug, current.request_id)
            if not current.status:
                await self._refuse(scope, bug, sending)
        finally:
            route, seconds = _route(scope), time.perf_counter() - started
            if current.span is not None:
                current.span.finish(method, route, current.status)
            self._metrics.finish_request(method, route, current.status, seconds)
            if log.isEnabledFor(logging.INFO):
                _log_request(method, route, current, seconds)
            logs.request_id.reset(token)

    async def send_head(
        self, message: Message, scope: Scope, current: RequestState, send: Send
    ) -> None:
        """Send the head of a response with the common headers."""
        current.status = message["status"]
        if current.verdict is None:
            await self._read_rate_state(scope)
        message["headers"] = _with_common_headers(message.get("headers", ()), scope, current)
        if self._draining():
            message["headers"].append((b"connection", b"close"))
        await send(message)

    async def _serve_admitted(
        self, scope: Scope, current: RequestState, receive: Receive, send: Send
    ) -> None:
        """Serve the request when it is its caller's turn, or refuse it."""
        limited = scope["path"].startswith(LIMITED_PATHS)
        if scope["method"] not in BODILESS_METHODS:
            receive = paced_body(scope, receive)
            if limited:
                receive = await buffer_body(scope, receive)
        key = self._callers.key_of(scope) if limited else self._callers.page_key_of(scope)
        slot = await self._admission.acquire(key, limited=limited)
        if slot is None:
            await self._refuse(scope, Overloaded(), send)
            return
        current.end_turn = partial(self._admission.release, slot)
        try:
            await self.app(scope, receive, send)
        finally:
            self._admission.release(slot)
            if limited:
                self._callers.learn(scope, current)

    async def _refuse(self, scope: Scope, failure: Exception, send: Send) -> None:
        await send_response(self.app.refuse(scope, failure), send, head=scope["method"] == "HEAD")


class _Sending(msgspec.Struct, frozen=True):
    """`send` with the common headers."""

    middleware: CommonMiddleware
    scope: Scope
    current: RequestState
    send: Send

    def __call__(self, message: Message) -> Awaitable[None]:
        if message["type"] != "http.response.start":
            return self.send(message)
        return self.middleware.send_head(message, self.scope, self.current, self.send)


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value.decode())
    return str(uuid4())


def _with_common_headers(
    headers: Iterable[tuple[bytes, bytes]], scope: Scope, current: RequestState
) -> list[tuple[bytes, bytes]]:
    """Return *headers*, and the common ones that are not among them."""
    own = [*headers]
    added = [(b"x-request-id", current.request_id.encode()), *_FIXED]
    if not scope["path"].startswith(_CACHEABLE):
        added.append(_NO_STORE)
    verdict = current.verdict
    if verdict is not None:
        added += (
            (b"x-ratelimit-limit", b"%d" % verdict.limit),
            (b"x-ratelimit-remaining", b"%d" % verdict.remaining),
            (b"x-ratelimit-reset", b"%d" % verdict.reset),
        )
    for name, _ in own:  # without a generator, which most responses would run for nothing
        if name not in _NEVER_COMMON:
            break
    else:
        return own + added
    own = [(bytes(name).lower(), value) for name, value in own]
    present = {name for name, _ in own}
    return own + [(name, value) for name, value in added if name not in present]


# Headers that most responses have, in lower case; none of them is a common one.
_NEVER_COMMON = frozenset({b"content-length", b"content-type", b"etag", b"x-applied-limit"})
_NO_STORE = (b"cache-control", b"no-store")
_FIXED = (
    (b"x-api-version", API_VERSION.encode()),
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
    fields: dict[str, object] = {
        "request_id": current.request_id,
        "operation": f"{method} {route or '-'}",
        "status": current.status,
        "milliseconds": round(seconds * 1000, 1),
    }
    if current.token_id is not None:
        fields["token_id"] = current.token_id
    if current.denial is not None:
        fields |= {"code": current.denial.code, "layer": current.denial.layer}
    if current.span is not None:
        fields["trace_id"] = current.span.trace_id
    passed_probe = route in PROBES and current.status == 200
    log.log(logging.DEBUG if passed_probe else logging.INFO, "request", extra=fields)


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
