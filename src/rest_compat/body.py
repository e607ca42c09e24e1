"""
Reads JSON bodies: bounded in size and time, strictly parsed.

Whatever the `Content-Type`, the body is UTF-8 JSON of at most 4 MiB
(docs/spec/requests.md#json-bodies). Values that standard parsers accept and later code trips over
are refused here: NaN, lone surrogates, NUL, duplicate members, deep nesting
(docs/spec/reliability.md#json-edge-cases).
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import orjson
from starlette.types import Receive

from policy.vocabulary import Code
from rest_compat.errors import WHOLE_BODY, problem
from rest_compat.ports import Problem

MAX_BODY = 4 * 1024 * 1024  # bytes; docs/spec/limits.md#sizes
MAX_DEPTH = 64  # containers within containers; docs/spec/limits.md#sizes
READ_SECONDS = 15.0  # for the whole body; docs/spec/reliability.md#slow-bodies


class ClientGone(Exception):
    """The client hung up before its request was complete; no response can be sent."""


async def read_body(receive: Receive, *, declared: str | None, limit: int = MAX_BODY) -> bytes:
    """
    Read the whole body; *declared* is the `Content-Length`, if any.

    Raises:
        Problem: 413 as soon as more than *limit* bytes are declared or counted; 408 when the
            body is not complete in time.
        ClientGone: The client hung up.
    """
    if declared is not None and declared.isdecimal() and int(declared[:20]) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await _gather(receive, limit)
    except TimeoutError:
        raise problem(
            Code.REQUEST_TIMEOUT, "The request body did not arrive in time.", status=408
        ) from None


async def _gather(receive: Receive, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _too_large(limit: int) -> Problem:
    return problem(
        Code.PAYLOAD_TOO_LARGE, f"The request body is larger than {limit} bytes.", status=413
    )


def parse(body: bytes) -> Any:
    """
    Parse a JSON body; an empty one is an empty object.

    Raises:
        Problem: 400 `VALIDATION_ERROR`, with the reason.
    """
    if not body.strip():
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise invalid_body([(WHOLE_BODY, "is not valid JSON")]) from None
    flaw = _flaw(value) or _repeated(body)
    if flaw is not None:
        raise invalid_body([(WHOLE_BODY, flaw)])
    return value


def invalid_body(details: Sequence[tuple[str, str]]) -> Problem:
    """
    Build the 400 for a bad body, with one detail per field and the first one in the message.

    Args:
        details: (field, what is wrong as the end of a sentence: "must be a string").
    """
    field, reason = details[0]
    subject = "The request body" if field == WHOLE_BODY else field
    return problem(
        Code.VALIDATION_ERROR,
        f"{subject} {reason}.",
        status=400,
        details=[(field, f"It {reason}.") for field, reason in details],
    )


def _flaw(value: Any) -> str | None:
    """Describe what is wrong with a parsed value: nested too deep, or a NUL in a string."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        texts = [item for item in level if isinstance(item, str)]
        if any("\0" in text for text in texts):
            return "has a text with the character U+0000"
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += item.keys()
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return None
        level = below
    return f"is nested deeper than {MAX_DEPTH} levels"


class _Repeated(Exception):
    """A member occurs twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) != len(pairs):
        raise _Repeated


def _repeated(body: bytes) -> str | None:
    """Describe a duplicate member of an object, if any: parsers disagree on which one counts."""
    try:
        json.loads(body, object_pairs_hook=_unique, parse_int=str)  # int() has a limit of digits
    except _Repeated:
        return "gives a member more than once"
    return None
