"""
One upload session of a file: docs/spec/upstream/microsoft-files.md#upload.

A slice whose response is a failure may have been taken. So upstream is asked what it has, and the
upload goes on there; nothing that it has is sent again.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from providers import failures
from providers.connectors.collab import response_types
from providers.connectors.collab.connection_context import ConnectionContext
from providers.http.client import deadline
from providers.http.response import Response, decode_json
from providers.http.retry_after import named_wait

_SLICE_TIMEOUT_SECONDS = 120.0
MAX_ATTEMPTS = 4  # of one slice without progress
PAUSE_SECONDS = 0.5  # before upstream is asked what it has, where it names no wait
MAX_WAIT_SECONDS = 30  # that upstream may ask for within an upload
_TAKEN: Final = 202  # more bytes are expected
# Statuses after which the session goes on where upstream says.
_RESUMABLE: Final = frozenset({408, 409, 416, 429, 500, 502, 503, 504, 509})


@dataclass(slots=True)
class UploadSession:
    """An upload session; its address authorizes by itself, so credentials are not sent."""

    context: ConnectionContext
    url: str

    async def put(self, piece: bytes, start: int, size: int) -> Response | None:
        """
        Send a slice until upstream has all of it.

        Returns:
            The last response; None when upstream has the slice although none said so.

        Raises:
            Throttled: Upstream asks for a longer wait than an upload takes.
            Broken: The session has ended; the file may be made, if this is its last slice.
            ProviderFailure: Upstream does not say that it has the slice.
        """
        offset, end = start, start + len(piece)
        attempts = 0
        while True:
            try:
                response = await self._put(piece[offset - start :], offset, size)
                expected = _next_offset(response) if response.status == _TAKEN else None
                if expected is None or expected >= end:
                    return response
            except (
                failures.Unreachable,
                failures.TimedOut,
                failures.Broken,
                failures.Throttled,
            ) as failure:
                attempts += 1
                expected = await self._state_after(failure)
                if expected is None or not start <= expected <= end or attempts >= MAX_ATTEMPTS:
                    raise
                if expected == end == size:  # the file is made, and the caller looks for it
                    raise
                if expected == end:
                    return None
            if not start <= expected < end:
                raise failures.Broken
            if expected > offset:
                attempts = 0
            offset = expected

    async def cancel(self) -> None:
        """Cancel the session; nothing of it is left."""
        with suppress(failures.ProviderFailure):
            await self._send("DELETE")

    async def _put(self, piece: bytes, start: int, size: int) -> Response:
        headers = {
            "content-range": f"bytes {start}-{start + len(piece) - 1}/{size}",
            "content-type": "application/octet-stream",
        }
        response = await self._send("PUT", content=piece, headers=headers)
        if response.status not in _RESUMABLE:
            return response
        wait = named_wait(response)
        if response.status == 429 or wait is not None:
            raise failures.Throttled(wait)
        raise failures.Broken(failed=True)

    async def _state_after(self, failure: failures.ProviderFailure) -> int | None:
        """
        Wait as *failure* asks, and return where upstream goes on; None: it does not say.

        Raises:
            Broken: The session has ended.
        """
        pause = PAUSE_SECONDS
        if isinstance(failure, failures.Throttled):
            ends = deadline.get()
            pause = failure.retry_after
            if pause > MAX_WAIT_SECONDS or (ends is not None and time.monotonic() + pause >= ends):
                return None
        await asyncio.sleep(pause)
        try:
            return _next_offset(await self._send("GET"))
        except failures.ProviderFailure as unread:
            if isinstance(unread.__cause__, failures.Missing):
                raise unread from failure
            return None

    async def _send(
        self, method: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        try:
            async with self.context.upstream.open_stream(
                method,
                self.url,
                content=content,
                headers=headers or {},
                deadline=_SLICE_TIMEOUT_SECONDS,
                max_bytes=1024 * 1024,
                accept=_RESUMABLE if method == "PUT" else (),
            ) as response:
                body = b"".join([piece async for piece in response.chunks])
                return Response(response.status, response.headers, body)
        except (
            failures.NeedsReauth,
            failures.Missing,
        ) as failure:  # of the session, not of the connection
            raise failures.Broken from failure


def _next_offset(response: Response) -> int | None:
    try:
        session = decode_json(response.body or b"{}", response_types.UploadSession)
    except failures.Broken:
        return None
    first, *_ = session.next_expected_ranges or ("",)
    offset = first.partition("-")[0]
    return int(offset) if offset.isascii() and offset.isdigit() else None
