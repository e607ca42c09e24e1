"""
Contents of files: the bytes of uploads, and readable text.

Bytes are a stream of the REST layer, or base64 in the variables of a document.
"""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, NewType, Protocol, cast

import msgspec
import strawberry
from graphql import GraphQLError

from graph.output_types import output, visible
from policy.refusals import Conflict, InvalidInput
from policy.vocabulary import Code
from providers.failures import TimedOut
from providers.ports.collab import OpenContent
from providers.readable_text import files
from providers.records.base import Record
from providers.write_previews import Change, current_preview

MAX_INLINE = 4 * 1024 * 1024  # bytes of a file in a document; docs/spec/limits.md#sizes
DOWNLOAD_SECONDS = 30.0  # of the bytes; docs/spec/limits.md#sizes

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


@output
class FileText(Record, frozen=True, kw_only=True):
    """The readable text of a file."""

    content: Annotated[str, visible("Without layout; the cells of a row are parted.")]
    is_cut: Annotated[bool, visible("Whether there is more that was not read.")]


def require_text(name: str, media_type: str | None) -> str:
    """
    Return the kind of a file whose text can be read.

    Raises:
        InvalidInput: 415: the gateway reads no text of such files.
    """
    try:
        return files.kind_of(name, media_type)
    except files.NoText as problem:
        raise _no_text(problem) from problem


async def read_text(
    kind: str, media_type: str | None, open_file: OpenContent, *, size: int | None
) -> FileText:
    """
    Read a file and return its text.

    Args:
        kind: As `require_text` returned it.
        media_type: As its owner declared it.
        open_file: Requests the bytes.
        size: Bytes; None if it is not known. A file that is too large is not requested.

    Raises:
        InvalidInput: 415: it is damaged or encrypted, or there is no reader of its kind here.
        Conflict: 413: it, or the work to read it, is too large.
        ProviderFailure: The bytes did not come.
    """
    too_large = Conflict(
        "The file is too large, or takes too long, for its text to be read.",
        code=Code.PAYLOAD_TOO_LARGE,
    )
    if size is not None and size > files.MAX_FILE:
        raise too_large
    try:
        async with asyncio.timeout(DOWNLOAD_SECONDS), open_file() as opened:
            text = await files.text_of_file(kind, media_type, opened.chunks)
    except files.NoText as problem:
        raise _no_text(problem) from problem
    except files.TooLargeForText as problem:
        raise too_large from problem
    except TimeoutError as late:
        raise TimedOut from late
    return FileText(content=text.content, is_cut=text.is_cut)


def _no_text(problem: files.NoText) -> InvalidInput:
    return InvalidInput(problem.reason, code=Code.UNSUPPORTED_MEDIA_TYPE)
