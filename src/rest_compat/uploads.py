"""
Upload bodies: raw bytes, passed on as they arrive, never held as a whole.

Reading is bounded: 104,857,600 bytes, declared or counted, and ten seconds without a byte
(docs/spec/collab.md#upload, docs/spec/reliability.md#slow-bodies).
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any

from policy.vocabulary import Code
from rest_compat.body import ClientGone
from rest_compat.errors import problem
from rest_compat.ledger import KEY_HEADER
from rest_compat.ports import Problem, Variable
from rest_compat.request import RestRequest

MAX_UPLOAD = 104_857_600  # bytes, inclusive; docs/spec/limits.md#sizes
IDLE_SECONDS = 10.0  # without a byte; docs/spec/reliability.md#slow-bodies


class StreamedBody:
    """
    The bytes of one upload, to be read once; the graph's upload handle.

    Attributes:
        size: As declared; None when the body comes in chunks.
        mime_type: As the request declares.
        read_error: Why the bytes stopped coming; None so far.
    """

    def __init__(self, request: RestRequest, *, size: int | None) -> None:
        self._receive = request.receive
        self.size = size
        self.mime_type = request.header("content-type")
        self.read_error: Exception | None = None
        # Only a call with a key can be retried, so only its bytes need a digest.
        self._digest = hashlib.sha256() if KEY_HEADER in request.headers else None
        self._ended = False

    @property
    def fingerprint(self) -> bytes:
        """The declared size and type: what is known before the bytes are read."""
        return f"{self.size} {self.mime_type}".encode()

    @property
    def digest(self) -> bytes:
        """SHA-256 of the bytes; empty without a key, and until all of them were read."""
        return self._digest.digest() if self._digest is not None and self._ended else b""

    async def drain(self) -> None:
        """Read the rest; see `rest_compat.readers.Body`."""
        async for _ in self.chunks():
            pass

    def value(self, *, strict: bool) -> Any:
        """Return the stream itself; see `rest_compat.readers.Body`."""
        del strict
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        """
        Yield the bytes as they arrive.

        Raises:
            Problem: 413, too many bytes; 408, none in time.
            ClientGone: The client hung up.
        """
        try:
            async for chunk in self._bounded():
                yield chunk
        except (Problem, ClientGone) as failure:
            self.read_error = failure
            raise

    async def _bounded(self) -> AsyncIterator[bytes]:
        received = 0
        while not self._ended:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    message = await self._receive()
            except TimeoutError:
                raise problem(
                    Code.REQUEST_TIMEOUT, "The request body did not arrive in time.", status=408
                ) from None
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk: bytes = message.get("body", b"")
            received += len(chunk)
            if received > MAX_UPLOAD:
                raise too_large()
            if self._digest is not None:
                self._digest.update(chunk)
            self._ended = not message.get("more_body", False)
            if chunk:
                yield chunk


class UploadReader:
    """Receives uploads; no byte is read before the graph asks for it."""

    async def receive(self, request: RestRequest, variable: Variable) -> StreamedBody:
        """
        Check the declared size; see `rest_compat.readers.BodyReader`.

        Raises:
            Problem: 413, it is too large.
        """
        del variable
        declared = request.header("content-length")
        size = int(declared[:20]) if declared is not None and declared.isdecimal() else None
        if size is not None and size > MAX_UPLOAD:
            raise too_large()
        return StreamedBody(request, size=size)


def too_large() -> Problem:
    """Describe an upload that is too large: 413."""
    return problem(
        Code.PAYLOAD_TOO_LARGE, f"A file may have at most {MAX_UPLOAD} bytes.", status=413
    )
