"""
Search terms of a free-text query, case folding, and the visible text of HTML.

All functions take time that is linear in the text: callers and strangers write it. The rules:
docs/spec/email.md#free-text.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from types import MappingProxyType

_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
# Combining marks are part of a word: Hindi and Thai words would be split without them.
_MARKS = "".join(
    char for char in map(chr, range(0x300, 0x1E00)) if unicodedata.category(char)[0] == "M"
)
# Each emoji is a word of its own.
_EMOJI = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
WORD = re.compile(rf"[\w{_MARKS}]+|{_EMOJI.pattern}")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_INVISIBLE = re.compile(r"<(?:(script|style|head|title)\b|!--)", re.IGNORECASE)
_CLOSING = MappingProxyType(
    {
        "--": re.compile("-->"),
        **{
            kind: re.compile(rf"</{kind}\s*>", re.IGNORECASE)
            for kind in ("script", "style", "head", "title")
        },
    }
)
TAG = re.compile(r"<(?:/?([A-Za-z][A-Za-z0-9]{0,20}))?[^<>]*>")
_CUT_TAG = re.compile(r"<[^<>]*\Z")
BLANKS = re.compile(r"[ \t\r\n\f]+")
BLOCKS = frozenset(
    """
    address article aside blockquote body br caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu
    nav ol option p pre section select summary table tbody textarea tfoot thead tr ul
    """.split()  # noqa: SIM905 - one name a line fills the page
)
_CELLS = frozenset(("td", "th", "button", "img", "input"))
# Python refuses to read the number of such a reference; none of them is a character.
_LONG_REFERENCE = re.compile(r"&#[0-9]{1000,};?")
# Combining marks are neither word characters nor ASCII.
_MARKS_RUN = re.compile(r"[^\w\s\x00-\x7f]{31,}")
_MAX_MARKS = 30  # in a row; the Stream-Safe Text Format of Unicode (UAX 15)
_JOINER = "\u034f"  # COMBINING GRAPHEME JOINER: has no glyph, and ends a row of marks
# Unicode's Default_Ignorable_Code_Point: characters that are not shown.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def terms(text: str) -> tuple[str, ...]:
    """
    Split a free-text query into words and phrases, folded.

    A term that is quoted or holds punctuation becomes its words, joined by blanks; a term without
    any word is dropped.
    """
    if not text:
        return ()
    raw_terms = (match[1] if match[1] is not None else match[2] for match in _TERM.finditer(text))
    split = (" ".join(WORD.findall(fold(term))) for term in raw_terms)
    return tuple(dict.fromkeys(term for term in split if term))


def upstream_terms(text: str) -> tuple[str, ...]:
    """
    Return the terms of a free-text query to send upstream: without emoji, which split a term.

    No upstream search promises to find emoji; see `has_emoji`.
    """
    pieces = (piece.strip() for term in terms(text) for piece in _EMOJI.split(term))
    return tuple(dict.fromkeys(piece for piece in pieces if piece))


def upstream_phrases(value: str) -> tuple[str, ...]:
    """
    Return the words of a value as phrases to send upstream: without emoji, which split a phrase.

    Case and accents stay as they are, since each upstream folds them in its own way.
    """
    if not value:
        return ()
    composed = unicodedata.normalize("NFC", _MARKS_RUN.sub(_interrupted, value))
    pieces = (piece.strip() for piece in _EMOJI.split(" ".join(WORD.findall(composed))))
    return tuple(piece for piece in pieces if piece)


def has_emoji(text: str) -> bool:
    """Return whether a free-text query holds emoji, which must be searched for here."""
    return _EMOJI.search(text) is not None


def is_unspaced_script(text: str) -> bool:
    """Return whether a text is in a script that does not separate words by blanks."""
    return _UNSPACED.search(text) is not None


def fold(text: str) -> str:
    """Fold case and Unicode composition, for comparisons."""
    if text.isascii():
        return text.lower()
    # Normalization sorts the marks of a row, in quadratic time.
    text = _MARKS_RUN.sub(_interrupted, text)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _interrupted(run: re.Match[str]) -> str:
    """Put a joiner after every 30 marks of a run."""
    pieces: list[str] = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        if marks > _MAX_MARKS:
            pieces.append(_JOINER)
            marks = 1
        pieces.append(char)
    return "".join(pieces)


def unescape(text: str) -> str:
    """Return a text with its HTML character references decoded."""
    try:
        return html.unescape(text)
    except ValueError:
        return html.unescape(_LONG_REFERENCE.sub("\ufffd", text))


def fold_label(name: str) -> str:
    """
    Fold the name of a label or category, the form in which all label names are compared.

    As `fold`, without characters that are not shown, and with single blanks between words.
    """
    if not name:
        return name
    return " ".join(fold(_IGNORABLE.sub("", name)).split())


def html_to_text(markup: str, *, is_cut: bool = False) -> str:
    """
    Return roughly the visible text of an HTML body.

    Blocks and `br` begin new lines, cells are separated by blanks, and other elements do not part
    words. Lines are not empty.

    Args:
        markup: The body.
        is_cut: Whether its end is missing, which may be within a style sheet or a tag.
    """
    visible = "".join(visible_parts(markup, is_cut=is_cut))
    if is_cut:
        visible = _CUT_TAG.sub("", visible)
    lines = "".join(_pieces_of_text(visible)).split("\n")
    return unescape("\n".join(filter(None, (line.strip(" \t") for line in lines))))


def _pieces_of_text(markup: str) -> Iterator[str]:
    at = 0
    preformatted = 0
    for tag in TAG.finditer(markup):
        text, at = markup[at : tag.start()], tag.end()
        yield text if preformatted else BLANKS.sub(" ", text)
        name = (tag[1] or "").lower()
        if name == "pre":
            preformatted = 0 if tag[0][1] == "/" else 1
        yield "\n" if name in BLOCKS else " " if name in _CELLS else ""
    yield markup[at:] if preformatted else BLANKS.sub(" ", markup[at:])


def visible_parts(markup: str, *, is_cut: bool) -> Iterator[str]:
    """Yield the text between scripts, styles, heads and comments; unclosed ones are text."""
    at = 0
    unclosed: set[str] = set()  # kinds without a closing tag in the rest
    for opening in _INVISIBLE.finditer(markup):
        kind = (opening[1] or "--").lower()
        if opening.start() < at or kind in unclosed:
            continue
        closing = _CLOSING[kind].search(markup, opening.end())
        if closing is None:
            if is_cut:
                yield markup[at : opening.start()]
                return
            unclosed.add(kind)
            continue
        yield markup[at : opening.start()]
        at = closing.end()
    yield markup[at:]
