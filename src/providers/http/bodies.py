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
            raise Broken("The provider's response is too large.")
        for chunk in (data,) if decompressor is None else decompressor.feed(data):
            total_bytes += len(chunk)
            if max_bytes is not None and total_bytes > max_bytes:
                raise Broken("The provider's response is too large.")
            yield chunk
    if decompressor is not None:
        decompressor.finish()


def decompressed(data: bytes, *, encoding: str, max_bytes: int | None) -> bytes:
    """Decompress a body that has arrived; as `decompress`."""
    decompressor = _decompressor(encoding) if encoding else None
    if max_bytes is not None and len(data) > max_bytes:
        raise Broken("The provider's response is too large.")
    if decompressor is None:
        return data
    chunks, size = [], 0
    for chunk in decompressor.feed(data):
        size += len(chunk)
        if max_bytes is not None and size > max_bytes:
            raise Broken("The provider's response is too large.")
        chunks.append(chunk)
    decompressor.finish()
    return b"".join(chunks)


async def read_decompressed(
    raw: AsyncIterable[bytes], *, encoding: str, max_bytes: int | None
) -> bytes:
    """Return the whole of what `decompress` yields; most bodies are one chunk as sent."""
    chunks: list[bytes] = []
    if _decompressor(encoding) is None:
        size = 0
        async for chunk in raw:
            size += len(chunk)
            if max_bytes is not None and size > max_bytes:
                raise Broken("The provider's response is too large.")
            chunks.append(chunk)
    else:
        chunks = [chunk async for chunk in decompress(raw, encoding=encoding, max_bytes=max_bytes)]
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


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
