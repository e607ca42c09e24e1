"""
Structured logs on standard error: one line per event, with an allow-list of members.

Members that are not listed are dropped, so that no body, token, search word or address is logged by
accident. The text of an event is logged for our own loggers and for the server, of whose arguments
only numbers are shown. Other libraries are logged by logger name and exception type alone, because
their texts may quote private data.
"""

import logging
import sys
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

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
    "code",
    "layer",
    "milliseconds",
    "count",
    "head",
    "version",
)
SILENCED = "a library reported something"

# The id of the request being served; empty outside requests.
request_id: ContextVar[str] = ContextVar("request_id", default="")

_OURS = ("gateway", "graph", "rest_compat", "providers", "policy")
_TEMPLATES = ("uvicorn",)  # constant texts of one line; their arguments may be addresses
_NOISY = ("httpx", "httpcore", "alembic", "sqlalchemy", "aiosqlite", "uvicorn.access")
_ALWAYS = ("time", "level", "logger", "event")

Event = MutableMapping[str, Any]


def configure(*, level: str, form: str) -> None:
    """Send every log line of the process to standard error, once."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(form))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    silence_noisy_loggers()


def formatter(form: str) -> logging.Formatter:
    """Write one JSON object per line ("json"), or one readable line: level, event, members."""
    return _Formatter(_to_json if form == "json" else _as_text)


def silence_noisy_loggers() -> None:
    """Silence the loggers that write whole URLs and bound values, whatever the log level."""
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Formatter(logging.Formatter):
    """Writes the allowed members of a record, and no traceback."""

    def __init__(self, render: Callable[[Event], str]) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        return self._render(_select_members(_describe(record)))


def _describe(record: logging.LogRecord) -> Event:
    """Return the event's members as the record states them."""
    members: Event = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name.removesuffix(".error"),  # "uvicorn.error" logs all levels
        "event": _text(record),
    }
    if current_id := request_id.get():
        members["request_id"] = current_id
    members.update((name, getattr(record, name)) for name in MEMBERS if hasattr(record, name))
    if kind := _kind(record):
        members["kind"] = kind
    return members


def _text(record: logging.LogRecord) -> str:
    family = record.name.partition(".")[0]
    if family in _OURS:
        return record.getMessage()
    if family not in _TEMPLATES or not isinstance(record.msg, str) or "\n" in record.msg:
        return SILENCED
    shown = tuple(value if isinstance(value, int) else "…" for value in record.args or ())
    return record.msg % shown if shown else record.msg


def _kind(record: logging.LogRecord) -> str | None:
    """Return the type of the exception; the server reports a failed start as a traceback text."""
    failure = (record.exc_info or (None,))[0]
    if failure is not None:
        return str(failure.__name__)
    if isinstance(record.msg, str) and record.msg.startswith("Traceback "):
        return record.msg.rstrip().rpartition("\n")[2].partition(":")[0].rpartition(".")[2]
    return type(record.msg).__name__ if isinstance(record.msg, Exception) else None


def _select_members(event: Event) -> Event:
    """Keep the allowed members, in their order."""
    return {name: event[name] for name in (*_ALWAYS, *MEMBERS) if name in event}


def _as_text(event: Event) -> str:
    members = [f"{name}={event[name]}" for name in MEMBERS if name in event]
    return " ".join((f"{event['level']}: {event['event']}", *members))


def _to_json(event: Event) -> str:
    return orjson.dumps(event, default=str).decode()
