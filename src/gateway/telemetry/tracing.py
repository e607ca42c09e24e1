"""
Traces for OpenTelemetry: one span per request, one per upstream call below it.

A span says which route, which provider, which method, how it ended and how long it took. Ids,
queries, addresses, names and texts are in none of them, nor what a caller sends along: of the
incoming context the trace's own numbers are taken, its state and baggage are not, and nothing is
handed on to upstreams.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState
from starlette.types import Scope

from providers.http.events import CallEvent

_FIELDS = 4  # of a traceparent: version, trace, parent, flags


@dataclass(slots=True)
class RequestSpan:
    """The span of a request, while it runs."""

    _span: Span

    @property
    def trace_id(self) -> str:
        """The trace's number, 32 hex digits: what joins log lines and spans."""
        return f"{self._span.get_span_context().trace_id:032x}"

    def finish(self, method: str, route: str | None, status: int) -> None:
        """Say which route it was, and how it ended."""
        self._span.update_name(f"{method} {route}" if route else method)
        if route:
            self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500 or not status:
            self._span.set_status(StatusCode.ERROR)


class Tracing:
    """Makes the spans. One per process, and only when traces are wanted."""

    def __init__(self, processor: SpanProcessor, *, share: float = 1.0) -> None:
        """*processor* takes the spans; *share* of the traces that begin here are recorded."""
        self._provider = TracerProvider(
            resource=Resource({"service.name": "access-gateway"}),
            sampler=ParentBased(TraceIdRatioBased(share)),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("access-gateway")

    @classmethod
    def to(cls, endpoint: str, *, share: float) -> "Tracing":
        """Send spans to an OTLP collector; *endpoint* is its base URL ("http://host:4318")."""
        path = "" if urlsplit(endpoint).path.strip("/") else "/v1/traces"
        exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + path)
        return cls(BatchSpanProcessor(exporter), share=share)

    @contextmanager
    def request(self, scope: Scope, method: str) -> Iterator[RequestSpan]:
        """Span a request; what is called inside belongs to it."""
        span = self._tracer.start_span(
            method,
            context=_incoming(scope),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method},
        )
        token = context.attach(trace.set_span_in_context(span))
        try:
            yield RequestSpan(span)
        finally:
            context.detach(token)
            span.end()

    def record_upstream_call(self, told: CallEvent) -> None:
        """Span an upstream call that is over."""
        behind = time.time() - time.perf_counter()
        span = self._tracer.start_span(
            f"{told.method} {told.upstream}",
            kind=SpanKind.CLIENT,
            start_time=int((told.began + behind) * 1e9),
            attributes={
                "http.request.method": told.method,
                "agw.upstream": told.upstream,
                "agw.outcome": told.outcome,
            },
        )
        if not told.outcome.startswith(("2", "3", "4")):
            span.set_status(StatusCode.ERROR)
        span.end(end_time=int((told.ended + behind) * 1e9))

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


def _incoming(scope: Scope) -> context.Context:
    """Read the caller's trace and span numbers, if it sent well-formed ones."""
    empty = context.Context()
    for name, value in scope["headers"]:
        if name == b"traceparent":
            fields = value.split(b"-")
            try:
                if len(fields) < _FIELDS or fields[0] == b"ff":
                    return empty
                numbers = SpanContext(
                    trace_id=int(fields[1], 16),
                    span_id=int(fields[2], 16),
                    is_remote=True,
                    trace_flags=TraceFlags(int(fields[3], 16) & TraceFlags.SAMPLED),
                    trace_state=TraceState(),
                )
            except ValueError:
                return empty
            if numbers.is_valid and (len(fields[1]), len(fields[2])) == (32, 16):
                return trace.set_span_in_context(trace.NonRecordingSpan(numbers), empty)
    return empty
