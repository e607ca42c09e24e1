"""
Reading a JSON body: bounded, timed, strict.

Whatever the `Content-Type`, the body is UTF-8 JSON of at most 4 MiB. What the standard parsers let
through and something later trips over is refused here: NaN, lone surrogates, NUL, members given
twice, nesting without end. Source: decisions 0; reference, reliability C3 and C6.
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

MAX_BODY = 4 * 1024 * 1024  # bytes; decisions 0
MAX_DEPTH = 64  # containers within containers; reliability 2.2
READ_SECONDS = 15.0  # for the whole body; reliability C2


class ClientGone(Exception):
    """The client hung up before its request was complete: there is nobody to answer."""


async def read_body(receive: Receive, *, declared: str | None, limit: int = MAX_BODY) -> bytes:
    """
    Read the whole body; *declared* is the `Content-Length`, if any.

    Raises:
        Problem: 413 as soon as more than *limit* bytes are announced or counted; 408 when the
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
        Code.PAYLOAD_TOO_LARGE,
        f"The request body is larger than {limit} bytes.",
        status=413,
    )


def parse(body: bytes) -> Any:
    """
    Parse a JSON body; an empty one is an empty object.

    Raises:
        Problem: 400 `VALIDATION_ERROR`, saying what is wrong.
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
    Describe a bad body: 400, one detail per field, and the first of them in the message.

    *details* are (field, what is wrong as the end of a sentence: "must be a string").
    """
    field, why = details[0]
    subject = "The request body" if field == WHOLE_BODY else field
    return problem(
        Code.VALIDATION_ERROR,
        f"{subject} {why}.",
        status=400,
        details=[(field, f"It {why}.") for field, why in details],
    )


def _flaw(value: Any) -> str | None:
    """Say what is wrong with a value that parsed: nested too deep, or with a NUL in a text."""
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
    """Say whether an object has a member twice: parsers disagree on which one counts."""
    try:
        json.loads(body, object_pairs_hook=_unique, parse_int=str)  # int() has a limit of digits
    except _Repeated:
        return "gives a member more than once"
    return None
