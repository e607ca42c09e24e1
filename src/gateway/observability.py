"""
Logs: one JSON line per event on standard error, made of an allow-list of members.

What a line may carry is listed here; anything else that a caller of the logger adds is dropped, so
no body, token, search word or address can slip in by accident.
"""

import logging
import sys
from datetime import UTC, datetime

import orjson

MEMBERS = (
    "request_id",
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


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the event, its level and time, and the listed members."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in MEMBERS if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            line["kind"] = record.exc_info[0].__name__
        return orjson.dumps(line, default=str).decode()


class Words(logging.Formatter):
    """The same for people: level, event, members."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line."""
        members = [f"{name}={getattr(record, name)}" for name in MEMBERS if hasattr(record, name)]
        return " ".join((f"{record.levelname.lower()}: {record.getMessage()}", *members))


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


_TALKATIVE = ("httpx", "httpcore", "alembic", "sqlalchemy", "aiosqlite", "uvicorn.access")
