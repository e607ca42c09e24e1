"""
Uploads of messages that are too large for JSON: docs/spec/upstream/gmail.md#large-messages.

Messages in memory go up in one call. Those with stored files go up slice by slice, so that memory
holds a slice and never the message.
"""

import re
import secrets
from collections.abc import AsyncIterator

import msgspec

from providers.connectors.provider_a.batch import ROOT
from providers.failures import Broken, Missing, NeedsReauth, TimedOut, Unreachable
from providers.http.client import Response, Upstream
from providers.mail.compose import SerializedMessage

DRAFTS = (*ROOT, "drafts")
SLICE = 8 * 256 * 1024  # bytes; Google wants a multiple of 256 KiB
RESUME = 308  # the status of a slice that was stored, and is not the last
_STORED = re.compile(r"bytes=0-([0-9]{1,15})", re.ASCII)
_SLICE_SECONDS = 30.0
_MAX_RESPONSE = 1024 * 1024  # bytes


async def upload_whole(
    upstream: Upstream, raw: bytes, thread_id: str | None, draft_id: str | None = None
) -> Response:
    """
    Create a draft, or replace the one with *draft_id*, in one call.

    Only an upload of two parts can name a thread.
    """
    kind, content_type, content = "media", "message/rfc822", raw
    if thread_id is not None:
        boundary = f"=_{secrets.token_hex(16)}".encode()
        kind, content_type = "multipart", f'multipart/related; boundary="{boundary.decode()}"'
        content = b"".join(
            (
                b"--%b\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" % boundary,
                msgspec.json.encode(_metadata(thread_id)),
                b"\r\n--%b\r\nContent-Type: message/rfc822\r\n\r\n" % boundary,
                raw,
                b"\r\n--%b--\r\n" % boundary,
            )
        )
    return await upstream.call(
        "POST" if draft_id is None else "PUT",
        "upload",
        *DRAFTS,
        *(() if draft_id is None else (draft_id,)),
        params=(("uploadType", kind),),
        content=content,
        headers={"content-type": content_type},
    )


async def upload_in_slices(
    upstream: Upstream, message: SerializedMessage, thread_id: str | None
) -> Response:
    """
    Create a draft by a resumable upload; the draft is made when the last slice has arrived.

    Raises:
        ProviderFailure: The upload failed; at worst a draft remains.
    """
    started = await upstream.call(
        "POST",
        "upload",
        *DRAFTS,
        params=(("uploadType", "resumable"),),
        json=_metadata(thread_id),
        headers={
            "x-upload-content-type": "message/rfc822",
            "x-upload-content-length": str(message.size),
        },
    )
    url = started.headers.get("location", "")
    if not url:
        raise Broken
    session = _Session(upstream, url, message.size)
    response: Response | None = None
    async for piece in cut(message.chunks(), SLICE):
        response = await session.put(piece)
    if response is None or response.status == RESUME:
        raise Broken
    return response


def _metadata(thread_id: str | None) -> dict[str, dict[str, str]]:
    return {"message": {"threadId": thread_id} if thread_id is not None else {}}


async def cut(chunks: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """Yield the bytes in pieces of *size*; the last may be shorter."""
    buffer = bytearray()
    async for chunk in chunks:
        buffer += chunk
        while len(buffer) >= size:
            yield bytes(buffer[:size])
            del buffer[:size]
    if buffer:
        yield bytes(buffer)


class _Session:
    """A resumable upload; slices are sent in order."""

    def __init__(self, upstream: Upstream, url: str, size: int) -> None:
        self._upstream = upstream
        self._url = url
        self._size = size
        self._sent = 0  # bytes that are stored

    async def put(self, piece: bytes) -> Response:
        """Send the next slice, and once more the part of it that was not stored."""
        start, end = self._sent, self._sent + len(piece)
        response: Response | None = None
        for _ in range(3):
            try:
                response = await self._send(piece[self._sent - start :], f"{self._sent}-{end - 1}")
            except (Unreachable, TimedOut, Broken):
                response = await self._send(b"", "*")
            if response.status != RESUME:
                return response
            stored = _stored_bytes(response)
            if not start <= stored <= end:
                raise Broken
            self._sent = stored
            if stored == end:
                return response
        raise Broken

    async def _send(self, piece: bytes, byte_range: str) -> Response:
        headers = {
            "content-range": f"bytes {byte_range}/{self._size}",
            "content-type": "message/rfc822",
        }
        try:
            async with self._upstream.open_stream(
                "PUT",
                self._url,
                content=piece,
                headers=headers,
                authorized=True,
                deadline=_SLICE_SECONDS,
                max_bytes=_MAX_RESPONSE,
                accept=(RESUME,),
            ) as response:
                body = b"".join([chunk async for chunk in response.chunks])
                return Response(response.status, response.headers, body)
        except (NeedsReauth, Missing) as failure:  # of the session, not of the account
            raise Broken from failure


def _stored_bytes(response: Response) -> int:
    match = _STORED.fullmatch(response.headers.get("range", ""))
    return int(match[1]) + 1 if match is not None else 0
