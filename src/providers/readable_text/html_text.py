"""
HTML as readable text: links kept, tables as rows, no style sheets.

It takes time that is linear in the markup, which strangers write. The rules:
docs/spec/readable-text.md#html.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from providers.search_text import BLANKS, BLOCKS, TAG, unescape, visible_parts

MAX_BODY = 512 * 1024  # characters that are read; docs/spec/limits.md#sizes
MAX_TAG = 10_000  # characters of a tag whose attributes are read
MAX_DEPTH = 20  # of quotation, as far as it is shown

_CELLS = frozenset(("td", "th"))
_ROWS = frozenset(("table", "tr"))
# Elements whose end tags are written, so that nothing else is hidden.
_HIDING = frozenset(("div", "span"))
_MARKED = frozenset(("div", "span", "pre"))
_ATTRIBUTE = re.compile(
    r"""\b(href|alt|type|class|style)\s{0,20}=\s{0,20}("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE
)
_HIDDEN = re.compile(r"display\s{0,9}:\s{0,9}none|mso-hide\s{0,9}:\s{0,9}all", re.IGNORECASE)
_SIGNATURE = re.compile(r"\b(?:gmail_signature|moz-signature)\b", re.IGNORECASE)
_CITED = re.compile(r"\b(?:gmail_quote|moz-cite|yahoo_quoted)", re.IGNORECASE)
_LINK = re.compile(r"(?:https?|ftp|tel|mailto):", re.IGNORECASE)
_NUMBER = re.compile(r"\[(\d{1,6})\]", re.ASCII)
# Signs that newsletters put behind a preview to fill its line.
_FILLING = re.compile("[\u00ad\u034f\u200b\ufeff]+|(?:[\u00a0\u2007\u200c][ \t]*){3,}")


class Line(msgspec.Struct, frozen=True):
    """
    A line of readable text.

    Attributes:
        depth: Of quotation.
        is_cited: Whether the mail program marked the line as a quotation, not only indented it.
        is_signature: Whether it marked the line as a signature.
    """

    text: str
    depth: int = 0
    is_cited: bool = False
    is_signature: bool = False

    def __str__(self) -> str:
        return ("> " * self.depth + self.text) if self.text else ""


class _Page(msgspec.Struct):
    """
    The lines so far, and the one that is being written.

    Attributes:
        cells: Of the current line; one without a table, none before its first text.
        breaks: Whether the next text begins a line.
        bullet: What the next text begins with.
        quotes: Of the open quotations, whether each is cited.
        cited: How many of them are.
        links: Address -> its number.
        address: Of the open link; "" outside links.
        linked: The text of the open link.
        is_signature: Whether a signature is open.
    """

    lines: list[Line] = msgspec.field(default_factory=list)
    cells: list[list[str]] = msgspec.field(default_factory=list)
    breaks: bool = False
    bullet: str = ""
    quotes: list[bool] = msgspec.field(default_factory=list)
    cited: int = 0
    links: dict[str, int] = msgspec.field(default_factory=dict)
    address: str = ""
    linked: list[str] = msgspec.field(default_factory=list)
    is_signature: bool = False

    def write(self, text: str) -> None:
        """Add text to the current line, or begin one with it."""
        if not text.strip():
            if self.cells and not self.breaks:
                self.cells[-1].append(" ")
            return
        if self.breaks:
            self.end_line()
        if not self.cells:
            self.cells.append([])
        self.cells[-1].append(self.bullet + text)
        self.bullet = ""
        if self.address:
            self.linked.append(text)

    def begin_block(self) -> None:
        """Let the next text begin a line; at the beginning of a cell it stays in the row."""
        self.breaks = self.breaks or not (self.cells and not self.cells[-1])

    def begin_cell(self) -> None:
        """Begin a cell of the current row; what it begins with stays in the row."""
        self.cells.append([])
        self.breaks = False

    def end_line(self) -> None:
        """Finish the current line; a row with one filled cell is a plain line."""
        texts = ["".join(cell).strip(" ") for cell in self.cells]
        while texts and not texts[-1]:
            texts.pop()
        filled = [text for text in texts if text]
        if filled:
            text = " | ".join(texts) if len(filled) > 1 else filled[0]
            depth = min(len(self.quotes), MAX_DEPTH)
            self.lines.append(Line(text, depth, self.cited > 0, self.is_signature))
        self.cells = []
        self.breaks = False

    def begin_quote(self, *, is_cited: bool) -> None:
        self.end_line()
        self.quotes.append(is_cited)
        self.cited += is_cited

    def end_quote(self) -> None:
        self.end_line()
        if self.quotes:
            self.cited -= self.quotes.pop()

    def end_link(self) -> None:
        """Number the address of a link, unless its text is the address."""
        address, text = self.address, "".join(self.linked).strip()
        self.address, self.linked = "", []
        if _LINK.match(address) and _plain(text) != _plain(address):
            self.write(f" [{self.links.setdefault(address, len(self.links) + 1)}]")


def html_lines(markup: str) -> tuple[list[Line], list[str]]:
    """
    Return the visible lines of *markup*, none empty, and the addresses of its links.

    A link is followed by its number, from 1.
    """
    page = _Page()
    visible = "".join(visible_parts(markup, is_cut=False))
    if not _write(page, visible, hides=True):
        page = _Page()
        _write(page, visible, hides=False)
    return page.lines, list(page.links)


def joined(lines: Iterable[str], links: Iterable[str]) -> str:
    """Return the text of *lines*, with the addresses of the links in them behind it."""
    text = "\n".join(lines).strip("\n")
    named = {int(match[1]) for match in _NUMBER.finditer(text)}
    numbered = "\n".join(
        f"[{number}] {address}" for number, address in enumerate(links, 1) if number in named
    )
    return f"{text}\n\n{numbered}" if numbered else text


def _write(page: _Page, markup: str, *, hides: bool) -> bool:
    """Write *markup* to *page*; return False if the end of a hidden element is missing."""
    at, preformatted = 0, False
    element, depth = "", 0  # the open element that is hidden or a signature
    hidden = False
    for tag in TAG.finditer(markup):
        text, at = markup[at : tag.start()], tag.end()
        if not hidden:
            _write_text(page, text, preformatted=preformatted)
        name, written = (tag[1] or "").lower(), tag[0][:MAX_TAG]
        is_end = written.startswith("</")
        if element and name == element:
            depth += -1 if is_end else 1
            if not depth:
                page.end_line()
                element, hidden, page.is_signature = "", False, False
                continue
        elif not element and not is_end and name in _MARKED:
            hidden = hides and name in _HIDING and _HIDDEN.search(written) is not None
            is_signature = not hidden and _SIGNATURE.search(written) is not None
            if hidden or is_signature:
                page.end_line()
                element, depth, page.is_signature = name, 1, is_signature
        if not hidden:
            preformatted = not is_end if name == "pre" else preformatted
            _write_tag(page, name, written, is_end=is_end)
    if not hidden:
        _write_text(page, markup[at:], preformatted=preformatted)
    page.end_line()
    return not hidden


def _write_text(page: _Page, markup: str, *, preformatted: bool) -> None:
    if not markup:
        return
    if not preformatted:
        text = unescape(BLANKS.sub(" ", markup))
        page.write(_FILLING.sub(" ", text) if not text.isascii() else text)
        return
    for number, line in enumerate(unescape(markup).split("\n")):
        if number:
            page.begin_block()
        page.write(line.rstrip("\r"))


def _write_tag(page: _Page, name: str, tag: str, *, is_end: bool) -> None:
    if name == "a":
        page.end_link()
        page.address = "" if is_end else _attributes(tag).get("href", "")
    elif name == "blockquote" and is_end:
        page.end_quote()
    elif name == "blockquote":
        page.begin_quote(is_cited=_is_cited(_attributes(tag)))
    elif name in _CELLS and not is_end:
        page.begin_cell()
    elif name in _ROWS:
        page.end_line()
    elif name == "img":
        page.write(_attributes(tag).get("alt", ""))
    elif name in BLOCKS:
        page.begin_block()
        page.bullet = ("" if is_end else "- ") if name == "li" else page.bullet


def _is_cited(attributes: Mapping[str, str]) -> bool:
    is_cite = attributes.get("type", "").lower() == "cite"
    return is_cite or _CITED.search(attributes.get("class", "")) is not None


def _attributes(tag: str) -> dict[str, str]:
    """Return the attributes of *tag* that matter here; the first of a name counts."""
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(tag):
        value = unescape(match[2].strip("\"'")).strip()
        values.setdefault(match[1].lower(), value)
    return values


def _plain(address: str) -> str:
    """Return an address in the form in which people write it."""
    return _LINK.sub("", address.strip().lower()).strip("/")
