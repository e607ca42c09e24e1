"""The bytes of uploads: a stream of the REST layer, or base64 in the variables of a document."""

import base64
import binascii
import hashlib
from collections.abc import AsyncIterator
from typing import NewType, Protocol, cast

import msgspec
import strawberry
from graphql import GraphQLError

from providers.write_previews import Change, current_preview

MAX_INLINE = 4 * 1024 * 1024  # bytes of a file in a document; docs/spec/limits.md#sizes

FileContent = NewType("FileContent", object)


class UploadBody(Protocol):
    """
    The bytes of an upload, streamed once.

    Attributes:
        size: In bytes; None when it is not known beforehand.
        read_error: Why the stream ended early; None otherwise.
    """

    @property
    def size(self) -> int | None: ...
    @property
    def mime_type(self) -> str | None: ...
    @property
    def read_error(self) -> Exception | None: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes; raises `read_error`."""


class InlineBody(msgspec.Struct, frozen=True):
    """A small file whose bytes are in the variables."""

    content: bytes
    mime_type: str | None = None
    read_error: Exception | None = None

    @property
    def size(self) -> int | None:
        return len(self.content)

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.content


async def described_chunks(body: UploadBody) -> AsyncIterator[bytes]:
    """Yield the bytes of *body*; when all have come, a preview has their size and their digest."""
    preview, size, digest = current_preview(), 0, hashlib.sha256()
    async for chunk in body.chunks():
        if preview is not None:
            size += len(chunk)
            digest.update(chunk)
        yield chunk
    if preview is not None:
        preview.changes += (Change(field="size", before=None, after=size),)
        preview.basis += (digest.hexdigest(),)


def read_content(value: object) -> UploadBody:
    """Accept an upload of the REST layer as it is, and decode a text as base64."""
    if callable(getattr(value, "chunks", None)):
        return cast("UploadBody", value)
    if isinstance(value, str) and len(value) <= MAX_INLINE * 4 // 3 + 4:
        try:
            content = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            content = None
        if content is not None and len(content) <= MAX_INLINE:
            return InlineBody(content)
    raise GraphQLError("A FileContent is base64 of at most 4 MiB.")


FILE_CONTENT = strawberry.scalar(
    name="FileContent",
    description=(
        "The bytes of a file in base64. A GraphQL request has at most 64 KiB, so upload larger "
        "files over REST."
    ),
    specified_by_url="https://www.rfc-editor.org/rfc/rfc4648#section-4",
    serialize=lambda value: value,
    parse_value=read_content,
)
