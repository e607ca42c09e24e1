"""
The bytes of attachments: docs/spec/upstream/gmail.md#attachments.

Gmail returns them as one base64url text inside JSON. It is decoded as it arrives, so that memory
holds a chunk and never the whole attachment.
"""

import binascii
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from providers.connectors.provider_a.batch import MESSAGES
from providers.connectors.provider_a.gmail import mapping, requested_fields
from providers.connectors.provider_a.gmail.reading import MessageReader, decode_message
from providers.connectors.provider_a.gmail.response_types import Part
from providers.failures import Broken, Missing
from providers.http.client import Upstream
from providers.ports.mail import AttachmentContent, AttachmentFile

_STRUCTURE = frozenset({"attachments"})
_WITH_BYTES = frozenset({"attachments", "body"})
_OPENING = re.compile(rb'"data"\s*:\s*"')
_MAX_OPENING = 1024  # bytes before the text: `fields` asks for nothing else
_STANDARD = bytes.maketrans(b"-_", b"+/")
_PADDING = (b"=", rb"\u003d", rb"\u003D")  # Google may escape it
_HELD_BACK = 16  # characters that may be padding, which is removed at the end


async def find(
    upstream: Upstream, reader: MessageReader, message_id: str, attachment_id: str
) -> AttachmentFile:
    """
    Find an attachment by its id, which names its message.

    Raises:
        Missing: There is no such message, or it has no such attachment.
    """
    owner, _, part_id = attachment_id.partition(".")
    if owner != message_id or not part_id:
        raise Missing
    part = await _part(upstream, reader, message_id, part_id, with_bytes=False)

    @asynccontextmanager
    async def opened() -> AsyncIterator[AttachmentContent]:
        if part.body.attachment_id is None:  # its bytes come with the message
            whole = await _part(upstream, reader, message_id, part_id, with_bytes=True)
            if whole.body.data is None and whole.body.size:
                raise Broken  # such as an attached message that came as its parts alone
            content = mapping.decode_base64url(whole.body.data)
            yield AttachmentContent(len(content), _single(content))
            return
        async with upstream.stream(
            "GET",
            *MESSAGES,
            message_id,
            "attachments",
            part.body.attachment_id,
            params=(("fields", "data"),),
        ) as response:
            yield AttachmentContent(part.body.size, decode_data(response.chunks))

    return AttachmentFile(mapping.attachment(message_id, part), opened)


async def _part(
    upstream: Upstream, reader: MessageReader, message_id: str, part_id: str, *, with_bytes: bool
) -> Part:
    params = requested_fields.message(_WITH_BYTES if with_bytes else _STRUCTURE)
    response = await upstream.call("GET", *MESSAGES, message_id, params=params)
    for file in await reader.files(decode_message(response)):
        if (file.part_id or "0") == part_id:
            return file
    raise Missing


async def _single(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content


async def decode_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """
    Decode the base64url text of `{"data": "…"}` as it arrives; without the member nothing.

    Raises:
        Broken: The text is not base64url, or ends too early.
    """
    text = await _read_opening(chunks)
    if text is None:
        return
    while (end := text.find(b'"')) < 0:
        usable = len(text) - len(text) % 4 - _HELD_BACK
        if usable > 0:
            yield _decode(text[:usable])
            text = text[usable:]
        chunk = await anext(chunks, None)
        if chunk is None:
            raise Broken
        text += chunk
    text = text[:end]
    for _ in range(2):
        for padding in _PADDING:
            text = text.removesuffix(padding)
    if text:
        yield _decode(text + b"=" * (-len(text) % 4))
    async for _ in chunks:  # the end of the response, so that the connection can be used again
        pass


async def _read_opening(chunks: AsyncIterator[bytes]) -> bytes | None:
    """Read up to the text; return what arrived of it, None when there is none."""
    head = b""
    async for chunk in chunks:
        head += chunk
        opening = _OPENING.search(head, 0, _MAX_OPENING)
        if opening is not None:
            return head[opening.end() :]
        if len(head) >= _MAX_OPENING:
            raise Broken
    return None


def _decode(text: bytes) -> bytes:
    try:
        return binascii.a2b_base64(text.translate(_STANDARD), strict_mode=True)
    except binascii.Error:
        raise Broken from None
