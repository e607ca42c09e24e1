"""
Logs, spans, metrics and decision rows quote no text that passed a gateway.

While a test runs, every text that passes a gateway is remembered: path segments, query values,
request and answer bodies, credentials. When it ends, none of them may stand in a line, span, label
or row that was written meanwhile. Words of our own (those of openapi.json and schema.graphql) may.
"""

import json
import logging
import re
import threading
import time
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from paths import REPOSITORY
from prometheus_client import GCCollector, ProcessCollector

from gateway import app, infrastructure
from gateway.audit.log import DecisionLog
from gateway.telemetry import logs
from gateway.telemetry.metrics import Metrics
from gateway.telemetry.tracing import Tracing

SHORTEST = 5  # characters; shorter texts stand in anything
LONGEST = 256 * 1024  # bytes of a body that are looked at
_ROOT = REPOSITORY
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)+)"')
# Numbers, times, UUIDs.
_PLAIN = re.compile(r"[\"\d.:tz+-]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OURS = {"requestId"}  # members of answers that may be told


class Canaries:
    """Texts that passed gateways, and the output that they wrote, since `forget`."""

    def __init__(self) -> None:
        self._thread = threading.local()
        self.seen: set[str] = set()
        self.written: list[str] = []
        self.counted: set[Metrics] = set()

    @property
    def cpu_seconds(self) -> float:
        """What reading bodies took of this thread so far; it is no work of a gateway."""
        return getattr(self._thread, "cpu_seconds", 0.0)

    def forget(self) -> None:
        self.seen.clear()
        self.written.clear()
        self.counted.clear()

    def quoted(self) -> list[tuple[str, str]]:
        """Return each remembered text that was written, and where."""
        for metrics in self.counted:
            self.written += _figures(metrics)
        whole = "\n".join(self.written).lower()
        texts = [text for text in self.seen if text in whole and text not in _vocabulary()]
        return [(text, line) for text in texts for line in self.written if text in line.lower()]

    def remember(self, text: str) -> None:
        text = text.strip().lower()
        if len(text) >= SHORTEST and not _PLAIN.fullmatch(text):
            self.seen.add(text)

    def remember_body(self, body: bytes) -> None:
        """Remember the texts of a JSON body; GraphQL documents by their literals."""
        began = time.thread_time()
        try:
            self._remember_value(json.loads(body))
        except (ValueError, RecursionError):
            return
        finally:
            self._thread.cpu_seconds = self.cpu_seconds + time.thread_time() - began

    def _remember_value(self, value: Any) -> None:
        if isinstance(value, str):
            self.remember(value)
        elif isinstance(value, list):
            for member in value:
                self._remember_value(member)
        elif isinstance(value, dict):
            for name, member in value.items():
                if name == "query" and isinstance(member, str):
                    for literal in _LITERAL.findall(member):
                        self.remember(literal)
                elif name not in _OURS:
                    self._remember_value(member)


def watch(canaries: Canaries) -> None:
    """From now on, remember and collect for every gateway of this process."""
    _collect_logs(canaries)
    _collect_spans(canaries)
    _collect_decisions(canaries)
    _overhear(canaries)


def _collect_logs(canaries: Canaries) -> None:
    class Collected(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            canaries.written.append(self.format(record))

    handler = Collected()
    handler.setFormatter(logs.formatter("json"))
    logs.silence_noisy_loggers()
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)


def _collect_spans(canaries: Canaries) -> None:
    class Collected(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            canaries.written += [f"{span.name} {dict(span.attributes or {})}" for span in spans]
            return SpanExportResult.SUCCESS

    tracing = Tracing(SimpleSpanProcessor(Collected()))
    tracing.close = lambda: None  # type: ignore[method-assign] - it serves many gateways
    # Where there are upstreams: a gateway alone tells its requests as one without a collector.
    infrastructure.open_tracing = lambda settings: tracing if settings.sandbox else None


def _overhear(canaries: Canaries) -> None:
    serve = app.Gateway.__call__

    async def overheard(self: Any, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"].startswith("/sandbox"):
            await serve(self, scope, receive, send)
            return
        for segment in scope["path"].split("/"):
            canaries.remember(unquote(segment))
        for _, value in parse_qsl(scope["query_string"].decode("latin-1")):
            canaries.remember(value)
        for name, value in scope["headers"]:
            if name == b"authorization":
                canaries.remember(value.decode("latin-1").rpartition(" ")[2])
            if name == b"cookie":
                canaries.remember(value.decode("latin-1").rpartition("=")[2])
        is_form = (b"content-type", b"application/x-www-form-urlencoded") in scope["headers"]
        request_body, answered = bytearray(), bytearray()

        async def receiving() -> Any:
            message = await receive()
            _keep(request_body, message)
            return message

        async def sending(message: Any) -> None:
            _keep(answered, message)
            await send(message)

        try:
            await serve(self, scope, receiving, sending)
        finally:
            canaries.remember_body(request_body)
            for _, value in parse_qsl(request_body.decode("latin-1")) if is_form else ():
                canaries.remember(value)
            canaries.remember_body(answered)
            canaries.counted.add(self.middleware._metrics)

    app.Gateway.__call__ = overheard  # type: ignore[method-assign]


def _keep(body: bytearray, message: Any) -> None:
    if len(body) < LONGEST:
        body.extend(message.get("body", b""))


def _collect_decisions(canaries: Canaries) -> None:
    store = DecisionLog._link

    def stored(self: Any, rows: Any) -> Any:
        linked = store(self, rows)
        # The ids that a caller named are told to the operator; nothing else of the call is.
        canaries.written += [str(row._replace(resource_id=None)) for row in rows]
        return linked

    DecisionLog._link = stored  # type: ignore[method-assign]


def _figures(metrics: Metrics) -> list[str]:
    """Return each series by its name and labels: where a text could stand, without the numbers."""
    return [
        f"{collector._name} {dict(zip(collector._labelnames, labels, strict=True))}"
        for collector in metrics._registry._collector_to_names
        if not isinstance(collector, GCCollector | ProcessCollector)  # no labels of ours
        for labels in list(collector._metrics if collector._labelnames else ())
    ]


@cache
def _vocabulary() -> str:
    """All text that the gateway itself produces."""
    files = [_ROOT / name for name in ("openapi.json", "schema.graphql")]
    files += [_ROOT / "src/policy/vocabulary.py"]
    files += (_ROOT / "src/providers/connectors").glob("*/__init__.py")
    # Outcomes of calls, and names of edges.
    files += [_ROOT / "src/providers/http/events.py", _ROOT / "src/graph/edge_table.py"]
    files += [_ROOT / "src/gateway/http/health.py", _ROOT / "src/gateway/http/pages.py"]
    files += [_ROOT / "src/gateway/audit/decision.py"]
    files += [_ROOT / "src/gateway/sign_in/metadata.py"]
    files += (_ROOT / "src/gateway/management").glob("*.py")
    files += (_ROOT / "src/gateway/console").rglob("*.py")
    return "\n".join(["/console/", *(file.read_text() for file in files)]).lower()
