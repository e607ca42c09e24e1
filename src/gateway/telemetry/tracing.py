"""
OpenTelemetry traces: one span per request, one child span per upstream call.

A span holds route, provider, method, outcome and duration; never ids, queries, addresses, names or
texts. Of the caller's trace context the trace and span ids are used, not its state and baggage, and
nothing is passed on to upstreams.
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

_FIELDS = 4  # of a traceparent: version, trace id, parent id, flags


@dataclass(slots=True)
class RequestSpan:
    """The span of a request, while it runs."""

    _span: Span

    @property
    def trace_id(self) -> str:
        """The trace id, 32 hex digits; log lines carry it too."""
        return f"{self._span.get_span_context().trace_id:032x}"

    def finish(self, method: str, route: str | None, status: int) -> None:
        self._span.update_name(f"{method} {route}" if route else method)
        if route:
            self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500 or not status:
            self._span.set_status(StatusCode.ERROR)


class Tracing:
    """Creates the spans. One per process, and only when a collector is configured."""

    def __init__(self, processor: SpanProcessor, *, share: float = 1.0) -> None:
        """*processor* receives the spans; *share* of the traces that begin here are recorded."""
        self._provider = TracerProvider(
            resource=Resource({"service.name": "access-gateway"}),
            sampler=ParentBased(TraceIdRatioBased(share)),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("access-gateway")

    @classmethod
    def to(cls, endpoint: str, *, share: float) -> "Tracing":
        """Export to an OTLP collector; *endpoint* is its base URL ("http://host:4318")."""
        path = "" if urlsplit(endpoint).path.strip("/") else "/v1/traces"
        exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + path)
        return cls(BatchSpanProcessor(exporter), share=share)

    @contextmanager
    def request(self, scope: Scope, method: str) -> Iterator[RequestSpan]:
        """Span a request; upstream calls inside the block become children."""
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

    def record_upstream_call(self, event: CallEvent) -> None:
        """Span a completed upstream call."""
        clock_offset = time.time() - time.perf_counter()
        span = self._tracer.start_span(
            f"{event.method} {event.upstream}",
            kind=SpanKind.CLIENT,
            start_time=int((event.began + clock_offset) * 1e9),
            attributes={
                "http.request.method": event.method,
                "agw.upstream": event.upstream,
                "agw.outcome": event.outcome,
            },
        )
        if not event.outcome.startswith(("2", "3", "4")):
            span.set_status(StatusCode.ERROR)
        span.end(end_time=int((event.ended + clock_offset) * 1e9))

    def close(self) -> None:
        self._provider.shutdown()


def _incoming(scope: Scope) -> context.Context:
    """Return the caller's trace context; an empty one unless it is well-formed."""
    empty = context.Context()
    for name, value in scope["headers"]:
        if name == b"traceparent":
            fields = value.split(b"-")
            try:
                if len(fields) < _FIELDS or fields[0] == b"ff":
                    return empty
                parent = SpanContext(
                    trace_id=int(fields[1], 16),
                    span_id=int(fields[2], 16),
                    is_remote=True,
                    trace_flags=TraceFlags(int(fields[3], 16) & TraceFlags.SAMPLED),
                    trace_state=TraceState(),
                )
            except ValueError:
                return empty
            if parent.is_valid and (len(fields[1]), len(fields[2])) == (32, 16):
                return trace.set_span_in_context(trace.NonRecordingSpan(parent), empty)
    return empty
