"""Uploaded bytes, in files beside the database and never whole in memory; quickXorHash."""

from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from uuid import uuid4
from weakref import finalize

CHUNK_SIZE = 256 * 1024  # bytes per read
_WIDTH = 20  # bytes of the hash
_CYCLE = 160  # after this many bytes the hash's shifts repeat
_BLOCK = _CYCLE * 1600  # bytes xored at once


class BlobStore:
    """A folder of files with random names."""

    def __init__(self, folder: Path | None) -> None:
        """Use *folder*; None for a temporary folder that is removed with this object."""
        self._folder = folder

    @property
    def folder(self) -> Path:
        """The folder of the blobs; created at first use."""
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="sandbox-"))
            finalize(self, rmtree, self._folder, ignore_errors=True)
        # Imported files may be real: only the owner may read them.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    def path(self, blob: str) -> Path:
        """Return the path of a blob."""
        return self.folder / blob

    def create(self) -> str:
        """Create an empty blob and return its name."""
        name = uuid4().hex
        self.path(name).touch(mode=0o600)
        return name

    def truncate(self, blob: str, size: int) -> None:
        """Truncate a blob to its first *size* bytes."""
        with self.path(blob).open("r+b") as file:
            file.truncate(size)

    def append_bytes(self, blob: str, more: bytes) -> int:
        """Append bytes to a blob and return their number."""
        with self.path(blob).open("ab") as file:
            return file.write(more)

    def delete(self, blob: str) -> None:
        """Delete a blob; "" is ignored."""
        if blob:
            self.path(blob).unlink(missing_ok=True)

    async def append(self, blob: str, start: int, chunks: AsyncIterator[bytes]) -> int:
        """
        Write *chunks* at byte *start*, replacing the rest, and return the number of bytes written.

        When *chunks* fails, the blob is truncated to *start*.
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
        """Yield the bytes from *start* to *end* (exclusive)."""
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
    Incremental quickXorHash, the file hash of upstream.

    Each byte is xored into a ring of 160 bits, eleven bits after the previous one. Bytes that are
    160 apart fall on the same bits, so whole blocks are xored first.
    """

    def __init__(self) -> None:
        self._blocks = 0  # xor of all whole blocks
        self._size = 0
        self._rest = b""

    def update(self, content: bytes) -> None:
        """Add bytes to the hash."""
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
