"""
Call log of an upstream: the newest calls that it received, without their credentials.

Calls of one upstream resemble each other. Compressed together, 20,000 of them take about 1 MB
instead of more than 20, so a sandbox that serves for days stays small: docs/spec/sandbox.md#calls.
"""

import zlib
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from sandbox.http import Request

MOST_CALLS = 20_000  # the newest are kept
_BLOCK = 250  # calls that are compressed together

# The call log shows these headers only; none of them carries a credential.
_SHOWN_HEADERS = (
    "accept",
    "accept-encoding",
    "api-version",
    "client-request-id",
    "consistencylevel",
    "content-length",
    "content-range",
    "content-type",
    "if-match",
    "if-none-match",
    "prefer",
    "range",
    "user-agent",
    "x-upload-content-type",
)
_SECRET_PARAMETERS = frozenset({"access_token", "code", "state", "tempauth", "token"})


class CallLog:
    """Sequence of calls as `describe_call` returns them, oldest first."""

    def __init__(self) -> None:
        self._blocks: deque[bytes] = deque(maxlen=MOST_CALLS // _BLOCK - 1)
        self._newest: list[bytes] = []

    def append(self, call: dict[str, Any]) -> None:
        """Add a call, and forget the oldest ones beyond `MOST_CALLS`."""
        if len(self._newest) == _BLOCK:
            self._blocks.append(zlib.compress(_joined(self._newest), level=1))
            self._newest.clear()
        self._newest.append(orjson.dumps(call))

    def clear(self) -> None:
        """Forget all calls."""
        self._blocks.clear()
        self._newest.clear()

    def __len__(self) -> int:
        return len(self._blocks) * _BLOCK + len(self._newest)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for block in tuple(self._blocks):
            yield from orjson.loads(zlib.decompress(block))
        yield from orjson.loads(_joined(self._newest))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return list(self)[index]


def _joined(calls: list[bytes]) -> bytes:
    return b"[" + b",".join(calls) + b"]"


def describe_call(request: Request, fault: str | None, *, shows_document: bool) -> dict[str, Any]:
    """
    Return what the call log shows of a call: docs/spec/sandbox.md#calls.

    Args:
        request: The call, or an inner call of a batch.
        fault: Kind of the fault or limit that the call met.
        shows_document: Whether the GraphQL document of its body is shown.
    """
    query: dict[str, list[str]] = {}
    for name, value in request.query:
        shown = "…" if name.lower() in _SECRET_PARAMETERS else value
        query.setdefault(name, []).append(shown)
    call = {
        "method": request.method,
        "path": request.path,
        "query": query,
        "headers": {
            name: request.headers[name] for name in _SHOWN_HEADERS if name in request.headers
        },
        "bodySize": _size(request),
        "batch": request.batch,
        "fault": fault,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    return {**call, "document": _document(request)} if shows_document else call


def _size(request: Request) -> int:
    """Return the body's size in bytes; for a streamed body the size that its header states."""
    stated = request.headers.get("content-length", "")
    return int(stated) if request.stream is not None and stated.isdigit() else len(request.body)


def _document(request: Request) -> str | None:
    """Return the GraphQL document of a call, without its variables."""
    try:
        content = request.json()
    except ValueError:
        return None
    document = content.get("query") if isinstance(content, dict) else None
    return document if isinstance(document, str) else None
