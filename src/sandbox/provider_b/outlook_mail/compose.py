"""
A message before it is written: from JSON, from a stored draft, or from both.

See docs/spec/upstream/outlook-mail.md#send.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox.mail.mime import Address, Part
from sandbox.provider_b.outlook_mail.content import Content
from sandbox.provider_b.outlook_mail.messages import MEMBERS
from sandbox.provider_b.responses import GraphError

_BREAKS = re.compile(r"[\r\n\x00]+")

FILE = "#microsoft.graph.fileAttachment"
ITEM = "#microsoft.graph.itemAttachment"
_READ_ONLY = frozenset(
    (
        "id",
        "bodyPreview",
        "changeKey",
        "conversationId",
        "conversationIndex",
        "createdDateTime",
        "hasAttachments",
        "isDraft",
        "lastModifiedDateTime",
        "parentFolderId",
        "receivedDateTime",
        "sentDateTime",
        "uniqueBody",
        "webLink",
    )
)
_RECIPIENT_MEMBERS = {
    "toRecipients": "to",
    "ccRecipients": "cc",
    "bccRecipients": "bcc",
    "replyTo": "reply_to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAttachment:
    """A file attachment; *content_id* has no angle brackets."""

    name: str
    content_type: str
    data: bytes
    inline: bool = False
    content_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedMessage:
    """
    A message before it is written.

    Attributes:
        body_type: "html" or "text".
        message_id, in_reply_to, references: With angle brackets; may be empty.
        headers: Further headers from the client.
        sender: The sender that the client named; None for the account.
    """

    subject: str = ""
    body: str = ""
    body_type: str = "html"
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    importance: str = "normal"
    message_id: str = ""
    in_reply_to: str = ""
    references: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    files: tuple[FileAttachment, ...] = ()
    sender: Address | None = None

    @property
    def everyone(self) -> tuple[Address, ...]:
        return (*self.to, *self.cc, *self.bcc)


def from_content(content: Content) -> ComposedMessage:
    """Compose a message from a stored draft."""
    tree = content.tree
    return ComposedMessage(
        subject=tree.header("Subject") or "",
        body=content.html if content.is_html else content.text,
        body_type="html" if content.is_html else "text",
        to=content.people("To"),
        cc=content.people("Cc"),
        bcc=content.people("Bcc"),
        reply_to=content.people("Reply-To"),
        importance=content.importance,
        message_id=tree.header("Message-ID") or "",
        in_reply_to=tree.header("In-Reply-To") or "",
        references=tree.header("References") or "",
        headers=tuple(
            (header.name, header.text)
            for header in tree.headers
            if header.name.lower().startswith("x-")
        ),
        files=tuple(from_part(part) for part in content.attachments),
    )


def from_part(part: Part) -> FileAttachment:
    """Copy an attachment of a stored message."""
    return FileAttachment(
        name=part.filename,
        content_type=part.content_type,
        data=part.data,
        inline=part.is_inline,
        content_id=part.content_id,
    )


def apply_members(composed: ComposedMessage, message: Mapping[str, Any]) -> ComposedMessage:
    """
    Apply the members of a JSON `message` to *composed*; read-only members are ignored.

    Raises:
        GraphError: RequestBodyRead, a member is unknown or has the wrong type.
    """
    for name, value in message.items():
        if "@" in name or name in _READ_ONLY:
            continue
        if name not in MEMBERS and name not in ("attachments", "extensions"):
            raise GraphError(
                400,
                "RequestBodyRead",
                f"The property '{name}' does not exist on type 'microsoft.graph.message'. Make "
                "sure to only use property names that are defined by the type.",
            )
        composed = _apply_member(composed, name, value)
    return composed


def read_attachment(value: Any) -> FileAttachment:
    """
    Read a JSON attachment.

    Raises:
        GraphError: It is no file attachment with a name and base64 content.
    """
    if not isinstance(value, dict) or value.get("@odata.type", FILE) != FILE:
        raise _unreadable("attachments")
    name, content = value.get("name"), value.get("contentBytes", "")
    if not isinstance(name, str) or not name or not isinstance(content, str):
        raise GraphError(400, "ErrorRequiredPropertyMissing", "Required property is missing.")
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise GraphError(
            400, "RequestBodyRead", "Cannot convert the literal to the expected type 'Edm.Binary'."
        ) from None
    return FileAttachment(
        name=name,
        content_type=str(value.get("contentType") or "application/octet-stream"),
        data=data,
        inline=value.get("isInline") is True,
        content_id=str(value.get("contentId") or ""),
    )


def read_recipients(values: Any) -> tuple[Address, ...]:
    """
    Read a JSON collection of recipients.

    Raises:
        GraphError: The value is no list of recipients.
    """
    if not isinstance(values, list):
        raise _unreadable("recipients")
    return tuple(read_recipient(value) for value in values)


def read_recipient(value: Any) -> Address:
    """
    Read a JSON recipient.

    Raises:
        GraphError: The value is no recipient.
    """
    inner = value.get("emailAddress") if isinstance(value, dict) else None
    if not isinstance(inner, dict) or set(inner) - {"address", "name", "@odata.type"}:
        raise _unreadable("emailAddress")
    address, name = inner.get("address") or "", inner.get("name") or ""
    if not isinstance(address, str) or not isinstance(name, str):
        raise _unreadable("emailAddress")
    return Address(_BREAKS.sub(" ", name), _BREAKS.sub("", address).strip())


def read_body(value: Any) -> tuple[str, str]:
    """
    Read a JSON body as (type, content); the type is "html" or "text".

    Raises:
        GraphError: The value is no body.
    """
    kind = value.get("contentType", "text") if isinstance(value, dict) else None
    content = value.get("content", "") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind.lower() not in ("html", "text"):
        raise _unreadable("body")
    if content is not None and not isinstance(content, str):
        raise _unreadable("body")
    return kind.lower(), content or ""


def _apply_member(composed: ComposedMessage, name: str, value: Any) -> ComposedMessage:
    if name in _RECIPIENT_MEMBERS:
        recipients: dict[str, Any] = {_RECIPIENT_MEMBERS[name]: read_recipients(value or [])}
        return replace(composed, **recipients)
    if name == "body":
        kind, content = read_body(value)
        return replace(composed, body_type=kind, body=content)
    if name == "importance":
        return replace(composed, importance=_importance(value))
    if name in ("subject", "internetMessageId"):
        if value is not None and not isinstance(value, str):
            raise _unreadable(name)
        text = _BREAKS.sub(" ", value or "")
        if name == "subject":
            return replace(composed, subject=text)
        return replace(composed, message_id=text)
    if name in ("from", "sender") and value is not None:
        return replace(composed, sender=read_recipient(value))
    if name == "attachments":
        return replace(composed, files=tuple(read_attachment(item) for item in value or []))
    if name == "internetMessageHeaders":
        return replace(composed, headers=tuple(_read_header(item) for item in value or []))
    return composed


def _importance(value: Any) -> str:
    word = value.lower() if isinstance(value, str) else ""
    if word not in ("low", "normal", "high"):
        raise GraphError(
            400,
            "RequestBodyRead",
            f"Cannot convert the literal '{value}' to the expected type "
            "'microsoft.graph.importance'.",
        )
    return word


def _read_header(value: Any) -> tuple[str, str]:
    name = value.get("name") if isinstance(value, dict) else None
    text = value.get("value") if isinstance(value, dict) else None
    if not isinstance(name, str) or not isinstance(text, str):
        raise _unreadable("internetMessageHeaders")
    if not re.fullmatch(r"(?i)x-[\w-]+", name, re.ASCII):
        raise GraphError(
            400,
            "InvalidInternetMessageHeader",
            f"The internet message header name '{name}' should start with 'x-' or 'X-'.",
        )
    return name, _BREAKS.sub(" ", text)


def _unreadable(name: str) -> GraphError:
    return GraphError(
        400,
        "RequestBodyRead",
        f"When trying to read the value of '{name}', a node of the wrong kind was found.",
    )
