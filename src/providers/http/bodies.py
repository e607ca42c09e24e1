"""Answer bodies: decompressed piece by piece, and never more than a limit."""

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator

from providers.failures import Broken

_PIECE = 64 * 1024  # bytes decompressed at a time


async def decompress(
    raw: AsyncIterable[bytes], *, encoding: str, max_bytes: int | None
) -> AsyncIterator[bytes]:
    """
    Decompress *raw* while it comes.

    Args:
        raw: As it came over the wire.
        encoding: The Content-Encoding; gzip and identity are understood.
        max_bytes: Of what comes out; None: no limit.

    Raises:
        Broken: The encoding is another one, the data is damaged or cut, or the limit is passed.
    """
    unpacker = _unpacker(encoding)
    total = 0
    async for data in raw:
        for piece in (data,) if unpacker is None else unpacker.feed(data):
            total += len(piece)
            if max_bytes is not None and total > max_bytes:
                raise Broken("The provider's answer is too large.")
            yield piece
    if unpacker is not None:
        unpacker.finish()


def _unpacker(encoding: str) -> "_Gunzip | None":
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

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:  # another member follows
                self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
            self._began = True
            try:
                piece = self._stream.decompress(data, _PIECE)
            except zlib.error:
                raise Broken from None
            if piece:
                yield piece
            data = self._stream.unconsumed_tail or self._stream.unused_data

    def finish(self) -> None:
        """
        Raises:
            Broken: The end is missing.
        """
        if self._began and not self._stream.eof:
            raise Broken
