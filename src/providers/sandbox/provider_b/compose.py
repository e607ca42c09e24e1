"""
A message in the making: read from JSON or from a stored draft, written as RFC 5322.

Headers are encoded here rather than by the standard library, so that text that looks like an
encoded word stays that text. Source: wire report 1A.5 to 1A.7.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from providers.sandbox.mime import Address, Part
from providers.sandbox.provider_b.answers import Refusal
from providers.sandbox.provider_b.messages import MEMBERS, Content

_BREAKS = re.compile(r"[\r\n\x00]+")
_TYPE = re.compile(r"^[\w.+-]+/[\w.+-]+$", re.ASCII)
_PLAIN = re.compile(r"^[\x20-\x7e]*$")
_WORD_BYTES = 42  # 56 characters of base64: with its frame an encoded word stays below 75

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
_PEOPLE = {
    "toRecipients": "to",
    "ccRecipients": "cc",
    "bccRecipients": "bcc",
    "replyTo": "reply_to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """An attachment; *content_id* without angle brackets."""

    name: str
    content_type: str
    data: bytes
    inline: bool = False
    content_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """
    A message before it is written down.

    Attributes:
        body_type: "html" or "text".
        message_id, in_reply_to, references: With angle brackets; may be empty.
        headers: Further headers, as the client gave them.
        sender: Set when the client named one.
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
    files: tuple[File, ...] = ()
    sender: Address | None = None

    @property
    def everyone(self) -> tuple[Address, ...]:
        return (*self.to, *self.cc, *self.bcc)


def of_content(content: Content) -> Letter:
    """Read a stored draft back."""
    tree = content.tree
    html = tree.body("html") is not None
    return Letter(
        subject=tree.header("Subject") or "",
        body=content.html if html else content.text,
        body_type="html" if html else "text",
        to=content.people("To"),
        cc=content.people("Cc"),
        bcc=content.people("Bcc"),
        reply_to=content.people("Reply-To"),
        importance=content.importance,
        message_id=tree.header("Message-ID") or "",
        in_reply_to=tree.header("In-Reply-To") or "",
        references=tree.header("References") or "",
        headers=tuple(
            (one.name, one.text) for one in tree.headers if one.name.lower().startswith("x-")
        ),
        files=tuple(of_part(part) for part in content.attachments),
    )


def of_part(part: Part) -> File:
    """Take an attachment over from a stored message."""
    return File(
        name=part.filename,
        content_type=part.content_type,
        data=part.data,
        inline=part.is_inline,
        content_id=part.content_id,
    )


def changed(letter: Letter, message: Mapping[str, Any]) -> Letter:
    """
    Apply the members of a JSON `message` to *letter*; read-only ones are passed over.

    Raises:
        Refusal: RequestBodyRead, when a member is unknown or of the wrong form.
    """
    for name, value in message.items():
        if "@" in name or name in _READ_ONLY:
            continue
        if name not in MEMBERS and name not in ("attachments", "extensions"):
            raise Refusal(
                400,
                "RequestBodyRead",
                f"The property '{name}' does not exist on type 'microsoft.graph.message'. Make "
                "sure to only use property names that are defined by the type.",
            )
        letter = _applied(letter, name, value)
    return letter


def attachment(value: Any) -> File:
    """
    Read a JSON attachment.

    Raises:
        Refusal: It is not a file with a name and base64 content.
    """
    if not isinstance(value, dict) or value.get("@odata.type", FILE) != FILE:
        raise _unreadable("attachments")
    name, content = value.get("name"), value.get("contentBytes", "")
    if not isinstance(name, str) or not name or not isinstance(content, str):
        raise Refusal(400, "ErrorRequiredPropertyMissing", "Required property is missing.")
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(
            400, "RequestBodyRead", "Cannot convert the literal to the expected type 'Edm.Binary'."
        ) from None
    return File(
        name=name,
        content_type=str(value.get("contentType") or "application/octet-stream"),
        data=data,
        inline=value.get("isInline") is True,
        content_id=str(value.get("contentId") or ""),
    )


def written(letter: Letter) -> bytes:
    """Write *letter* as RFC 5322, without From and Date: those come when it is sent."""
    body = EmailMessage(policy=policy.SMTP)
    body.set_content(
        letter.body.encode("utf-8", "replace"),
        maintype="text",
        subtype="html" if letter.body_type == "html" else "plain",
        cte="base64",
        params={"charset": "utf-8"},
    )
    for file in letter.files:
        _attach(body, file)
    return _head(letter) + body.as_bytes()


def stamped(raw: bytes, *, sender: Address, date: str, message_id: str) -> bytes:
    """Put in front of *raw* what a message needs to leave and does not have yet."""
    end = raw.find(b"\n\r\n" if b"\r\n" in raw[:1000] else b"\n\n")
    head = raw[: end + 1] if end >= 0 else raw
    lines = ""
    for name, value in (
        ("From", _person(sender)),
        ("Date", date),
        ("Message-ID", message_id),
    ):
        if not re.search(rb"(?im)^" + name.encode() + rb":", head):
            lines += f"{name}: {value}\r\n"
    return lines.encode() + raw


def people(values: Any) -> tuple[Address, ...]:
    """
    Read a JSON recipient collection.

    Raises:
        Refusal: It is not one.
    """
    if not isinstance(values, list):
        raise _unreadable("recipients")
    return tuple(person(value) for value in values)


def person(value: Any) -> Address:
    """
    Read a JSON recipient.

    Raises:
        Refusal: It is not one.
    """
    inner = value.get("emailAddress") if isinstance(value, dict) else None
    if not isinstance(inner, dict) or set(inner) - {"address", "name", "@odata.type"}:
        raise _unreadable("emailAddress")
    address, name = inner.get("address") or "", inner.get("name") or ""
    if not isinstance(address, str) or not isinstance(name, str):
        raise _unreadable("emailAddress")
    return Address(_BREAKS.sub(" ", name), _BREAKS.sub("", address).strip())


def body_of(value: Any) -> tuple[str, str]:
    """
    Read a JSON body as (type, content).

    Raises:
        Refusal: It is not one.
    """
    kind = value.get("contentType", "text") if isinstance(value, dict) else None
    content = value.get("content", "") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind.lower() not in ("html", "text"):
        raise _unreadable("body")
    if content is not None and not isinstance(content, str):
        raise _unreadable("body")
    return kind.lower(), content or ""


def _applied(letter: Letter, name: str, value: Any) -> Letter:
    if name in _PEOPLE:
        found: dict[str, Any] = {_PEOPLE[name]: people(value or [])}
        return replace(letter, **found)
    if name == "body":
        kind, content = body_of(value)
        return replace(letter, body_type=kind, body=content)
    if name == "importance":
        return replace(letter, importance=_importance(value))
    if name in ("subject", "internetMessageId"):
        if value is not None and not isinstance(value, str):
            raise _unreadable(name)
        text = _BREAKS.sub(" ", value or "")
        if name == "subject":
            return replace(letter, subject=text)
        return replace(letter, message_id=text)
    if name in ("from", "sender") and value is not None:
        return replace(letter, sender=person(value))
    if name == "attachments":
        return replace(letter, files=tuple(attachment(one) for one in value or []))
    if name == "internetMessageHeaders":
        return replace(letter, headers=tuple(_own_header(one) for one in value or []))
    return letter


def _importance(value: Any) -> str:
    word = value.lower() if isinstance(value, str) else ""
    if word not in ("low", "normal", "high"):
        raise Refusal(
            400,
            "RequestBodyRead",
            f"Cannot convert the literal '{value}' to the expected type "
            "'microsoft.graph.importance'.",
        )
    return word


def _own_header(value: Any) -> tuple[str, str]:
    name = value.get("name") if isinstance(value, dict) else None
    text = value.get("value") if isinstance(value, dict) else None
    if not isinstance(name, str) or not isinstance(text, str):
        raise _unreadable("internetMessageHeaders")
    if not re.fullmatch(r"(?i)x-[\w-]+", name, re.ASCII):
        raise Refusal(
            400,
            "InvalidInternetMessageHeader",
            f"The internet message header name '{name}' should start with 'x-' or 'X-'.",
        )
    return name, _BREAKS.sub(" ", text)


def _unreadable(name: str) -> Refusal:
    return Refusal(
        400,
        "RequestBodyRead",
        f"When trying to read the value of '{name}', a node of the wrong kind was found.",
    )


def _head(letter: Letter) -> bytes:
    lines = [
        ("From", _person(letter.sender) if letter.sender else ""),
        ("To", _people(letter.to)),
        ("Cc", _people(letter.cc)),
        ("Bcc", _people(letter.bcc)),
        ("Reply-To", _people(letter.reply_to)),
        ("Subject", _encoded(letter.subject)),
        ("Message-ID", letter.message_id),
        ("In-Reply-To", letter.in_reply_to),
        ("References", letter.references.replace(" ", "\r\n ")),
        ("Importance", "" if letter.importance == "normal" else letter.importance),
        *((name, _encoded(value)) for name, value in letter.headers),
    ]
    text = "".join(f"{name}: {value}\r\n" for name, value in lines if value)
    return text.encode("utf-8", "replace")


def _people(found: Iterable[Address]) -> str:
    return ",\r\n ".join(_person(one) for one in found)


def _person(person: Address) -> str:
    if not person.name:
        return person.address
    if _PLAIN.match(person.name) and "=?" not in person.name:
        quoted = re.sub(r'(["\\])', r"\\\1", person.name)
        return f'"{quoted}" <{person.address}>'
    return f"{_encoded(person.name)} <{person.address}>"


def _encoded(text: str) -> str:
    """Leave plain text alone and write anything else as base64 encoded words."""
    if _PLAIN.match(text) and "=?" not in text and len(text) < 900:
        return text
    chunks, chunk = [], b""
    for letter in text:
        piece = letter.encode("utf-8", "replace")
        if len(chunk) + len(piece) > _WORD_BYTES:
            chunks.append(chunk)
            chunk = b""
        chunk += piece
    chunks.append(chunk)
    return "\r\n ".join(f"=?utf-8?B?{base64.b64encode(part).decode()}?=" for part in chunks)


def _attach(message: EmailMessage, file: File) -> None:
    where = "inline" if file.inline else "attachment"
    name = _BREAKS.sub(" ", file.name)
    cid = f"<{_BREAKS.sub('', file.content_id)}>" if file.content_id else None
    if file.content_type == "message/rfc822":
        inner = message_from_bytes(file.data, policy=policy.SMTP)
        message.add_attachment(inner, disposition=where, filename=name or None, cid=cid)
        return
    kind = file.content_type if _TYPE.match(file.content_type) else "application/octet-stream"
    main, _, sub = kind.partition("/")
    if main in ("message", "multipart"):
        main, sub = "application", "octet-stream"
    message.add_attachment(
        file.data, maintype=main, subtype=sub, disposition=where, filename=name or None, cid=cid
    )
