"""
Parsing of address headers: docs/spec/email.md#addresses.

One scanner reads a header entry by entry; a pattern reads those of the usual forms at once, and
never otherwise than the scanner would. The standard library's parser takes the name of
`ceo@bank.example <attacker@evil.example>` for the address, and quadratic time.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from providers.mail import encoded_words
from providers.records.mail import Participant
from providers.web_addresses import ascii_host

# An encoded word, whose signs mean nothing else.
_WORD = r"=\?[^?\s]{1,100}\?[bBqQ]\?[^?\s]*\?="
_SIGN = re.compile(rf'{_WORD}|[\\"()<>,;:\[]')  # or a sign with a meaning
_PARENTHESIS = re.compile(rf"{_WORD}|\\.?|[()]", re.DOTALL)
# An entry of a usual form, with its separator. Nothing is matched twice, so it takes linear time.
_ADDRESS = r"(?!=\?|')[\w!#$%&'*+/=?^`{|}~.-]++@[\w-]++(?:\.[\w-]++)*+"
_NAME = rf'(?:[^<>"(),:;@\\=]++|=(?!\?)|{_WORD})*+'
_USUAL = re.compile(
    rf'\s*+(?:(?:"(?P<quoted>[^"\\<>]*+)"\s*+|(?P<name>{_NAME}))<(?P<address>{_ADDRESS})>'
    rf"|(?P<bare>{_ADDRESS}))\s*+(?:[,;]|\Z)"
)
_MAX_CACHED = 1_000  # characters of a header, so that the cache stays small

_QUOTATION = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LITERAL = re.compile(r"\[[^\[\]\s]{0,100}\]")
_UNTIL_SEPARATOR = re.compile(r"[^,;<]*")
_ROUTE = re.compile(r"@[^:]*:")
_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"(?:@[^\s"]*)?|[^\s"]+|"')
_BLANKS_AROUND_DOT = re.compile(r"[ \t]{1,5}\.[ \t]{1,5}")
_FURTHER_BLANKS = ("  ", "\t", "\n", "\r")
_BLANKS = re.compile(r"[ \t\r\n]+")  # other spaces are characters of a name
_MAX_BARE = 2_000  # characters of an entry without brackets
# Characters of a header's unusual entries, which take some ten milliseconds; the rest is left out.
_MAX_SCANNED = 20_000


def parse(header: str) -> tuple[Participant, ...]:
    """
    Return the mailboxes of an address header, in order.

    What stands in angle brackets is the address, whatever the name before them looks like. Without
    brackets an entry without @ is not an address; before an entry with brackets it is a part of the
    name, which holds a comma then.
    """
    return _parse_cached(header) if len(header) <= _MAX_CACHED else _parse(header)


def _parse(header: str) -> tuple[Participant, ...]:
    participants = tuple(_Scanner(header).mailboxes())
    if not participants and "=?" in header:  # whole mailboxes in encoded words
        cut = header[:_MAX_SCANNED]
        decoded = decode_words(cut)
        participants = () if decoded == cut else tuple(_Scanner(decoded).mailboxes())
    return participants


_parse_cached = lru_cache(maxsize=4096)(_parse)
decode_words = encoded_words.decode


def as_written(address: str) -> str:
    """
    Return an address with its domain in A-labels and its local part in NFC.

    Recipient rules read it alike (docs/spec/recipients.md#normal-form). One whose domain is not a
    host name is returned unchanged.
    """
    if address.isascii():
        return address
    local, at, domain = address.rpartition("@")
    try:
        return f"{unicodedata.normalize('NFC', local)}{at}{ascii_host(domain)}"
    except UnicodeError:
        return address


def _participant(name: str, address: str) -> Participant:
    return Participant(email=address, name=decode_words(name) or None)


@dataclass(slots=True)
class _Entry:
    """
    An entry of a header, between two separators.

    Attributes:
        phrase: Outside brackets and comments, as it is written.
        name: The same without quotation marks.
        comments: Without their parentheses.
        address: In angle brackets; None without them. The last ones count.
    """

    phrase: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    address: str | None = None

    def add(self, text: str, name: str | None = None) -> None:
        self.phrase.append(text)
        self.name.append(text if name is None else name)


class _Scanner:
    """A scanner of one header; it takes linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._left = _MAX_SCANNED
        self._entry = _Entry()
        self._names: list[str] = []  # of entries without an address, before one with brackets
        self._ends = _ends_of_comments(text)
        self._last_semicolon = text.rfind(";")
        self._is_quotation_open = False  # whether a quotation mark has no second one
        self._is_bracket_open = False

    def mailboxes(self) -> Iterator[Participant]:
        """Yield the mailboxes in order."""
        text, is_begin = self._text, True
        while self._at < len(text):
            if is_begin and not self._names and (usual := _USUAL.match(text, self._at)):
                self._at = usual.end()
                name = usual["quoted"] or usual["name"] or ""
                yield _participant(_on_one_line(name), usual["address"] or usual["bare"])
                continue
            start, sign = self._at, _SIGN.search(text, self._at)
            end = len(text) if sign is None else sign.start()
            self._left -= end - start
            if self._left < 0:
                return
            if end > start:
                self._entry.add(text[start:end])
            if sign is None:
                break
            self._at = sign.end()
            is_begin = sign[0] in (",", ";")
            if is_begin:
                yield from self._end_entry()
            else:
                self._read(sign)
            self._left -= self._at - end
        yield from self._end_entry()

    def _read(self, sign: re.Match[str]) -> None:
        match sign[0]:
            case '"':
                self._read_quotation(sign.start())
            case "(" if self._ends.get(sign.start()) is not None:
                end = self._ends[sign.start()]
                self._entry.comments.append(self._text[self._at : end])
                self._entry.add(" ")
                self._at = end + 1
            case "<":
                self._read_address()
            case "[":
                literal = _LITERAL.match(self._text, sign.start())
                self._entry.add("[" if literal is None else literal[0])
                self._at = self._at if literal is None else literal.end()
            case "\\":
                self._entry.add(self._text[sign.start() : self._at + 1])
                self._at += 1
            case ":" if self._begins_group():
                self._entry = _Entry()
                self._names = []
            case _:
                self._entry.add(sign[0])

    def _read_quotation(self, start: int) -> None:
        match = None if self._is_quotation_open else _QUOTATION.match(self._text, start)
        if match is None:
            self._is_quotation_open = True
            self._entry.add('"', "")
            return
        self._entry.add(match[0], _ESCAPED.sub(r"\1", match[1]))
        self._at = match.end()

    def _read_address(self) -> None:
        text, start = self._text, self._at
        end = -1 if self._is_bracket_open else text.find(">", start)
        following = text.find("<", start, len(text) if end < 0 else end)
        if end >= 0 and following < 0:
            self._entry.address = text[start:end]
            self._at = end + 1
            return
        self._is_bracket_open = end < 0
        content = _UNTIL_SEPARATOR.match(text, start)
        if content is not None and "@" in content[0] and text[content.end() :][:1] in ",;":
            self._entry.address = content[0]  # the closing bracket is missing
            self._at = content.end()
        else:
            self._entry.add("<")

    def _begins_group(self) -> bool:
        """Whether a colon follows the name of a group, which ends with a semicolon."""
        entry = self._entry
        return (
            self._last_semicolon > self._at
            and entry.address is None
            and not any("@" in text for text in entry.phrase)
        )

    def _end_entry(self) -> Iterator[Participant]:
        entry, self._entry = self._entry, _Entry()
        name = self._name(entry)
        if entry.address is None:
            mailboxes = list(_bare_mailboxes(entry))
            if mailboxes:
                self._names = []
                yield from mailboxes
            elif name:
                self._names.append(name)
            return
        address = _address(entry.address)
        if not name and entry.comments:
            name = _comment(entry)
        names, self._names = [*self._names, *([name] if name else [])], []
        if address:
            yield _participant(", ".join(names), address)

    def _name(self, entry: _Entry) -> str:
        """Return the name of an entry without stray brackets around it; those in quotes stay."""
        name = _on_one_line("".join(entry.name))
        phrase = "" if self._is_quotation_open else "".join(entry.phrase).strip()
        if not phrase.startswith('"'):
            name = name.lstrip("<> ")
        return name if phrase.endswith('"') else name.rstrip("<> ")


def _ends_of_comments(text: str) -> dict[int, int]:
    """Return where each parenthesis is closed, by its place; those that stay open are not in it."""
    ends: dict[int, int] = {}
    if "(" not in text:
        return ends
    opened: list[int] = []
    for sign in islice(_PARENTHESIS.finditer(text), _MAX_SCANNED):
        if sign[0] == "(":
            opened.append(sign.start())
        elif sign[0] == ")" and opened:
            ends[opened.pop()] = sign.start()
    return ends


def _bare_mailboxes(entry: _Entry) -> Iterator[Participant]:
    """Yield the addresses of an entry without brackets; other words name a single one."""
    phrase = "".join(entry.phrase)
    if "@" not in phrase:
        return
    phrase = _without_blanks_at_signs(phrase[:_MAX_BARE])
    words = _WORDS.findall(phrase)
    # A quotation is the local part when @ follows it at once.
    places = [place for place, word in enumerate(words) if _is_address(word)]
    names = [word.strip('"') for place, word in enumerate(words) if place not in places]
    name = " ".join(filter(None, names)) or _comment(entry)
    for place in places:
        yield _participant(name if len(places) == 1 else "", _address(words[place]))


def _is_address(word: str) -> bool:
    if word.startswith('"') and not re.search(r'"@[^\s"]+$', word):
        return False
    local, _, domain = word.rpartition("@")
    return bool(local and domain.strip(".'`"))


def _address(text: str) -> str:
    """Return an address without blanks, route, scheme and quotation marks around it."""
    address = text.strip()
    if "=?" in address and "@" not in address:
        address = decode_words(address).strip()
    if "(" in address and '"' not in address:
        address = _without_comments(address).strip()
    if address[:7].lower() == "mailto:":
        address = address[7:]
    route = _ROUTE.match(address)
    if route is not None:
        address = address[route.end() :]
    if len(address) > 1 and address[0] == address[-1] == "'":
        address = address[1:-1]
    return _without_blanks_at_signs(address)


def _without_comments(address: str) -> str:
    """Return an address without comments, which may stand around each of its words."""
    ends = _ends_of_comments(address)
    pieces, at = [], 0
    while (start := address.find("(", at)) >= 0 and start in ends:
        pieces.append(address[at:start])
        at = ends[start] + 1
    return "".join([*pieces, address[at:]])


def _without_blanks_at_signs(text: str) -> str:
    """Remove the blanks around @ and dots, which obsolete addresses may have (RFC 5322, 4.4)."""
    return _BLANKS_AROUND_DOT.sub(".", "@".join(map(str.strip, text.split("@"))))


def _comment(entry: _Entry) -> str:
    return _on_one_line(_ESCAPED.sub(r"\1", entry.comments[-1])) if entry.comments else ""


def _on_one_line(text: str) -> str:
    text = text.strip()
    return _BLANKS.sub(" ", text) if any(sign in text for sign in _FURTHER_BLANKS) else text
