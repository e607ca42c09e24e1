"""
Files of a new draft: docs/spec/upstream/outlook-mail.md#attachments-of-a-draft.

A small file is one call; a larger one goes up slice by slice, so that memory holds a slice of it.
"""

from base64 import b64encode

from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail.response_types import UploadSession
from providers.failures import Broken, Missing, NeedsReauth, Refused, TimedOut, Unreachable
from providers.http.client import Response, Upstream
from providers.ports.mail import OutgoingFile, StoredContent

SMALL_BYTES = 3 * 1024 * 1024  # a file of so many bytes or more needs an upload session
SLICE = 2 * 1024 * 1024  # bytes; Graph takes up to 4 MB at once
_SLICE_SECONDS = 30.0
_MAX_RESPONSE = 1024 * 1024  # bytes


async def attach(user: GraphUser, draft: str, file: OutgoingFile) -> None:
    """
    Attach a file to a draft.

    Raises:
        ProviderFailure: It is not known whether the draft has the file.
    """
    if file.size < SMALL_BYTES or not isinstance(file.content, StoredContent):
        attachment = {
            "@odata.type": "#microsoft.graph.fileAttachment",
            "name": file.name,
            "contentType": file.media_type,
            "contentBytes": b64encode(await file.read()).decode(),
        }
        await user.call(
            "POST", *user.messages, draft, "attachments", json=attachment, headers=PREFER
        )
        return
    item = {
        "attachmentType": "file",
        "name": file.name,
        "size": file.size,
        "contentType": file.media_type,
    }
    started = await user.call(
        "POST",
        *user.messages,
        draft,
        "attachments",
        "createUploadSession",
        json={"AttachmentItem": item},
        headers=PREFER,
    )
    session = _Session(user.upstream, started.decode(UploadSession).upload_url, file.size)
    await session.put_all(file.content)


class _Session:
    """An upload session; its address authorizes by itself, so credentials are not sent."""

    def __init__(self, upstream: Upstream, url: str, size: int) -> None:
        self._upstream = upstream
        self._url = url
        self._size = size

    async def put_all(self, content: StoredContent) -> None:
        """Send all bytes in order."""
        buffer, start = bytearray(), 0
        response: Response | None = None
        async for chunk in content.chunks():
            buffer += chunk
            while len(buffer) >= SLICE:
                response = await self._put(bytes(buffer[:SLICE]), start)
                start += SLICE
                del buffer[:SLICE]
        if buffer:
            response = await self._put(bytes(buffer), start)
        if response is None or response.status != 201:  # bytes are missing
            raise Broken

    async def _put(self, piece: bytes, start: int) -> Response:
        """Send a slice, and once more the part of it that Graph says is missing."""
        try:
            return await self._send_piece(piece, start)
        except (Unreachable, TimedOut, Broken, Refused):
            state = await self._send("GET")
            expected, end = state.decode(UploadSession).next_offset, start + len(piece)
            if expected == end < self._size:  # it was taken although the answer is a failure
                return state
            if expected is None or not start <= expected < end:
                raise
            return await self._send_piece(piece[expected - start :], expected)

    async def _send_piece(self, piece: bytes, start: int) -> Response:
        content_range = f"bytes {start}-{start + len(piece) - 1}/{self._size}"
        return await self._send("PUT", piece, {"content-range": content_range})

    async def _send(
        self, method: str, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        typed = {"content-type": "application/octet-stream", **(headers or {})}
        try:
            async with self._upstream.open_stream(
                method,
                self._url,
                content=content,
                headers=typed if content is not None else {},
                deadline=_SLICE_SECONDS,
                max_bytes=_MAX_RESPONSE,
            ) as response:
                body = b"".join([chunk async for chunk in response.chunks])
                return Response(response.status, response.headers, body)
        except (NeedsReauth, Missing) as failure:  # of the session, not of the connection
            raise Broken from failure
