"""Parts of messages as senders write them, each with the text or file that it is."""

import base64
import hashlib
import quopri
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote

from header_forms import CHARSETS, text, word


@dataclass
class Part:
    """
    A part as it is written.

    Attributes:
        raw: Its header fields and its content.
        texts: What it adds to the body: types and texts.
        files: The attachments: name, type, digest, inline or not, content id.
        forms: What is odd about it.
    """

    raw: bytes
    texts: list[list[str]] = field(default_factory=list)
    files: list[list[object]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)


# -- encodings of content


def _wrapped(content: bytes) -> bytes:
    return base64.encodebytes(content).replace(b"\n", b"\r\n")


def _one_line(content: bytes) -> bytes:
    return base64.b64encode(content) + b"\r\n"


def _without_padding(content: bytes) -> bytes:
    return _wrapped(content).replace(b"=", b"")


def _with_other_signs(content: bytes) -> bytes:
    lines = _wrapped(content).split(b"\r\n")
    return b"\r\n".join(line[:5] + b" !" + line[5:] if line else line for line in lines)


def _of_two_blocks(content: bytes) -> bytes:
    half = len(content) // 2
    return _wrapped(content[:half]) + _wrapped(content[half:])


def _quoted(content: bytes) -> bytes:
    lines = content.replace(b"\r\n", b"\n")
    return quopri.encodestring(lines).replace(b"\n", b"\r\n")


def _quoted_in_lower_case(content: bytes) -> bytes:
    return re.sub(rb"=[0-9A-F]{2}", lambda match: match[0].lower(), _quoted(content))


def _quoted_with_blanks(content: bytes) -> bytes:
    return _quoted(content).replace(b"=\r\n", b"=  \r\n")


def _plain(content: bytes) -> bytes:
    return content


# Header, form, encoder, whether it keeps line ends as they are.
ENCODINGS: tuple[tuple[str, str, Callable[[bytes], bytes]], ...] = (
    ("8bit", "8bit", _plain),
    ("7bit", "8 bits under 7bit", _plain),
    ("base64", "base64", _wrapped),
    ("BASE64", "base64", _one_line),
    ("base64", "base64 without padding", _without_padding),
    ("base64", "base64 with other signs", _with_other_signs),
    ("base64", "two blocks of base64", _of_two_blocks),
    ("quoted-printable", "quoted-printable", _quoted),
    ("Quoted-Printable", "quoted-printable", _quoted),
    ("quoted-printable", "quoted-printable in lower case", _quoted_in_lower_case),
    ("quoted-printable", "blanks behind soft breaks", _quoted_with_blanks),
    ("", "no encoding", _plain),
    (" base64 ", "base64", _wrapped),
    ("base64 (of a file)", "comment behind the encoding", _wrapped),
    ("x-nobody", "unknown encoding", _plain),
)


# -- texts


def _charset_parameter(chance: Random, label: str) -> tuple[str, str]:
    return chance.choice(
        (
            (f"; charset={label}", "charset"),
            (f'; charset="{label}"', "charset"),
            (f"; CHARSET={label}", "charset"),
            (f"; format=flowed; charset={label}", "flowed"),
            (f";\r\n\tcharset={label}", "charset"),
            (f'; charset="{label}"; x=y', "charset"),
            (f"; charset={label};", "charset"),
            (f"; charset = {label}", "charset"),
            (f"; charset*=us-ascii''{label}", "charset by RFC 2231"),
            (f"; charset={label} (of text)", "comment behind the charset"),
        )
    )


_TEXT_SHAPES = (
    "{0}\r\n",
    "{0}\r\n{1}\r\n",
    "{0}",
    "{0}\r\n\r\n{1} = 5=3D\r\n",
    "  {0}\r\n.\r\n..\r\nFrom {1}\r\n",
    "{0}\r\n-- \r\n{1}\r\n",
    "{0} {1} {0} {1} {0} {1} {0} {1} {0} {1} {0} {1} {0}\r\n",
)
_HTML_SHAPES = (
    "<p>{0}</p>\r\n",
    "<html><head><title>{1}</title></head><body><p>{0}</p></body></html>\r\n",
    "<div>{0}<br>{1}</div>",
    "<!DOCTYPE html><html><body><table><tr><td>{0}</td></tr></table>{1}</body></html>\r\n",
    "<style>p {{color: red}}</style><p>{0} &amp; {1}</p>\r\n",
)


def text_part(chance: Random, media_type: str = "text/plain", *, fields: str = "") -> Part:
    """Write a text; *fields*: further header lines."""
    label, codec, value = chance.choice(CHARSETS)
    shape = chance.choice(_HTML_SHAPES if media_type == "text/html" else _TEXT_SHAPES)
    content = shape.format(value, text(chance))
    encoding, form, encode = chance.choice(ENCODINGS)
    parameter, written = _charset_parameter(chance, label)
    # ISO-2022-JP and the like are 7 bits, so that every encoding can hold them.
    raw = encode(content.encode(codec))
    lines = f"Content-Type: {media_type}{parameter}\r\n{fields}"
    if encoding:
        lines += f"Content-Transfer-Encoding: {encoding}\r\n"
    return Part(
        f"{lines}\r\n".encode() + raw,
        texts=[[media_type, content]],
        forms=[f"charset {label}", form, written],
    )


def utf8_under(chance: Random, label: str) -> Part:
    """Write UTF-8 under the label of another charset."""
    content = "Dirección — Dzień dobry\r\n"
    raw = f"Content-Type: text/plain; charset={label}\r\n\r\n{content}"
    return Part(raw.encode(), texts=[["text/plain", content]], forms=[f"UTF-8 under {label}"])


def odd_text(chance: Random) -> Part:
    """Write a text whose headers or charset are odd."""
    form, head, content, value = chance.choice(_ODD_TEXTS)
    media_type = "text/html" if "html" in head else "text/plain"
    return Part(f"{head}\r\n".encode() + content, texts=[[media_type, value]], forms=[form])


_ODD_TEXTS = (
    ("no type", "", b"plain words\r\n", "plain words\r\n"),
    ("no type, UTF-8", "", "żółć\r\n".encode(), "żółć\r\n"),
    ("empty text", "Content-Type: text/plain\r\n", b"", ""),
    ("type without a subtype", "Content-Type: text\r\n", b"words\r\n", "words\r\n"),
    ("invalid type", "Content-Type: ;;\r\n", b"words\r\n", "words\r\n"),
    (
        "unknown charset",
        "Content-Type: text/plain; charset=x-nobody\r\n",
        "żółć\r\n".encode(),
        "żółć\r\n",
    ),
    (
        "apostrophes around the charset",
        "Content-Type: text/plain; charset='utf-8'\r\n",
        "żółć\r\n".encode(),
        "żółć\r\n",
    ),
    (
        "UTF-16 with its mark",
        "Content-Type: text/plain; charset=utf-16\r\n",
        b"\xff\xfe" + "żółć".encode("utf-16-le"),
        "żółć",
    ),
    (
        "mark of UTF-8",
        "Content-Type: text/plain; charset=utf-8\r\n",
        b"\xef\xbb\xbf" + "żółć\r\n".encode(),
        "żółć\r\n",
    ),
    (
        "charset of a meta element",
        "Content-Type: text/html\r\n",
        "<meta charset=koi8-r><p>Привет</p>\r\n".encode("koi8-r"),
        "<meta charset=koi8-r><p>Привет</p>\r\n",
    ),
    ("upper case", "CONTENT-TYPE: TEXT/PLAIN; CHARSET=UTF-8\r\n", "żółć\r\n".encode(), "żółć\r\n"),
    (
        "bare equals signs",
        "Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n",
        b"100= % 5=g end=\r\n",
        "100= % 5=g end",
    ),
    (
        "blanks at the end of quoted lines",
        "Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n",
        b"one  \r\ntwo=20\r\n",
        "one\r\ntwo \r\n",
    ),
    (
        "invalid bytes",
        "Content-Type: text/plain; charset=utf-8\r\n",
        b"caf\xe9 bar\r\n",
        "caf\ufffd bar\r\n",
    ),
    (
        "bare line feeds",
        "Content-Type: text/plain; charset=utf-8\r\n",
        "one\ntwo żółć\n".encode(),
        "one\ntwo żółć\n",
    ),
)


# -- files


def _continued(value: str) -> str:
    signs = quote(value, safe="")
    pieces = [signs[at : at + 30] for at in range(0, len(signs), 30)]
    first = f"filename*0*=utf-8''{pieces[0]}"
    return ";\r\n ".join((first, *(f"filename*{n}*={s}" for n, s in enumerate(pieces[1:], 1))))


_LONG = (
    "Protocol of the meeting of all owners of the house on the " + "very " * 30 + "late Friday.pdf"
)
# Form, parameters of Content-Disposition, those of Content-Type, the name.
NAMES: tuple[tuple[str, str, str, str | None], ...] = (
    ("plain", "; filename=a.pdf", "", "a.pdf"),
    ("quoted", '; filename="a lease.pdf"', "", "a lease.pdf"),
    ("name alone", "", '; name="a.pdf"', "a.pdf"),
    ("both", '; filename="a.pdf"', '; name="b.pdf"', "a.pdf"),
    ("escaped", r'; filename="a \"b\" c.pdf"', "", 'a "b" c.pdf'),
    ("semicolon", '; filename="a;b.pdf"', "", "a;b.pdf"),
    ("parentheses", '; filename="a (1).pdf"', "", "a (1).pdf"),
    ("parentheses unquoted", "; filename=a(1).pdf", "", "a(1).pdf"),
    ("extended", "; filename*=utf-8''%C5%BC%C3%B3%C5%82%C4%87.pdf", "", "żółć.pdf"),
    ("extended with a language", "; filename*=utf-8'pl'%C5%BC.pdf", "", "ż.pdf"),
    ("extended in latin1", "; filename*=iso-8859-1''%E9t%E9.pdf", "", "été.pdf"),
    ("extended first", "; filename=x.pdf; filename*=utf-8''%C5%BC.pdf", "", "ż.pdf"),
    ("extended name", "", "; name*=utf-8''%C5%BC.pdf", "ż.pdf"),
    ("continued", '; filename*0="a long ";\r\n filename*1="name.pdf"', "", "a long name.pdf"),
    (
        "continued and encoded",
        f"; {_continued('請求書 2026 請求書 請求書.pdf')}",
        "",
        "請求書 2026 請求書 請求書.pdf",
    ),
    (
        "encoded in part",
        "; filename*0*=utf-8''%C5%BC%20; filename*1=\"100%25.pdf\"",
        "",
        "ż 100%25.pdf",
    ),
    ("pieces in another order", '; filename*1="b.pdf"; filename*0="a"', "", "ab.pdf"),
    ("encoded word", f'; filename="{word("utf-8", "żółć.pdf".encode(), "b")}"', "", "żółć.pdf"),
    (
        "encoded word of name",
        "",
        f'; name="{word("koi8-r", "Счёт.pdf".encode("koi8-r"), "q")}"',
        "Счёт.pdf",
    ),
    (
        "two encoded words",
        '; filename="=?utf-8?b?xbzDsw==?=\r\n =?utf-8?b?xYLEhy5wZGY=?="',
        "",
        "żółć.pdf",
    ),
    ("raw UTF-8", '; filename="żółć.pdf"', "", "żółć.pdf"),
    ("blanks", "; filename = a.pdf", "", "a.pdf"),
    ("upper case", "; FILENAME=A.PDF", "", "A.PDF"),
    ("unquoted with blanks", "; filename=a b c.pdf", "", "a b c.pdf"),
    ("long", f'; filename="{_LONG}"', "", _LONG),
    ("folded within quotes", '; filename="a long\r\n name.pdf"', "", "a long name.pdf"),
    ("no name", "", "", None),
    ("empty", '; filename=""', "", None),
    ("apostrophe", '; filename="it\'s.pdf"', "", "it's.pdf"),
    ("percent", '; filename="100%25.pdf"', "", "100%25.pdf"),
    (
        "size too",
        '; size=12; filename=a.pdf; creation-date="Mon, 5 Jan 2026 10:00:00 +0100"',
        "",
        "a.pdf",
    ),
    ("twice", "; filename=a.pdf; filename=b.pdf", "", "a.pdf"),
    ("empty parameter", ";; filename=a.pdf", "", "a.pdf"),
    ("comment behind", "; filename=a.pdf (the lease)", "", "a.pdf"),
)
TYPES = (
    "application/pdf",
    "image/png",
    "application/octet-stream",
    "application/vnd.ms-excel",
    "audio/mpeg",
    "application/x-zip",
    "IMAGE/JPEG",
)


def file_part(chance: Random, *, is_related: bool = False) -> Part:
    """Write a file; *is_related*: with a Content-ID, as within multipart/related."""
    form, of_disposition, of_type, name = chance.choice(NAMES)
    media_type = chance.choice(TYPES[1:2] if is_related else TYPES)
    content = chance.randbytes(chance.choice((0, 1, 2, 3, 57, 58, 500)))
    encoding, how, encode = chance.choice(ENCODINGS[2:7])
    disposition = "attachment"
    if of_disposition == "" or is_related:
        disposition = chance.choice(("attachment", "inline", ""))
    if is_related:
        of_disposition = of_disposition if disposition else ""
        name = name if of_disposition or of_type else None
        name = "b.pdf" if form == "both" and not disposition else name
    content_id = f"part{chance.randrange(99)}@id.example" if is_related else ""
    lines = f"Content-Type: {media_type}{of_type}\r\n"
    if disposition:
        lines += f"Content-Disposition: {disposition}{of_disposition}\r\n"
    if content_id:
        lines += f"Content-ID: <{content_id}>\r\n"
    lines += f"Content-Transfer-Encoding: {encoding}\r\n\r\n"
    return Part(
        lines.encode() + encode(content),
        files=[file_of(name, media_type, content, disposition, content_id)],
        forms=[f"name: {form}", how],
    )


def file_of(
    name: str | None, media_type: str, content: bytes, disposition: str = "", content_id: str = ""
) -> list[object]:
    """Return what a file is read as; pictures, sounds and films alone are inline."""
    kind = media_type.lower()
    is_visual = kind.startswith(("image/", "audio/", "video/"))
    is_inline = is_visual and (disposition == "inline" or (not disposition and bool(content_id)))
    return [name, kind, digest(content), is_inline, content_id]


def digest(content: bytes) -> str:
    """Return the size of a content and the beginning of its digest."""
    return f"{len(content)}:{hashlib.sha1(content, usedforsecurity=False).hexdigest()[:12]}"


def joined(parts: Sequence[Part]) -> Part:
    """Return the sum of what parts are, without bytes."""
    whole = Part(b"")
    for part in parts:
        whole.texts += part.texts
        whole.files += part.files
        whole.forms += part.forms
    return whole
