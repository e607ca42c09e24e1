"""
Responses of an IMAP server as they arrive, within bounds.

A stranger's message may have any number of parts, so a response about messages that is too long is
cut, and the connection goes on. Any other response that is too long is an error.
"""

import asyncio
import re
from typing import Final, NamedTuple

from providers.imap.parsing import Pieces

# docs/spec/upstream/imap.md#limits
MAX_LINE: Final = 1 << 20  # bytes; the limit of the stream that is read
_MAX_LITERALS = 2000  # of one response
_MAX_BYTES = 16 * 1024 * 1024  # of one response
_MAX_DROPPED = 64 * 1024 * 1024  # bytes for one command that are read and not kept

_LITERAL = re.compile(rb"~?\{(\d{1,10})\}$")
_LITERAL_END = 13  # bytes of the longest of them
_ROW_HEAD = re.compile(rb"\* \d{1,10} FETCH \(", re.IGNORECASE)


class _Line(NamedTuple):
    """
    A line, without its end.

    Attributes:
        text: Without the announcement of a literal.
        literal: Bytes of the literal that follows; None: none does.
        is_cut: Whether *text* is only the beginning.
    """

    text: bytes
    literal: int | None
    is_cut: bool


class ResponseReader:
    """Reads the responses of one connection."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        """*reader* has the limit `MAX_LINE`."""
        self._reader = reader
        self._dropped = 0  # bytes

    def begin(self) -> None:
        """Begin to read the answer to another command."""
        self._dropped = 0

    async def read(self, max_row: int = MAX_LINE) -> Pieces:
        """
        Read one response: a line whose literals are pieces of their own.

        Of a FETCH response at most *max_row* bytes outside of literals are kept, and below
        `MAX_LINE` as many of each literal.

        Raises:
            ValueError, asyncio.LimitOverrunError: It is too large.
            asyncio.IncompleteReadError, OSError: The connection ends.
        """
        pieces = Pieces()
        size = text_size = 0
        is_row = False
        while True:
            line = await self._line(is_row=is_row)
            if is_row and not line.text and line.literal is None:
                self._drop(len(b"\r\n"))
                continue  # some servers write a blank line behind a literal
            is_row = is_row or (not pieces and _ROW_HEAD.match(line.text) is not None)
            room = (max_row if is_row else MAX_LINE) - text_size
            if pieces.is_cut:
                self._drop(len(line.text))
            else:
                text_size += len(line.text)
                pieces.append(line.text[:room])
                is_over = len(line.text) > room or len(pieces) > 2 * _MAX_LITERALS
                pieces.is_cut = line.is_cut or is_over
                self._drop(max(0, len(line.text) - room))
            if pieces.is_cut and not is_row:
                raise ValueError("a response is too large")
            if line.literal is None:
                return pieces
            if pieces.is_cut:
                await self._skip(line.literal)
                continue
            most = max_row if is_row and max_row < MAX_LINE else line.literal
            length = min(line.literal, most)
            size += length + len(line.text)
            if size > _MAX_BYTES:
                raise ValueError("a literal is too large")
            pieces.append(await self._reader.readexactly(length))
            await self._skip(line.literal - length)

    async def _line(self, *, is_row: bool) -> "_Line":
        """Read a line; of one that is too long, which only *is_row* may be, keep the beginning."""
        beginning = end = b""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
                break
            except asyncio.LimitOverrunError as failure:
                part = await self._reader.readexactly(failure.consumed)
                if not is_row and not _ROW_HEAD.match(beginning or part):
                    raise
                self._drop(len(part) if beginning else 0)
                beginning, end = beginning or part, (end + part)[-_LITERAL_END:]
        line = (end + line).rstrip(b"\r\n")
        literal = _LITERAL.search(line, max(0, len(line) - _LITERAL_END))
        text = beginning or line[: literal.start() if literal else None]
        return _Line(text, None if literal is None else int(literal[1]), is_cut=bool(beginning))

    async def _skip(self, length: int) -> None:
        """Read bytes that are not kept."""
        self._drop(length)
        while length:
            part = await self._reader.read(min(length, MAX_LINE))
            if not part:
                raise asyncio.IncompleteReadError(part, length)
            length -= len(part)

    def _drop(self, size: int) -> None:
        self._dropped += size
        if self._dropped > _MAX_DROPPED:
            raise ValueError("the response is too large")
