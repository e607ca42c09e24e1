"""A mail as its sender's mail program would write it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from html import escape
from zoneinfo import ZoneInfo

from sandbox.world.mail import attachment_files, mime_writer
from sandbox.world.mail.mime_writer import Header, Part
from sandbox.world.people import Person, signature

_CONTENT_TYPES = {
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv",
    "txt": "text/plain",
}
_SEA = ((62, 98, 120), (150, 170, 160), (180, 120, 80), (210, 190, 150))
_ATTRIBUTIONS = {  # reply prefix of the sender's program -> line above a quotation
    "AW:": "Am {date} schrieb {name}:",
    "SV:": "{date} skrev {name}:",
    "RE:": "Le {date}, {name} a écrit :",
    "Re :": "Le {date}, {name} a écrit :",
    "Odp:": "{date} {name} pisze:",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedMail:
    """
    The content of a mail, before it is rendered.

    Attributes:
        to, cc, bcc: (display name, address).
        sent_at: UTC.
        mailbox_address: The address of the mailbox that gets this copy.
        message_id: Without angle brackets.
        references: Message-IDs of the thread so far, oldest first.
        quoted: The mail that is quoted below the text; None for none.
        attachments, inline_files: (kind, file name); see `file_content`.
        parts: Further MIME parts.
        extra_headers: Further headers, after the subject.
    """

    sender: Person
    to: Sequence[tuple[str, str]]
    cc: Sequence[tuple[str, str]] = ()
    bcc: Sequence[tuple[str, str]] = ()
    subject: str
    text: str
    sent_at: datetime
    mailbox_address: str
    message_id: str
    references: Sequence[str] = ()
    quoted: "ComposedMail | None" = None
    attachments: Sequence[tuple[str, str]] = ()
    inline_files: Sequence[tuple[str, str]] = ()
    parts: Sequence[Part] = field(default=())
    extra_headers: Sequence[Header] = ()


def message_id(*seed: object, domain: str) -> str:
    """Return a Message-ID that depends on *seed* alone, without angle brackets."""
    digest = hashlib.sha256("/".join(map(str, seed)).encode()).hexdigest()
    return f"{digest[:12]}.{digest[12:20]}@{domain}"


def render(mail: ComposedMail) -> bytes:
    """Render the mail as raw bytes."""
    attached = [_file(kind, name, mail.subject) for kind, name in mail.attachments]
    extra = [*attached, *mail.parts]
    content = _content(mail)
    if extra:
        boundary = f"=_mixed_{_hash(mail)}"
        content = mime_writer.multipart("mixed", [content, *extra], boundary=boundary)
    return mime_writer.mail(_headers(mail), content)


def paragraphs(text: str) -> str:
    """Return *text* as HTML paragraphs."""
    blocks = text.split("\n\n")
    return "\n".join(f"<p>{escape(block).replace(chr(10), '<br>')}</p>" for block in blocks)


def file_content(kind: str, name: str, topic: str) -> bytes:
    """Return a small file of *kind* ("pdf", "png", "csv" or "txt") about *topic*."""
    number = int(hashlib.sha256(name.encode()).hexdigest()[:6], 16)
    stem = name.rsplit(".", 1)[0]
    if kind == "pdf":
        return attachment_files.pdf(
            (stem, "", topic, "", f"Harbourlight, sheet 1 of 1, no. {number % 9000}")
        )
    if kind == "png":
        return attachment_files.png(48 + number % 64, 32 + number % 48, _SEA[number % 4])
    if kind == "csv":
        rows = [(stem, row, (number >> row) % 97 / 4) for row in range(1, 15)]
        return attachment_files.csv([("item", "no", "value"), *rows])
    return f"{stem}\r\n\r\n{topic}\r\n".encode()


def _file(kind: str, name: str, topic: str) -> Part:
    naming = "plain" if name.isascii() else "rfc2231"
    return mime_writer.file(
        name, _CONTENT_TYPES[kind], file_content(kind, name, topic), naming=naming
    )


def _content(mail: ComposedMail) -> Part:
    person = mail.sender
    plain = f"{mail.text}\n\n-- \n{signature(person)}\n"
    if mail.quoted is not None:
        plain = f"{mail.text}\n\n{_quotation(mail)}\n-- \n{signature(person)}\n"
    body = _text(mail, plain, "plain")
    if person.style == "plain" and not mail.inline_files:
        return body
    pictures = list(mail.inline_files)
    if person.style == "html-logo":
        pictures.append(("png", "logo.png"))
    shown = mime_writer.text(
        _html(mail, pictures),
        subtype="html",
        charset=person.charset,
        transfer="base64" if person.transfer == "base64" else "quoted-printable",
    )
    if pictures:
        shown = _related(mail, shown, pictures)
    if person.style == "html-only":
        return shown
    return mime_writer.multipart("alternative", [body, shown], boundary=f"=_alt_{_hash(mail)}")


def _text(mail: ComposedMail, content: str, subtype: str) -> Part:
    person = mail.sender
    transfer = person.transfer
    if transfer in {"7bit", "8bit"}:
        content = mime_writer.wrap(content)
    if transfer == "7bit" and not content.isascii() and person.charset == "utf-8":
        transfer = "8bit"
    return mime_writer.text(content, subtype=subtype, charset=person.charset, transfer=transfer)


def _related(mail: ComposedMail, shown: Part, pictures: Sequence[tuple[str, str]]) -> Part:
    inlined = [
        mime_writer.file(
            name,
            _CONTENT_TYPES[kind],
            file_content(kind, name, mail.subject),
            disposition="inline",
            cid=_cid(mail, name),
        )
        for kind, name in pictures
    ]
    boundary = f"=_rel_{_hash(mail)}"
    params = ';\r\n type="text/html"'
    return mime_writer.multipart("related", [shown, *inlined], boundary=boundary, params=params)


def _html(mail: ComposedMail, pictures: Sequence[tuple[str, str]]) -> str:
    body = paragraphs(mail.text)
    quoted = mail.quoted
    if quoted is not None:
        line, inner = escape(_attribution(mail, quoted)), paragraphs(quoted.text)
        body += f"\n<p>{line}</p>\n<blockquote>{inner}</blockquote>"
    signed = escape(signature(mail.sender)).replace("\n", "<br>")
    shown = "".join(
        f'\n<p><img src="cid:{_cid(mail, name)}" alt="{escape(name)}"></p>' for _, name in pictures
    )
    return (
        '<html><head><meta charset="utf-8"></head>\n<body style="font-family: sans-serif">\n'
        f"{body}\n<p>--<br>{signed}</p>{shown}\n</body></html>\n"
    )


def _quotation(mail: ComposedMail) -> str:
    quoted = mail.quoted
    if quoted is None:
        return ""
    lines = "\n".join(f"> {line}".rstrip() for line in quoted.text.split("\n"))
    return f"{_attribution(mail, quoted)}\n{lines}\n"


def _attribution(mail: ComposedMail, quoted: ComposedMail) -> str:
    local = quoted.sent_at.astimezone(ZoneInfo(mail.sender.zone))
    line = _ATTRIBUTIONS.get(mail.sender.prefix, "On {date}, {name} wrote:")
    return line.format(date=f"{local:%Y-%m-%d %H:%M}", name=quoted.sender.name)


def _headers(mail: ComposedMail) -> list[Header]:
    person = mail.sender
    own = person.email == mail.mailbox_address
    local = mail.sent_at.astimezone(ZoneInfo(person.zone))
    headers: list[Header] = [] if own else list(_trace_headers(mail))
    headers += [
        ("Date", format_datetime(local)),
        ("From", _address(mail, person.name, person.email)),
    ]
    for name, receivers in (("To", mail.to), ("Cc", mail.cc), ("Bcc", mail.bcc)):
        if receivers:
            shown = (_address(mail, *receiver) for receiver in receivers)
            headers.append((name, mime_writer.mailboxes(shown)))
    headers.append(("Message-ID", f"<{mail.message_id}>"))
    if mail.references:
        headers.append(("In-Reply-To", f"<{mail.references[-1]}>"))
        listed = "\r\n ".join(f"<{reference}>" for reference in mail.references)
        headers.append(("References", listed))
    headers.append(("Subject", mime_writer.words(mail.subject, **_encoding(person))))
    headers += mail.extra_headers
    return headers


def _trace_headers(mail: ComposedMail) -> tuple[Header, ...]:
    """Return the trace headers of a received mail, newest first."""
    domain = mail.sender.email.rpartition("@")[2]
    home = mail.mailbox_address.rpartition("@")[2]
    stamp = format_datetime(mail.sent_at)
    queue = hashlib.sha256(mail.message_id.encode()).hexdigest()[:11].upper()
    return (
        ("Return-Path", f"<{mail.sender.email}>"),
        ("Delivered-To", mail.mailbox_address),
        (
            "Received",
            (
                f"from mail.{domain} (mail.{domain} [192.0.2.{len(domain)}])\r\n"
                f"\tby mx.{home} (Postfix) with ESMTPS id {queue}\r\n"
                f"\tfor <{mail.mailbox_address}>; {stamp}"
            ),
        ),
    )


def _address(mail: ComposedMail, name: str, address: str) -> str:
    return mime_writer.mailbox(name, address, **_encoding(mail.sender))


def _encoding(person: Person) -> dict[str, str]:
    latin = person.charset.startswith(("iso-8859", "windows-125"))
    return {"charset": person.charset, "form": "Q" if latin else "B"}


def _cid(mail: ComposedMail, name: str) -> str:
    return f"{_hash(mail)[:10]}.{len(name)}@{mail.sender.email.rpartition('@')[2]}"


def _hash(mail: ComposedMail) -> str:
    return hashlib.sha256(mail.message_id.encode()).hexdigest()[:20]
