"""
Response bodies within limits: decompression chunk by chunk, and the number of values of JSON.

Decoding and mapping JSON take the longer the more values there are; the length of texts hardly
matters: docs/spec/limits.md#upstream-calls.
"""

import asyncio
import re
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Final

from providers.failures import Broken, TooLarge
from providers.turns import in_thread, in_turns

_CHUNK_BYTES = 64 * 1024  # decompressed at a time
_MAX_MEMBERS = 100  # of one gzip body: each costs a copy of what follows it, and may be empty
MAX_VALUES: Final = 150_000  # of one response
UNCOUNTED_BYTES: Final = 2 * MAX_VALUES  # a shorter body cannot have more

_SLICE = 4 * 1024 * 1024  # bytes that are counted at once, in some milliseconds
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


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
        TooLarge: The limit is passed.
        Broken: The encoding is unknown, or the data is damaged or cut off.
    """
    decompressor = _decompressor(encoding)
    raw_bytes = total_bytes = 0
    async for data in raw:
        raw_bytes += len(data)
        if max_bytes is not None and raw_bytes > max_bytes:
            raise TooLarge
        for chunk in (data,) if decompressor is None else decompressor.feed(data):
            total_bytes += len(chunk)
            if max_bytes is not None and total_bytes > max_bytes:
                raise TooLarge
            yield chunk
    if decompressor is not None:
        decompressor.finish()


def decompressed(data: bytes, *, encoding: str, max_bytes: int | None) -> bytes:
    """Decompress a body that has arrived; as `decompress`."""
    decompressor = _decompressor(encoding) if encoding else None
    if max_bytes is not None and len(data) > max_bytes:
        raise TooLarge
    if decompressor is None:
        return data
    chunks, size = [], 0
    for chunk in decompressor.feed(data):
        size += len(chunk)
        if max_bytes is not None and size > max_bytes:
            raise TooLarge
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
                raise TooLarge
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


async def check_number_of_values(body: bytes) -> None:
    """
    Let a body pass that has few enough values, whatever its texts contain.

    Raises:
        TooLarge: It has more than `MAX_VALUES`.
    """
    number = 0
    async for start in in_turns(range(0, len(body), _SLICE)):
        number += _marks(body, start, start + _SLICE)
    await asyncio.sleep(0)  # what follows takes a while
    if number <= MAX_VALUES:
        return
    # Few bodies get here: those of very long texts, and hostile ones.
    if await in_thread(lambda: _values(body), is_long=True) > MAX_VALUES:
        raise TooLarge


def _marks(text: bytes, start: int, end: int) -> int:
    """Return the number of characters that may begin a value."""
    return sum(text.count(mark, start, end) for mark in (b",", b"[", b"{"))


def _values(body: bytes) -> int:
    """Return the number of values, as far as `MAX_VALUES` and one string more."""
    number = position = 0
    while position < len(body) and number <= MAX_VALUES:
        start = body.find(b'"', position)
        start = len(body) if start < 0 else start
        number += _marks(body, position, start)
        string = _STRING.match(body, start)
        position = len(body) if string is None else string.end()
    return number
