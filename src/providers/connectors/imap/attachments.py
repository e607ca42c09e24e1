"""The bytes of attachments, read piece by piece so that memory holds one piece."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import NamedTuple, Protocol

from providers.connectors.imap import body_structure, reading
from providers.connectors.imap.body_structure import Part
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.failures import Broken, Missing
from providers.imap.parsing import Row
from providers.imap.session import Session
from providers.mail import transfer_encodings

CHUNK_BYTES = 256 * 1024  # of the encoded part, for each command
_EDGE_BYTES = 1000  # of the encoded part, at either end, that tell the size of the content


class AttachmentPart(NamedTuple):
    """An attachment that exists: the message, and the part of it."""

    location: Location
    part: Part


Read = Callable[[Callable[[Session, MessageIds], Awaitable[bytes]]], Awaitable[bytes]]


class _Decoder(Protocol):
    def decode(self, piece: bytes, *, final: bool) -> bytes: ...


async def find(session: Session, location: Location, section: str) -> AttachmentPart:
    """
    Find an attachment of one message by the number of its part.

    Raises:
        Missing: There is no such message, or it has no such attachment.
    """
    items, max_row = "UID BODYSTRUCTURE", reading.MAX_ROW_ALONE
    row = await reading.fetch_message(session, location, items, max_row=max_row)
    for part in body_structure.parse(row.get("BODYSTRUCTURE")).arrangement.files:
        if part.section == section:
            return AttachmentPart(location, part)
    raise Missing


async def content_size(read: Read, attachment: AttachmentPart) -> int | None:
    """
    Return the bytes of the content; None where only decoding all of it would tell.

    The size of base64 follows from its first and last lines.

    Raises:
        ProviderFailure: As `chunks`.
    """
    part = attachment.part
    if part.encoding not in _DECODERS:
        return part.size
    if part.encoding != "base64":
        return None
    first = await read(partial(_piece, attachment, 0, _EDGE_BYTES))
    if part.size <= _EDGE_BYTES:
        return len(transfer_encodings.decode_base64(first))
    start = part.size - _EDGE_BYTES
    last = await read(partial(_piece, attachment, start, _EDGE_BYTES))
    return transfer_encodings.base64_size(first, last, part.size)


async def _piece(
    attachment: AttachmentPart, offset: int, count: int, session: Session, _: MessageIds
) -> bytes:
    location, part = attachment
    await reading.open_folder_of(session, location)
    item = f"BODY.PEEK[{part.section}]<{offset}.{count}>"
    rows = await session.fetch(str(location.uid), f"UID {item}")
    value = rows.get(location.uid, Row()).get(f"BODY[{part.section}]")
    if not isinstance(value, bytes):
        raise Broken
    return value


async def chunks(read: Read, attachment: AttachmentPart) -> AsyncIterator[bytes]:
    """
    Return the decoded bytes from the start.

    Raises:
        Broken: The message is gone meanwhile.
    """
    decoder = _DECODERS.get(attachment.part.encoding, _Identity)()
    offset = 0
    while True:
        piece = await read(partial(_piece, attachment, offset, CHUNK_BYTES))
        offset += len(piece)
        final = len(piece) < CHUNK_BYTES
        decoded = decoder.decode(piece, final=final)
        if decoded:
            yield decoded
        if final:
            return


class _Identity:
    def decode(self, piece: bytes, *, final: bool) -> bytes:
        del final
        return piece


class _QuotedPrintable:
    def __init__(self) -> None:
        self._rest = b""

    def decode(self, piece: bytes, *, final: bool) -> bytes:
        text = self._rest + piece
        end = len(text) if final else text.rfind(b"\n") + 1
        self._rest = text[end:]
        return transfer_encodings.decode_quoted_printable(text[:end])


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "base64": transfer_encodings.Base64Decoder,
    "quoted-printable": _QuotedPrintable,
    **dict.fromkeys(transfer_encodings.UUENCODED, transfer_encodings.UuDecoder),
}
