"""
Responses that are a file's bytes: docs/spec/email.md#content-of-an-attachment.

The bytes are passed on as they arrive. A single range of them can be asked for (RFC 9110, 14);
what precedes the range is read and dropped.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from urllib.parse import quote

from starlette.types import Receive, Send

from policy.refusals import Refusal
from policy.vocabulary import Code
from rest_compat.errors import RangeNotSatisfiable, problem
from rest_compat.request import RestRequest
from rest_compat.responses import Content, RestResponse, Stream

BINARY = "application/octet-stream"
MAX_NAME = 200  # characters of a file name in a header

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII | re.IGNORECASE)
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,120}/[A-Za-z0-9!#$&^_.+-]{1,120}", re.ASCII)
_UNSAFE = re.compile(r"[^A-Za-z0-9 ._()+,=@-]")
_SEPARATORS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff/\\\\]")
# A browser that opens the file all the same runs nothing of it in the origin of the gateway.
_SANDBOXED = ("Content-Security-Policy", "default-src 'none'; sandbox")


async def respond(
    request: RestRequest, opening: AbstractAsyncContextManager[Content]
) -> RestResponse:
    """
    Open a file and build the response that streams it; for HEAD it is closed again.

    Raises:
        Refusal: 416, the range is not within the file; or as *opening*.
    """
    async with AsyncExitStack() as stack:
        content = await stack.enter_async_context(opening)
        etag = _etag(request, content)
        start, end = _range(request, content.size, etag)
        headers = [
            ("Content-Type", _media_type(content.mime_type)),
            ("Content-Disposition", disposition(content.name)),
            ("Accept-Ranges", "none" if content.size is None else "bytes"),
            ("ETag", etag),
            _SANDBOXED,
        ]
        status, length = 200, content.size
        if start is not None and end is not None:
            status, length = 206, end - start
            headers.append(("Content-Range", f"bytes {start}-{end - 1}/{content.size}"))
        if length is not None:
            headers.append(("Content-Length", str(length)))
        stream = None
        if request.method != "HEAD":
            chunks = _slice(content.chunks, start or 0, length)
            stream = Stream(chunks, stack.pop_all())
        return RestResponse(status=status, headers=tuple(headers), stream=stream, framed=True)


async def send_stream(response: RestResponse, stream: Stream, receive: Receive, send: Send) -> None:
    """
    Send a response whose body arrives chunk by chunk, until the client hangs up.

    A body that breaks off leaves the response incomplete, so that the server ends the connection.
    """
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
    gone = asyncio.create_task(_disconnected(receive))
    try:
        with suppress(Refusal):  # the status is sent already
            async with stream.opened:
                await send(
                    {"type": "http.response.start", "status": response.status, "headers": headers}
                )
                async for chunk in stream.chunks:
                    if gone.done():
                        return
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _slice(
    chunks: AsyncIterator[bytes], start: int, length: int | None
) -> AsyncIterator[bytes]:
    """
    Yield *length* bytes from *start* on; None: to the end.

    Raises:
        Refusal: 502, the file is shorter than its size says.
    """
    position, left = 0, length
    if left == 0:
        return
    async for chunk in chunks:
        piece = chunk[max(0, start - position) :]
        position += len(chunk)
        if left is not None:
            piece = piece[:left]
            left -= len(piece)
        if piece:
            yield piece
        if left == 0:
            return
    if left:
        raise problem(Code.PROVIDER_ERROR, "The provider sent fewer bytes than announced.")


def _range(request: RestRequest, size: int | None, etag: str) -> tuple[int | None, int | None]:
    """
    Return the first byte of the requested range and the byte after its last; None for the whole.

    Several ranges, other units and malformed ones are ignored, and so is a range of another
    version of the file (`If-Range`) or of a file of unknown size.

    Raises:
        Refusal: 416: the range begins after the end of the file.
    """
    match = _RANGE.fullmatch((request.header("range") or "").replace(" ", ""))
    if match is None or size is None or request.method == "HEAD":
        return None, None
    if request.header("if-range") not in (None, etag):
        return None, None
    first, last = match.groups()
    if first:
        start = int(first)
        end = min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None, None
    elif last:
        start, end = max(0, size - int(last)), size
    else:
        return None, None
    if start >= size or start >= end:
        raise RangeNotSatisfiable(size)
    return start, end


def _etag(request: RestRequest, content: Content) -> str:
    """Return the ETag of a file: what an id names never changes."""
    digest = hashlib.sha256(f"{request.path} {content.size}".encode("utf-8", "replace"))
    return f'"{digest.hexdigest()[:32]}"'


def _media_type(mime_type: str | None) -> str:
    media_type = (mime_type or "").partition(";")[0].strip().lower()
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else BINARY


def disposition(name: str) -> str:
    """
    Return the Content-Disposition of a download (RFC 6266).

    The name has no separators of paths and no control characters, and never begins with a dot.
    """
    safe = _SEPARATORS.sub("_", name).strip() or "attachment"
    if safe.startswith("."):
        safe = "_" + safe[1:]
    stem, dot, ending = safe.rpartition(".")
    if len(safe) > MAX_NAME:
        safe = (
            stem[: MAX_NAME - 20] + dot + ending if stem and len(ending) < 20 else safe[:MAX_NAME]
        )
    plain = f'attachment; filename="{_UNSAFE.sub("_", safe)}"'
    if not _UNSAFE.search(safe):
        return plain
    return f"{plain}; filename*=UTF-8''{quote(safe, safe='')}"
