"""
Request bodies: their deadlines, and JSON bodies, bounded in size and strictly parsed.

Whatever the `Content-Type`, the body is UTF-8 JSON (docs/spec/requests.md#json-bodies). Values that
standard parsers accept and later code trips over are refused here: NaN, lone surrogates, NUL,
duplicate members, deep nesting (docs/spec/reliability.md#json-edge-cases). A body of too many
values is refused before any of them is made.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson
from starlette.types import Message, Receive

from policy.refusals import Refusal
from policy.vocabulary import Code, sentence_about
from rest_compat.errors import WHOLE_BODY, problem

MAX_BODY = 4 * 1024 * 1024  # bytes of any JSON body; docs/spec/limits.md#sizes
MAX_RECORDED = 8 * 1024 * 1024  # bytes of a body that waits for a person; the same
MAX_VALUES = 20_000  # in one body; docs/spec/limits.md#sizes
MAX_DEPTH = 64  # containers within containers; docs/spec/limits.md#sizes
# docs/spec/limits.md#deadlines-of-a-request
READ_SECONDS = 15.0  # for the whole of a body that is not an upload
IDLE_SECONDS = 10.0  # without content of an upload
GRACE_SECONDS = 10.0  # of an upload, before its rate counts
UPLOAD_RATE = 32 * 1024  # bytes of content in a second


class ClientGone(Exception):
    """The client hung up before its request was complete; no response can be sent."""


class PacedBody:
    """
    ASGI's `receive` of one request, with the deadlines of its body.

    Only that time counts in which the application waits for the client.
    """

    __slots__ = ("_ended", "_is_upload", "_receive", "_size", "_waited")

    def __init__(self, receive: Receive, *, is_upload: bool) -> None:
        self._receive = receive
        self._is_upload = is_upload
        self._size = 0  # bytes that arrived
        self._waited = 0.0  # seconds
        self._ended = False

    async def __call__(self) -> Message:
        """
        Receive the next message.

        Raises:
            Refusal: 408: the body did not arrive in time. Later calls raise it at once.
        """
        if self._ended:
            return await self._receive()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._seconds_left()):
                message = await self._receive()
        except TimeoutError:
            self._waited = math.inf
            raise problem(
                Code.REQUEST_TIMEOUT, "The request body did not arrive in time."
            ) from None
        self._waited += loop.time() - began
        self._size += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        return message

    def _seconds_left(self) -> float:
        """Return how long the next message may take; 0 or less: it is late unless it is here."""
        if not self._is_upload:
            return READ_SECONDS - self._waited
        slowest = max(GRACE_SECONDS, self._size / UPLOAD_RATE)
        return min(IDLE_SECONDS, slowest - self._waited)


class RecordedBody:
    """
    ASGI's `receive` of one request, which keeps the body.

    Attributes:
        chunks: What came so far.
    """

    __slots__ = ("_receive", "_size", "chunks")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0  # bytes
        self.chunks: list[bytes] = []

    async def __call__(self) -> Message:
        """
        Receive the next message.

        Raises:
            Refusal: 413, more came than is kept; as *receive*.
        """
        message = await self._receive()
        body = message.get("body", b"")
        self._size += len(body)
        if self._size > MAX_RECORDED:
            raise _too_large(MAX_RECORDED)
        self.chunks.append(body)
        return message


async def read_body(receive: Receive, *, declared: str | None, limit: int = MAX_BODY) -> bytes:
    """
    Read the whole body; *declared* is the `Content-Length`, if any.

    Raises:
        Refusal: 413 as soon as more than *limit* bytes are declared or counted; as *receive*.
        ClientGone: The client hung up.
    """
    if declared is not None and declared.isdecimal() and int(declared[:20]) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    size = 0
    async for chunk in receive_chunks(receive):
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


async def receive_chunks(receive: Receive) -> AsyncIterator[bytes]:
    """
    Yield the body as it arrives; no chunk is empty.

    Raises:
        Refusal: As *receive*.
        ClientGone: The client hung up.
    """
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        more = message.get("more_body", False)
        if chunk := message.get("body", b""):
            yield chunk


def _too_large(limit: int) -> Refusal:
    return problem(Code.PAYLOAD_TOO_LARGE, f"The request body is larger than {limit} bytes.")


def parse(body: bytes, *, max_values: int = MAX_VALUES) -> Any:
    """
    Parse a JSON body; an empty one is an empty object.

    Raises:
        Refusal: 400 `VALIDATION_ERROR`, with the reason.
    """
    if not body.strip():
        return {}
    escaped = body.replace(rb"\\", b"")  # each backslash that is left begins another escape
    outside = _outside_texts(escaped.replace(rb"\"", b""), 5 * max_values)
    if outside.count(b",") + outside.count(b"[") + outside.count(b"{") >= max_values:
        raise invalid_body([(WHOLE_BODY, f"has more than {max_values} values")])
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise invalid_body([(WHOLE_BODY, "is not valid JSON")]) from None
    if rb"\u0000" in escaped:
        raise invalid_body([(WHOLE_BODY, "has a string with the character U+0000")])
    if _count_members(value) != outside.count(b":"):  # parsers disagree on which member counts
        raise invalid_body([(WHOLE_BODY, "has a member more than once")])
    return value


def _outside_texts(body: bytes, most_texts: int) -> bytes:
    """
    Return what a JSON body without escaped quotes has outside of its texts.

    After *most_texts* quotes the rest is returned as it is; so many texts are too many values.
    """
    return b"".join(body.split(b'"', most_texts)[::2])


def invalid_body(details: Sequence[tuple[str, str]]) -> Refusal:
    """
    Build the 400 for a bad body, with one detail per field and the first one in the message.

    Args:
        details: (field, what is wrong as the end of a sentence: "must be a string").
    """
    field, reason = details[0]
    subject = "The request body" if field == WHOLE_BODY else field
    return problem(
        Code.VALIDATION_ERROR,
        sentence_about(subject, reason),
        details=[(field, f"It {reason}.") for field, reason in details],
    )


def _count_members(value: Any) -> int:
    """
    Count the members of all objects in a parsed value.

    Raises:
        Refusal: 400: it is nested too deep.
    """
    members = 0
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                members += len(item)
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return members
        level = below
    raise invalid_body([(WHOLE_BODY, f"is nested deeper than {MAX_DEPTH} levels")])
