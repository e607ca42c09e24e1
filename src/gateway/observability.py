"""
Logs: one line per event on standard error, made of an allow-list of members.

What a line may carry is listed here; anything else is dropped, so no body, token, search word or
address can slip in by accident. The text of an event is kept when it is ours or the server's own
template; what another library has to say is told by its logger's name and kind alone, because its
text may quote what it was working on.
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
_TEMPLATES = ("uvicorn",)  # constant texts; their arguments are addresses
_TALKATIVE = ("httpx", "httpcore", "alembic", "sqlalchemy", "aiosqlite", "uvicorn.access")
_ALWAYS = ("time", "level", "logger", "event")

Event = MutableMapping[str, Any]


class JsonLines(structlog.stdlib.ProcessorFormatter):
    """One JSON object per line."""

    def __init__(self) -> None:
        super().__init__(
            processors=[_described, _listed, structlog.processors.JSONRenderer(_dumped)]
        )


class Words(structlog.stdlib.ProcessorFormatter):
    """The same for people: level, event, members."""

    def __init__(self) -> None:
        super().__init__(processors=[_described, _listed, _worded])


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
    if record.exc_info and record.exc_info[0] is not None:
        told["kind"] = record.exc_info[0].__name__
    return told


def _text(record: logging.LogRecord, event: Event) -> str:
    family = record.name.partition(".")[0]
    if family in _OURS:
        return str(event["event"])
    return str(record.msg) if family in _TEMPLATES else SILENCED


def _listed(_: object, __: str, event: Event) -> Event:
    """Keep the members of the list, in its order."""
    return {name: event[name] for name in (*_ALWAYS, *MEMBERS) if name in event}


def _worded(_: object, __: str, event: Event) -> str:
    members = [f"{name}={event[name]}" for name in MEMBERS if name in event]
    return " ".join((f"{event['level']}: {event['event']}", *members))


def _dumped(event: Event, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()
