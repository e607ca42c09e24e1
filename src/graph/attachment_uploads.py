"""Port of files uploaded to be attached: docs/spec/email.md#uploaded-attachments."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """
    A file that was uploaded as a whole.

    Attributes:
        handle: Opaque; valid for the token that uploaded the file, until *expires_at*.
        size: Bytes.
        expires_at: UTC.
        chunks: Returns the bytes from the start, each time it is called. They raise
            `providers.failures.Missing` when the file expires meanwhile.
    """

    handle: str
    name: str
    media_type: str
    size: int
    expires_at: datetime
    chunks: Callable[[], AsyncIterator[bytes]] = field(repr=False)


class UploadsOfToken(Protocol):
    """The uploaded files of one token."""

    async def store(self, name: str, media_type: str, chunks: AsyncIterator[bytes]) -> UploadedFile:
        """
        Store a file as its bytes arrive; nothing of it remains when they break off.

        Raises:
            Conflict: `UPLOAD_LIMIT`: the token has too many files, or too many bytes of them.
            Refusal: `OVERLOADED`: the database did not answer.
        """

    async def require_room(self, size: int) -> None:
        """Raise what `store` would raise for a file of *size* bytes; store nothing."""

    async def find(self, handle: str) -> UploadedFile | None:
        """Return the file with this handle; None when the token has none, or not any more."""

    async def delete(self, handle: str) -> bool:
        """Delete the file with this handle; return False when `find` would return None."""
