"""
Writes a composed message as RFC 5322 bytes.

Headers are encoded here rather than by the standard library, which would decode text that looks
like an encoded word.
"""

import base64
import re
from collections.abc import Iterable
from email import message_from_bytes, policy
from email.message import EmailMessage

from sandbox.mail.mime import Address
from sandbox.provider_b.outlook_mail.compose import ComposedMessage, FileAttachment

_BREAKS = re.compile(r"[\r\n\x00]+")
_TYPE = re.compile(r"^[\w.+-]+/[\w.+-]+$", re.ASCII)
_PLAIN = re.compile(r"^[\x20-\x7e]*$")
_DATE = re.compile(rb"(?im)^date:.*(?:\r?\n[ \t].*)*(?:\r?\n|\Z)")
_WORD_BYTES = 42  # 56 characters of base64: the encoded word stays below 75


def to_bytes(composed: ComposedMessage) -> bytes:
    """Write *composed* as RFC 5322, without the From and Date that `stamp` adds."""
    body = EmailMessage(policy=policy.SMTP)
    body.set_content(
        composed.body.encode("utf-8", "replace"),
        maintype="text",
        subtype="html" if composed.body_type == "html" else "plain",
        cte="base64",
        params={"charset": "utf-8"},
    )
    for file in composed.files:
        _attach(body, file)
    return _head(composed) + body.as_bytes()


def stamp(
    raw: bytes, *, sender: Address, date: str, message_id: str, agent: Address | None = None
) -> bytes:
    """
    Return *raw* ready to send.

    *date* replaces any Date header; From and Message-ID are added where they are missing, and a
    Sender where *agent* sends on behalf of the sender.
    """
    last = re.search(rb"(\r?\n)\r?\n", raw)
    end = last.end(1) if last else len(raw)
    head, rest = raw[:end], raw[end:]
    head = _DATE.sub(b"", head)
    lines = f"Date: {date}\r\n" + (f"Sender: {_person(agent)}\r\n" if agent else "")
    for name, value in (("From", _person(sender)), ("Message-ID", message_id)):
        if not re.search(rb"(?im)^" + name.encode() + rb":", head):
            lines = f"{name}: {value}\r\n{lines}"
    return lines.encode() + head + rest


def _head(composed: ComposedMessage) -> bytes:
    lines = [
        ("From", _person(composed.sender) if composed.sender else ""),
        ("To", _people(composed.to)),
        ("Cc", _people(composed.cc)),
        ("Bcc", _people(composed.bcc)),
        ("Reply-To", _people(composed.reply_to)),
        ("Subject", _encoded(composed.subject)),
        ("Message-ID", composed.message_id),
        ("In-Reply-To", composed.in_reply_to),
        ("References", composed.references.replace(" ", "\r\n ")),
        ("Importance", "" if composed.importance == "normal" else composed.importance),
        *((name, _encoded(value)) for name, value in composed.headers),
    ]
    text = "".join(f"{name}: {value}\r\n" for name, value in lines if value)
    return text.encode("utf-8", "replace")


def _people(people: Iterable[Address]) -> str:
    return ",\r\n ".join(_person(person) for person in people)


def _person(person: Address) -> str:
    if not person.name:
        return person.address
    if _PLAIN.match(person.name) and "=?" not in person.name:
        quoted = re.sub(r'(["\\])', r"\\\1", person.name)
        return f'"{quoted}" <{person.address}>'
    return f"{_encoded(person.name)} <{person.address}>"


def _encoded(text: str) -> str:
    """Return short ASCII text unchanged, and other text as base64 encoded words."""
    if _PLAIN.match(text) and "=?" not in text and len(text) < 900:
        return text
    chunks, chunk = [], b""
    for character in text:
        piece = character.encode("utf-8", "replace")
        if len(chunk) + len(piece) > _WORD_BYTES:
            chunks.append(chunk)
            chunk = b""
        chunk += piece
    chunks.append(chunk)
    return "\r\n ".join(f"=?utf-8?B?{base64.b64encode(part).decode()}?=" for part in chunks)


def _attach(message: EmailMessage, file: FileAttachment) -> None:
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
