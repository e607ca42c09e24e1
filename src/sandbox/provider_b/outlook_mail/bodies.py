"""Message bodies: HTML from text, text from HTML, and previews."""

import re
from html import escape
from html.parser import HTMLParser

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
_INVISIBLE = frozenset(("head", "script", "style", "title"))
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_MANY_LINES = re.compile(r"\n{3,}")
_HEAD = '<html><head>\r\n<meta http-equiv="Content-Type" content="text/html; charset=utf-8"></head>'


def to_html(text: str) -> str:
    """Convert plain text to HTML with the same line breaks."""
    lines = "<br>\r\n".join(escape(line) for line in text.rstrip().splitlines())
    return f'{_HEAD}<body><div class="PlainText">{lines}</div></body></html>'


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
