"""
The bytes of files that were put in, on disk beside the store; never whole in memory.

Uploads are written piece by piece and hashed with quickXorHash as they come.
"""

from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from uuid import uuid4
from weakref import finalize

CHUNK_SIZE = 256 * 1024  # bytes read at once
_WIDTH = 20  # bytes of the hash
_CYCLE = 160  # after this many bytes the hash's shifts repeat
_BLOCK = _CYCLE * 1600  # bytes xored at once


class BlobStore:
    """A folder of files named by chance."""

    def __init__(self, folder: Path | None) -> None:
        """*folder* None: a temporary one, gone with this object."""
        self._folder = folder

    @property
    def folder(self) -> Path:
        """Where the files are; made at first use."""
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="sandbox-"))
            finalize(self, rmtree, self._folder, ignore_errors=True)
        # Imported files may be real: nobody else may look.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    def path(self, blob: str) -> Path:
        """Return the file of a blob."""
        return self.folder / blob

    def create(self) -> str:
        """Make an empty blob and return its name."""
        name = uuid4().hex
        self.path(name).touch(mode=0o600)
        return name

    def truncate(self, blob: str, size: int) -> None:
        """Keep the first *size* bytes of a blob."""
        with self.path(blob).open("r+b") as file:
            file.truncate(size)

    def append_bytes(self, blob: str, more: bytes) -> int:
        """Put bytes behind a blob and return how many."""
        with self.path(blob).open("ab") as file:
            return file.write(more)

    def delete(self, blob: str) -> None:
        """Remove a blob."""
        if blob:
            self.path(blob).unlink(missing_ok=True)

    async def append(self, blob: str, start: int, chunks: AsyncIterator[bytes]) -> int:
        """
        Write *pieces* from byte *start* on and return how many bytes came.

        What lies behind *start* goes. When *pieces* breaks off, nothing of it stays.
        """
        written = 0
        with self.path(blob).open("r+b") as file:
            file.truncate(start)
            file.seek(start)
            try:
                async for chunk in chunks:
                    file.write(chunk)
                    written += len(chunk)
            except BaseException:
                file.truncate(start)
                raise
        return written

    def read_head(self, blob: str, size: int) -> bytes:
        """Return the first bytes of a blob."""
        with self.path(blob).open("rb") as file:
            return file.read(size)

    async def read_chunks(self, blob: str, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes from *start* up to, not including, *end*."""
        with self.path(blob).open("rb") as file:
            file.seek(start)
            remaining = end - start
            while remaining > 0 and (chunk := file.read(min(CHUNK_SIZE, remaining))):
                remaining -= len(chunk)
                yield chunk

    def quick_hash(self, blob: str) -> str:
        """Return the quickXorHash of a blob."""
        hasher = QuickXorHasher()
        with self.path(blob).open("rb") as file:
            while chunk := file.read(CHUNK_SIZE):
                hasher.update(chunk)
        return hasher.text()


class QuickXorHasher:
    """
    The hash that upstream gives for a file.

    Each byte is xored into a ring of 160 bits, eleven bits behind the one before; so bytes that
    lie 160 apart fall on the same bits and can be xored beforehand, a whole block at once.
    """

    def __init__(self) -> None:
        self._blocks = 0  # all whole blocks, xored
        self._size = 0
        self._rest = b""

    def update(self, content: bytes) -> None:
        """Add bytes."""
        self._size += len(content)
        content = self._rest + content
        whole = len(content) - len(content) % _BLOCK
        for start in range(0, whole, _BLOCK):
            self._blocks ^= int.from_bytes(content[start : start + _BLOCK], "little")
        self._rest = content[whole:]

    def text(self) -> str:
        """Return the hash in base64."""
        remainder = self._blocks ^ int.from_bytes(self._rest, "little")
        blocks = remainder.to_bytes(min(self._size, _BLOCK), "little")
        cycle = 0
        for start in range(0, len(blocks), _CYCLE):
            cycle ^= int.from_bytes(blocks[start : start + _CYCLE], "little")
        ring, bits = 0, _WIDTH * 8
        for position, byte in enumerate(cycle.to_bytes(_CYCLE, "little")):
            shifted = byte << (position * 11 % bits)
            ring ^= (shifted & ((1 << bits) - 1)) ^ (shifted >> bits)
        ring ^= self._size << (bits - 64)
        return b64encode(ring.to_bytes(_WIDTH, "little")).decode()


def quick_hash(content: bytes) -> str:
    """Return the quickXorHash of *content*."""
    hasher = QuickXorHasher()
    hasher.update(content)
    return hasher.text()
