"""
The body of an upload: raw bytes, handed on as they come, never held as a whole.

What is read here is bounded and timed: 104,857,600 bytes, announced or counted, and ten seconds
without a byte. Source: decisions 8.5; reference, reliability C2 to C4.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any

from policy.vocabulary import Code
from rest_compat.body import ClientGone
from rest_compat.errors import problem
from rest_compat.idempotency import KEY_HEADER
from rest_compat.ports import Problem, Variable
from rest_compat.request import RestRequest

MAX_UPLOAD = 104_857_600  # bytes, inclusive; contract, Limits
IDLE_SECONDS = 10.0  # without a byte; reliability C2


class StreamedBody:
    """
    The bytes of one upload, to be read once; what the graph calls a handle.

    Attributes:
        size: As announced; None when the body comes in chunks.
        mime_type: As the request says.
        broken: Why the bytes stopped coming; None while nothing is wrong.
    """

    def __init__(self, call: RestRequest, *, size: int | None) -> None:
        self._receive = call.receive
        self.size = size
        self.mime_type = call.header("content-type")
        self.broken: Exception | None = None
        # Only those who may try again are told apart by their bytes; for others it would be work.
        self._digest = hashlib.sha256() if KEY_HEADER in call.headers else None
        self._ended = False

    @property
    def fingerprint(self) -> bytes:
        """What can be told of the bytes before they are read."""
        return f"{self.size} {self.mime_type}".encode()

    @property
    def digest(self) -> bytes:
        """SHA-256 of the bytes; empty until all of them were read, and without a key."""
        return self._digest.digest() if self._digest is not None and self._ended else b""

    async def finish(self) -> None:
        """Read what is left; see `rest_compat.readers.Body`."""
        async for _ in self.chunks():
            pass

    def value(self, *, strict: bool) -> Any:
        """Hand itself over; see `rest_compat.readers.Body`."""
        del strict
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        """
        Yield the bytes as they come.

        Raises:
            Problem: 413, more came than may; 408, they stopped coming.
            ClientGone: The client hung up.
        """
        try:
            async for chunk in self._bounded():
                yield chunk
        except (Problem, ClientGone) as failure:
            self.broken = failure
            raise

    async def _bounded(self) -> AsyncIterator[bytes]:
        seen = 0
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
            seen += len(chunk)
            if seen > MAX_UPLOAD:
                raise too_large()
            if self._digest is not None:
                self._digest.update(chunk)
            self._ended = not message.get("more_body", False)
            if chunk:
                yield chunk


class UploadReader:
    """Receives uploads: nothing is read before the graph asks for it."""

    async def receive(self, call: RestRequest, variable: Variable) -> StreamedBody:
        """
        Check what is announced; see `rest_compat.readers.BodyReader`.

        Raises:
            Problem: 413, it is too much.
        """
        del variable
        declared = call.header("content-length")
        size = int(declared[:20]) if declared is not None and declared.isdecimal() else None
        if size is not None and size > MAX_UPLOAD:
            raise too_large()
        return StreamedBody(call, size=size)


def too_large() -> Problem:
    """Describe an upload that is too large: 413."""
    return problem(
        Code.PAYLOAD_TOO_LARGE, f"A file may have at most {MAX_UPLOAD} bytes.", status=413
    )
