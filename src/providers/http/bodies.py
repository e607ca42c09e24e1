"""Decompression of response bodies, chunk by chunk and within a size limit."""

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator

from providers.failures import Broken

_CHUNK_BYTES = 64 * 1024  # decompressed at a time
_MAX_MEMBERS = 100  # of one gzip body: each costs a copy of what follows it, and may be empty


async def decompress(
    raw: AsyncIterable[bytes], *, encoding: str, max_bytes: int | None
) -> AsyncIterator[bytes]:
    """
    Decompress a body as it arrives.

    Args:
        raw: The body as it was sent.
        encoding: The Content-Encoding: gzip, identity or empty.
        max_bytes: Limit of the size, compressed and decompressed; None: no limit.

    Raises:
        Broken: The encoding is unknown, the data is damaged or cut off, or the limit is passed.
    """
    decompressor = _decompressor(encoding)
    raw_bytes = total_bytes = 0
    async for data in raw:
        raw_bytes += len(data)
        if max_bytes is not None and raw_bytes > max_bytes:
            raise Broken("The provider's answer is too large.")
        for chunk in (data,) if decompressor is None else decompressor.feed(data):
            total_bytes += len(chunk)
            if max_bytes is not None and total_bytes > max_bytes:
                raise Broken("The provider's answer is too large.")
            yield chunk
    if decompressor is not None:
        decompressor.finish()


def _decompressor(encoding: str) -> "_Gunzip | None":
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Gunzip()
        case _:
            raise Broken


class _Gunzip:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._began = False
        self._members = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:  # another gzip member follows
                self._members += 1
                if self._members > _MAX_MEMBERS:
                    raise Broken
                self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
            self._began = True
            try:
                chunk = self._stream.decompress(data, _CHUNK_BYTES)
            except zlib.error:
                raise Broken from None
            if chunk:
                yield chunk
            data = self._stream.unconsumed_tail or self._stream.unused_data

    def finish(self) -> None:
        """Raise Broken when the end of the stream is missing."""
        if self._began and not self._stream.eof:
            raise Broken
