"""
The readable text of a mail, without quotations and signatures if the caller asks for that.

A line is left out only if its form says that it is a quotation or a signature, and a line in square
brackets takes its place. The rules: docs/spec/readable-text.md#quotations-and-signatures.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from providers.readable_text.html_text import MAX_BODY, Line, html_lines, joined

MAX_SIGNATURE = 12  # lines

_MARKS = re.compile(r"(?:>[ \t]?){1,50}")
# The lines above a quotation name a time: "On Tue, 3 Nov 2026 at 10:00, Ana wrote:".
_TIME = re.compile(r"\d{4}|\d{1,2}[:.h]\d{2}")
_FORWARDED = re.compile(
    r"forward|weitergeleitet|transf[ée]r|reenv[ií]|inoltra|doorgestuurd|转发|転送", re.IGNORECASE
)
_REPLY = re.compile(
    r"\s{0,9}(?:re|aw|antw?|sv|vs|odp|res|回复|答复)\s?(?:\[\d{1,4}\])?\s?[:\uff1a]", re.IGNORECASE
)
_HEADER = re.compile(r"[*_]{0,2}([^\s:][^:]{0,24}?)[*_]{0,2}\s?[:\uff1a]")
_SENDER, _SENT, _SUBJECT = (
    frozenset(names.split())
    for names in (
        "from von de da van från fra od 发件人 差出人",
        "sent date gesendet datum envoyé enviado fecha data inviato verzonden skickat 日時",
        "subject betreff objet asunto assunto oggetto onderwerp ämne emne temat 主题 件名",
    )
)
_ORIGINAL = re.compile(r"-{3,}[^-]{1,60}-{3,}|_{10,}|-{10,}")


def readable_body(body: str, *, is_html: bool, quoted: bool, subject: str | None) -> str:
    """
    Return the readable text of a body.

    More than `MAX_BODY` characters are not read; the last line says so.

    Args:
        body: As the provider sent it.
        is_html: Whether it is HTML.
        quoted: Whether quotations and signatures stay.
        subject: Of the message; None if it is not known. It tells a reply from a forward.
    """
    rest = len(body) - MAX_BODY
    read = body[:MAX_BODY]
    lines, links = html_lines(read) if is_html else (_lines(read), [])
    end = len(lines) if quoted else _end_of_new_text(lines, subject)
    shown = map(str, lines) if quoted else _without_history(lines, end)
    text = joined(shown, links)
    return f"{text}\n[{rest} more characters of the body were not read]" if rest > 0 else text


def _lines(body: str) -> list[Line]:
    """Return the lines of plain text, with their depths of quotation."""
    lines = [_line(text) for text in body.replace("\r\n", "\n").strip("\n").split("\n")]
    at = next((number for number, line in enumerate(lines) if line.text == "-- "), None)
    if at is None:
        return lines
    end = next((n for n in range(at, len(lines)) if not lines[n].text or lines[n].depth), None)
    signature = lines[at:end]
    if len(signature) <= MAX_SIGNATURE:
        lines[at:end] = [Line(line.text, is_signature=True) for line in signature]
    return lines


def _line(text: str) -> Line:
    marks = _MARKS.match(text)
    if marks is None:
        return Line(text if text == "-- " else text.rstrip())
    return Line(text[marks.end() :].rstrip(), marks[0].count(">"))


def _end_of_new_text(lines: Sequence[Line], subject: str | None) -> int:
    """
    Return where the original begins that a reply repeats below its headers without marks.

    A forward has the same headers, above a text that is new to its reader, so the subject decides.
    """
    if subject is None or _REPLY.match(subject) is None:
        return len(lines)
    names = [_header_name(line) for line in lines]
    for at, name in enumerate(names):
        following = names[at + 1 : at + 8]
        if (
            name in _SENDER
            and any(other in _SENT for other in following)
            and any(other in _SUBJECT for other in following)
        ):
            while at and (not lines[at - 1].text or _ORIGINAL.fullmatch(lines[at - 1].text)):
                at -= 1  # noqa: PLW2901 - the line above belongs to the original
            return at
    return len(lines)


def _header_name(line: Line) -> str:
    header = _HEADER.match(line.text)
    return header[1].casefold() if header is not None and not line.depth else ""


def _without_history(lines: Sequence[Line], end: int) -> Iterator[str]:
    """Yield the lines before *end* that stay, and a note for each run that is left out."""
    is_history = False
    above = ""
    for (is_quotation, is_signature), run in groupby(
        lines[:end], lambda line: (line.depth > 0, line.is_signature)
    ):
        block = list(run)
        is_forward = _FORWARDED.search(above) is not None
        is_attributed = above.endswith((":", "\uff1a")) and _TIME.search(above) is not None
        is_history = is_history or (is_quotation and is_attributed and not is_forward)
        is_cited = all(line.is_cited for line in block) and not is_forward
        if is_signature:
            yield "[signature left out]"
        elif is_quotation and (is_history or is_cited):
            yield _note(len(block))
        else:
            yield from map(str, block)
        above = " ".join(line.text for line in block[-4:] if line.text)[-300:].rstrip()
    if end < len(lines):
        yield _note(len(lines) - end)


def _note(count: int) -> str:
    return f"[{count} quoted {'line' if count == 1 else 'lines'} left out]"
