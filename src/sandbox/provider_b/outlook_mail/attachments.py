"""Attachment resources. See docs/spec/upstream/outlook-mail.md#attachments."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.mail.mime import Part
from sandbox.mail.store import StoredMail
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.outlook_mail.compose import FILE, ITEM
from sandbox.provider_b.outlook_mail.messages import MessageView, utc

# Members of the base type; those of files are selected by a type cast.
SHAPE = Shape(
    name="microsoft.graph.attachment",
    members={
        "id": Kind.STRING,
        "lastModifiedDateTime": Kind.INSTANT,
        "name": Kind.STRING,
        "contentType": Kind.STRING,
        "size": Kind.NUMBER,
        "isInline": Kind.BOOLEAN,
    },
    exact=frozenset(("id",)),
)
_CAST = "microsoft.graph.fileAttachment/"


def attachment_records(
    view: MessageView, options: Options, *, immutable: bool
) -> list[dict[str, Any]]:
    """Return the attachments of a message by the query options."""
    records = [
        attachment_record(view.mail, part, options, immutable=immutable)
        for part in view.content.attachments
    ]
    return list(
        query_options.cut_page(query_options.filter_and_sort(records, options), options, top=None)
    )


def find_attachment(view: MessageView, attachment_id: str) -> Part | None:
    """Return an attachment by its plain or immutable id; None when it is unknown."""
    for part in view.content.attachments:
        if attachment_id in (_id(view.mail.id, part), _id(view.mail.immutable_id, part)):
            return part
    return None


def attachment_record(
    mail: StoredMail, part: Part, options: Options, *, immutable: bool
) -> dict[str, Any]:
    """Write an attachment, with its content unless `$select` leaves it out."""
    select = options.select
    whole = dict(_members(mail, part, immutable=immutable, content=_wants_content(select)))
    if not select:
        return whole
    return query_options.select_members(whole, select)


def _wants_content(select: tuple[str, ...]) -> bool:
    return not select or f"{_CAST}contentBytes" in select


def _members(
    mail: StoredMail, part: Part, *, immutable: bool, content: bool
) -> Iterator[tuple[str, Any]]:
    is_message = part.content_type == "message/rfc822"
    yield "@odata.type", ITEM if is_message else FILE
    if not is_message:
        yield "@odata.mediaContentType", part.content_type
    yield "id", _id(mail.immutable_id if immutable else mail.id, part)
    yield "lastModifiedDateTime", utc(mail.received_ms)
    yield "name", _name(part, is_message=is_message)
    yield "contentType", part.content_type
    yield "size", len(part.data)
    yield "isInline", part.is_inline
    if not is_message:
        yield "contentId", part.content_id or None
        yield "contentLocation", part.header("Content-Location")
        if content:
            yield "contentBytes", b64encode(part.data).decode()


def _id(mail_id: str, part: Part) -> str:
    place = urlsafe_b64encode(f"part/{part.path}".encode()).decode().rstrip("=")
    return f"{mail_id.rstrip('=')}BEgAQA{place}="


def _name(part: Part, *, is_message: bool) -> str:
    if part.filename:
        return part.filename
    if is_message and part.parts:
        return part.parts[0].header("Subject") or "message"
    kinds: Mapping[str, str] = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif"}
    return f"attachment.{kinds.get(part.content_type, 'bin')}"
