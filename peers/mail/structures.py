"""Whole messages: parts in every structure that mail has."""

from collections.abc import Callable, Sequence
from random import Random

import header_forms
from header_forms import Field
from parts import Part, digest, file_of, file_part, joined, odd_text, text_part, utf8_under

_MAX_DEPTH = 4
_PREAMBLE = b"This is a multi-part message in MIME format.\r\n"


def multipart(
    chance: Random, kind: str, parts: Sequence[Part], *, is_closed: bool = True
) -> tuple[bytes, str]:
    """Return a multipart, and the form of its boundary."""
    boundary = f"b{chance.randrange(10**6)}"
    form, written, value = chance.choice(
        (
            ("usual", f'"{boundary}"', boundary),
            ("unquoted", boundary, boundary),
            ("with signs", f'"=_{boundary}\'()+_,-./:=?"', f"=_{boundary}'()+_,-./:=?"),
            ("with a blank", f'"a {boundary}"', f"a {boundary}"),
            ("beginning with hyphens", f'"----=_{boundary}"', f"----=_{boundary}"),
            ("blanks behind", f'"{boundary}"', boundary),
        )
    )
    behind = b"  " if form == "blanks behind" else b""
    delimiter = b"--" + value.encode()
    body = b"".join(delimiter + behind + b"\r\n" + part.raw + b"\r\n" for part in parts)
    body = (_PREAMBLE if chance.randrange(2) else b"") + body
    if is_closed:
        body += delimiter + b"--\r\n" + (b"epilogue\r\n" if not chance.randrange(4) else b"")
    head = f"Content-Type: multipart/{kind}; boundary={written}\r\n\r\n"
    return head.encode() + body, f"boundary {form}"


def _written(chance: Random, kind: str, parts: Sequence[Part], **options: bool) -> Part:
    raw, form = multipart(chance, kind, parts, **options)
    whole = joined(parts)
    whole.raw = raw
    whole.forms += [kind, form]
    return whole


def alternative(chance: Random, depth: int = 0) -> Part:
    """Write a text and its HTML, perhaps with pictures; the HTML is read."""
    plain = text_part(chance)
    html = related(chance) if not chance.randrange(3) else text_part(chance, "text/html")
    whole = _written(chance, "alternative", [plain, html])
    whole.texts = html.texts
    return whole


def related(chance: Random, depth: int = 0) -> Part:
    """Write HTML with pictures."""
    pictures = [file_part(chance, is_related=True) for _ in range(chance.randint(1, 2))]
    return _written(chance, "related", [text_part(chance, "text/html"), *pictures])


def mixed(chance: Random, depth: int = 0) -> Part:
    """Write texts and files, each of which may be a multipart."""
    parts = [part(chance, depth + 1)]
    parts += [
        chance.choice((file_part, file_part, text_part))(chance)
        for _ in range(chance.randint(1, 3))
    ]
    return _written(chance, "mixed", parts)


def not_closed(chance: Random, depth: int = 0) -> Part:
    """Write a multipart without its last delimiter."""
    whole = _written(chance, "mixed", [text_part(chance), file_part(chance)], is_closed=False)
    whole.forms.append("not closed")
    return whole


def attached_message(chance: Random, depth: int = 0) -> Part:
    """Attach a message."""
    inner = b"From: a@b.example\r\nSubject: inner\r\n\r\ninner text\r\n"
    name = chance.choice((None, "inner.eml"))
    parameters = f'; filename="{name}"' if name else ""
    head = f"Content-Type: message/rfc822\r\nContent-Disposition: attachment{parameters}\r\n\r\n"
    attached = Part(
        head.encode() + inner, files=[file_of(name, "message/rfc822", inner, "attachment")]
    )
    return _written(chance, "mixed", [text_part(chance), attached])


def invitation(chance: Random, depth: int = 0) -> Part:
    """Write a text with its calendar."""
    calendar = b"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n"
    head = b"Content-Type: text/calendar; charset=utf-8; method=REQUEST\r\n\r\n"
    event = Part(head + calendar, files=[file_of(None, "text/calendar", calendar)])
    return _written(chance, "alternative", [text_part(chance), event])


def report(chance: Random, depth: int = 0) -> Part:
    """Write a delivery report."""
    status = b"Reporting-MTA: dns; a.example\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n"
    head = b"Content-Type: message/delivery-status\r\n\r\n"
    told = Part(head + status, files=[file_of(None, "message/delivery-status", status)])
    return _written(chance, "report", [text_part(chance), told])


def signed(chance: Random, depth: int = 0) -> Part:
    """Write a signed message."""
    return _written(chance, "signed", [part(chance, depth + 1), file_part(chance)])


def undelimited(chance: Random, depth: int = 0) -> Part:
    """Write a multipart that names no boundary: its content is no part that can be read."""
    raw = b"Content-Type: multipart/mixed\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\na\r\n--x--\r\n"
    return Part(raw, forms=["no boundary"])


def _utf8(chance: Random, depth: int = 0) -> Part:
    return utf8_under(chance, chance.choice(("iso-8859-1", "us-ascii", "windows-1250")))


_STRUCTURES: tuple[Callable[..., Part], ...] = (
    lambda chance, depth: text_part(chance),
    lambda chance, depth: text_part(chance),
    lambda chance, depth: text_part(chance, "text/html"),
    lambda chance, depth: odd_text(chance),
    _utf8,
    alternative,
    alternative,
    related,
    mixed,
    mixed,
    not_closed,
    attached_message,
    invitation,
    report,
    signed,
    undelimited,
)


def part(chance: Random, depth: int = 0) -> Part:
    """Write a part of any structure; the deepest ones are texts."""
    shapes = _STRUCTURES[:4] if depth >= _MAX_DEPTH else _STRUCTURES
    return chance.choice(shapes)(chance, depth)


_FIELDS: tuple[tuple[str, Callable[[Random], Field]], ...] = (
    ("From", lambda chance: chance.choice(header_forms.ADDRESSES)(chance)),
    ("To", lambda chance: chance.choice(header_forms.ADDRESSES)(chance)),
    ("Cc", lambda chance: chance.choice(header_forms.ADDRESSES)(chance)),
    ("Reply-To", lambda chance: chance.choice(header_forms.ADDRESSES)(chance)),
    ("Subject", lambda chance: chance.choice(header_forms.SUBJECTS)(chance)),
    ("Date", header_forms.date),
    ("References", header_forms.references),
)


def message(chance: Random) -> dict[str, object]:
    """Write a message: its bytes, what each of its members is, and what is odd about each."""
    lines, values, forms = [], {}, {}
    for name, write in _FIELDS:
        if name in ("Cc", "Reply-To", "References") and chance.randrange(2):
            continue
        written = write(chance)
        separator = b":" if not chance.randrange(20) else b": "
        lines.append(name.encode() + separator + written.raw + b"\r\n")
        values[name.lower()], forms[name.lower()] = written.value, [written.form]
    chance.shuffle(lines)
    body = part(chance)
    raw = b"MIME-Version: 1.0\r\n" + b"".join(lines) + body.raw
    values |= {"texts": body.texts, "files": body.files}
    forms |= {"texts": body.forms, "files": body.forms}
    return {"raw": raw, "values": values, "forms": forms, "digest": digest(raw)}
