"""Message bodies: HTML from text, text from HTML, and previews."""

import re
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser

from sandbox.mail.mime import Part

PREVIEW_LENGTH = 255  # characters; docs/spec/upstream/outlook-mail.md#message-to-email

_BLOCKS = frozenset(
    (
        "address",
        "article",
        "blockquote",
        "div",
        "dl",
        "dt",
        "dd",
        "fieldset",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tr",
        "ul",
    )
)
_TEXTS = frozenset(("text/plain", "text/html"))
_INVISIBLE = frozenset(("head", "script", "style", "title"))
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_MANY_LINES = re.compile(r"\n{3,}")
_HEAD = '<html><head>\r\n<meta http-equiv="Content-Type" content="text/html; charset=utf-8"></head>'


def shown_texts(part: Part) -> Iterator[Part]:
    """
    Yield the texts of a message that are shown, in order.

    Of alternatives the last one with words counts, of related parts the first. A text that has a
    name alone is shown where nothing else is.
    """
    texts = list(_texts(part))
    named = [leaf for leaf in part.walk_outer() if _may_be_text(leaf) and leaf.data.strip()]
    yield from texts or named[:1]


def _texts(part: Part, *, named: bool = False) -> Iterator[Part]:
    """Yield the texts below a part; *named* ones too, or only those without a file name."""
    if part.content_type == "multipart/alternative":
        shown = [list(_texts(child, named=True)) for child in part.parts]
        with_words = [texts for texts in shown if any(text.data.strip() for text in texts)]
        yield from next(reversed(with_words or shown), [])
    elif part.content_type == "multipart/related":
        yield from (text for child in part.parts[:1] for text in _texts(child, named=True))
    elif part.is_multipart:
        yield from (text for child in part.parts for text in _texts(child))
    elif _may_be_text(part) and (named or part.disposition == "inline" or not part.filename):
        yield part


def _may_be_text(part: Part) -> bool:
    return part.content_type in _TEXTS and part.disposition != "attachment"


def to_html(text: str) -> str:
    """Convert plain text to HTML with the same line breaks."""
    return f"{_HEAD}<body>{to_division(text)}</body></html>"


def to_division(text: str) -> str:
    """Convert plain text to an element of HTML."""
    lines = "<br>\r\n".join(escape(line) for line in text.rstrip().splitlines())
    return f'<div class="PlainText">{lines}</div>'


def to_text(html: str) -> str:
    """Return the visible text of HTML: blocks become lines, whitespace collapses."""
    reader = _Text()
    reader.feed(html)
    reader.close()
    lines = (line.strip(" ") for line in "".join(reader.pieces).split("\n"))
    return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip()


def preview(text: str) -> str:
    """Return the beginning of a text body with collapsed whitespace."""
    return _BLANKS.sub(" ", text).strip()[:PREVIEW_LENGTH]


def insert_before_body(html: str, introduction: str) -> str:
    """Insert *introduction* (HTML) at the beginning of the body of *html*."""
    match = re.search(r"<body[^<>]*>", html, re.IGNORECASE)
    at = match.end() if match else 0
    return f"{html[:at]}{introduction}{html[at:]}"


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's signature
        if tag in _INVISIBLE:
            self._unseen += 1
        elif tag == "br":
            self.pieces.append("\n")
        elif tag in _BLOCKS:
            self._new_line()

    def handle_endtag(self, tag: str) -> None:
        if tag in _INVISIBLE:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BLOCKS:
            self._new_line()
        elif tag in ("td", "th"):
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            text = _BLANKS.sub(" ", data)
            at_start = not self.pieces or self.pieces[-1].endswith("\n")
            self.pieces.append(text.lstrip() if at_start else text)

    def _new_line(self) -> None:
        if self.pieces and not self.pieces[-1].endswith("\n"):
            self.pieces.append("\n")
