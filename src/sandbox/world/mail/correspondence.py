"""Turn what somebody writes into the mail their program would send."""

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

_KINDS = {
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv",
    "txt": "text/plain",
}
_SEA = ((62, 98, 120), (150, 170, 160), (180, 120, 80), (210, 190, 150))
_QUOTED = {  # by the answering program's prefix
    "AW:": "Am {date} schrieb {name}:",
    "SV:": "{date} skrev {name}:",
    "RE:": "Le {date}, {name} a écrit :",
    "Re :": "Le {date}, {name} a écrit :",
    "Odp:": "{date} {name} pisze:",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedMail:
    """
    One mail before it is written down.

    Attributes:
        to, cc, bcc: Display name and address.
        at: When it is sent, UTC.
        account: The address of the mailbox it is written for.
        message_id: Without angle brackets.
        references: Message-IDs of the thread so far, oldest first.
        quoted: The mail answered, quoted below; None quotes nothing.
        extra: Further headers, put after the subject.
    """

    sender: Person
    to: Sequence[tuple[str, str]]
    cc: Sequence[tuple[str, str]] = ()
    bcc: Sequence[tuple[str, str]] = ()
    subject: str
    text: str
    at: datetime
    account: str
    message_id: str
    references: Sequence[str] = ()
    quoted: "ComposedMail | None" = None
    attached: Sequence[tuple[str, str]] = ()
    inline: Sequence[tuple[str, str]] = ()
    parts: Sequence[Part] = field(default=())
    extra: Sequence[Header] = ()


def message_id(*seed: object, domain: str) -> str:
    """Return a Message-ID that only *seed* decides, without angle brackets."""
    digest = hashlib.sha256("/".join(map(str, seed)).encode()).hexdigest()
    return f"{digest[:12]}.{digest[12:20]}@{domain}"


def render(writing: ComposedMail) -> bytes:
    """Return the mail as bytes."""
    attached = [_file(kind, name, writing.subject) for kind, name in writing.attached]
    extra = [*attached, *writing.parts]
    content = _content(writing)
    if extra:
        mark = f"=_mixed_{_mark(writing)}"
        content = mime_writer.multipart("mixed", [content, *extra], boundary=mark)
    return mime_writer.mail(_headers(writing), content)


def paragraphs(text: str) -> str:
    """Return *text* as HTML paragraphs."""
    blocks = text.split("\n\n")
    return "\n".join(f"<p>{escape(block).replace(chr(10), '<br>')}</p>" for block in blocks)


def content_of(kind: str, name: str, topic: str) -> bytes:
    """Return a small file of *kind* ("pdf", "png", "csv", "txt") that speaks of *topic*."""
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
    return mime_writer.file(name, _KINDS[kind], content_of(kind, name, topic), naming=naming)


def _content(writing: ComposedMail) -> Part:
    person = writing.sender
    plain = f"{writing.text}\n\n-- \n{signature(person)}\n"
    if writing.quoted is not None:
        plain = f"{writing.text}\n\n{_quotation(writing)}\n-- \n{signature(person)}\n"
    body = _text(writing, plain, "plain")
    if person.style == "plain" and not writing.inline:
        return body
    pictures = list(writing.inline)
    if person.style == "html-logo":
        pictures.append(("png", "logo.png"))
    shown = mime_writer.text(
        _html(writing, pictures),
        subtype="html",
        charset=person.charset,
        transfer="base64" if person.transfer == "base64" else "quoted-printable",
    )
    if pictures:
        shown = _related(writing, shown, pictures)
    if person.style == "html-only":
        return shown
    return mime_writer.multipart("alternative", [body, shown], boundary=f"=_alt_{_mark(writing)}")


def _text(writing: ComposedMail, content: str, subtype: str) -> Part:
    person = writing.sender
    transfer = person.transfer
    if transfer in {"7bit", "8bit"}:
        content = mime_writer.wrapped(content)
    if transfer == "7bit" and not content.isascii() and person.charset == "utf-8":
        transfer = "8bit"
    return mime_writer.text(content, subtype=subtype, charset=person.charset, transfer=transfer)


def _related(writing: ComposedMail, shown: Part, pictures: Sequence[tuple[str, str]]) -> Part:
    inlined = [
        mime_writer.file(
            name,
            _KINDS[kind],
            content_of(kind, name, writing.subject),
            disposition="inline",
            cid=_cid(writing, name),
        )
        for kind, name in pictures
    ]
    mark = f"=_rel_{_mark(writing)}"
    params = ';\r\n type="text/html"'
    return mime_writer.multipart("related", [shown, *inlined], boundary=mark, params=params)


def _html(writing: ComposedMail, pictures: Sequence[tuple[str, str]]) -> str:
    body = paragraphs(writing.text)
    quoted = writing.quoted
    if quoted is not None:
        line, inner = escape(_attribution(writing, quoted)), paragraphs(quoted.text)
        body += f"\n<p>{line}</p>\n<blockquote>{inner}</blockquote>"
    signed = escape(signature(writing.sender)).replace("\n", "<br>")
    shown = "".join(
        f'\n<p><img src="cid:{_cid(writing, name)}" alt="{escape(name)}"></p>'
        for _, name in pictures
    )
    return (
        '<html><head><meta charset="utf-8"></head>\n<body style="font-family: sans-serif">\n'
        f"{body}\n<p>--<br>{signed}</p>{shown}\n</body></html>\n"
    )


def _quotation(writing: ComposedMail) -> str:
    quoted = writing.quoted
    if quoted is None:
        return ""
    lines = "\n".join(f"> {line}".rstrip() for line in quoted.text.split("\n"))
    return f"{_attribution(writing, quoted)}\n{lines}\n"


def _attribution(writing: ComposedMail, quoted: ComposedMail) -> str:
    local = quoted.at.astimezone(ZoneInfo(writing.sender.zone))
    line = _QUOTED.get(writing.sender.prefix, "On {date}, {name} wrote:")
    return line.format(date=f"{local:%Y-%m-%d %H:%M}", name=quoted.sender.name)


def _headers(writing: ComposedMail) -> list[Header]:
    person = writing.sender
    own = person.email == writing.account
    local = writing.at.astimezone(ZoneInfo(person.zone))
    headers: list[Header] = [] if own else list(_travelled(writing))
    headers += [
        ("Date", format_datetime(local)),
        ("From", _address(writing, person.name, person.email)),
    ]
    for name, receivers in (("To", writing.to), ("Cc", writing.cc), ("Bcc", writing.bcc)):
        if receivers:
            shown = (_address(writing, *receiver) for receiver in receivers)
            headers.append((name, mime_writer.mailboxes(shown)))
    headers.append(("Message-ID", f"<{writing.message_id}>"))
    if writing.references:
        headers.append(("In-Reply-To", f"<{writing.references[-1]}>"))
        listed = "\r\n ".join(f"<{reference}>" for reference in writing.references)
        headers.append(("References", listed))
    headers.append(("Subject", mime_writer.words(writing.subject, **_coding(person))))
    headers += writing.extra
    return headers


def _travelled(writing: ComposedMail) -> tuple[Header, ...]:
    """Trace headers of a mail from outside, newest first."""
    domain = writing.sender.email.rpartition("@")[2]
    home = writing.account.rpartition("@")[2]
    stamp = format_datetime(writing.at)
    queue = hashlib.sha256(writing.message_id.encode()).hexdigest()[:11].upper()
    return (
        ("Return-Path", f"<{writing.sender.email}>"),
        ("Delivered-To", writing.account),
        (
            "Received",
            (
                f"from mail.{domain} (mail.{domain} [192.0.2.{len(domain)}])\r\n"
                f"\tby mx.{home} (Postfix) with ESMTPS id {queue}\r\n"
                f"\tfor <{writing.account}>; {stamp}"
            ),
        ),
    )


def _address(writing: ComposedMail, name: str, address: str) -> str:
    return mime_writer.mailbox(name, address, **_coding(writing.sender))


def _coding(person: Person) -> dict[str, str]:
    latin = person.charset.startswith(("iso-8859", "windows-125"))
    return {"charset": person.charset, "form": "Q" if latin else "B"}


def _cid(writing: ComposedMail, name: str) -> str:
    return f"{_mark(writing)[:10]}.{len(name)}@{writing.sender.email.rpartition('@')[2]}"


def _mark(writing: ComposedMail) -> str:
    return hashlib.sha256(writing.message_id.encode()).hexdigest()[:20]
