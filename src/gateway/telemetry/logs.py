"""
Logs: one line per event on standard error, made of an allow-list of members.

What a line may carry is listed here; anything else is dropped, so no body, token, search word or
address can slip in by accident. The text of an event is kept when it is ours or the server's own
line, of whose arguments only numbers are shown; what another library has to say is told by its
logger's name and kind alone, because its text may quote what it was working on.
"""

import logging
import sys
from collections.abc import MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog

MEMBERS = (
    "request_id",
    "trace_id",
    "token_id",
    "connection_id",
    "operation",
    "kind",
    "path",
    "at",
    "status",
    "milliseconds",
    "count",
)
SILENCED = "a library reported something"

# The request being served, for every line that is written meanwhile. Empty: none.
request_id: ContextVar[str] = ContextVar("request_id", default="")

_OURS = ("gateway", "graph", "rest_compat", "providers", "policy")
_TEMPLATES = ("uvicorn",)  # constant texts of one line; their arguments may be addresses
_TALKATIVE = ("httpx", "httpcore", "alembic", "sqlalchemy", "aiosqlite", "uvicorn.access")
_ALWAYS = ("time", "level", "logger", "event")

Event = MutableMapping[str, Any]


class JsonLines(structlog.stdlib.ProcessorFormatter):
    """One JSON object per line."""

    def __init__(self) -> None:
        super().__init__(
            processors=[_described, _listed, structlog.processors.JSONRenderer(_dumped)],
            pass_foreign_args=True,
        )


class Words(structlog.stdlib.ProcessorFormatter):
    """The same for people: level, event, members."""

    def __init__(self) -> None:
        super().__init__(processors=[_described, _listed, _worded], pass_foreign_args=True)


def configure(*, level: str, form: str) -> None:
    """Send every log line of the process to standard error, once."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Words())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    quieten()


def quieten() -> None:
    """Silence the loggers that write whole URLs and bound values, at any level asked for."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def _described(_: object, __: str, event: Event) -> Event:
    """Write down what the record says of itself."""
    record: logging.LogRecord = event["_record"]
    told: Event = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": _text(record, event),
    }
    if current := request_id.get():
        told["request_id"] = current
    told.update((name, getattr(record, name)) for name in MEMBERS if hasattr(record, name))
    if kind := _kind(record, event):
        told["kind"] = kind
    return told


def _text(record: logging.LogRecord, event: Event) -> str:
    family = record.name.partition(".")[0]
    if family in _OURS:
        return str(event["event"])
    if family not in _TEMPLATES or not isinstance(record.msg, str) or "\n" in record.msg:
        return SILENCED
    shown = tuple(one if isinstance(one, int) else "…" for one in event["positional_args"] or ())
    return record.msg % shown if shown else record.msg


def _kind(record: logging.LogRecord, event: Event) -> str | None:
    """Return the name of the exception; the server's word for a failed start is a traceback."""
    failure = (event.get("exc_info") or (None,))[0]
    if failure is not None:
        return str(failure.__name__)
    if isinstance(record.msg, str) and record.msg.startswith("Traceback "):
        return record.msg.rstrip().rpartition("\n")[2].partition(":")[0].rpartition(".")[2]
    return type(record.msg).__name__ if isinstance(record.msg, Exception) else None


def _listed(_: object, __: str, event: Event) -> Event:
    """Keep the members of the list, in its order."""
    return {name: event[name] for name in (*_ALWAYS, *MEMBERS) if name in event}


def _worded(_: object, __: str, event: Event) -> str:
    members = [f"{name}={event[name]}" for name in MEMBERS if name in event]
    return " ".join((f"{event['level']}: {event['event']}", *members))


def _dumped(event: Event, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()
