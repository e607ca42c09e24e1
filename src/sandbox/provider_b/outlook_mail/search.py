"""
Parser of `$search` over mail: compiles a keyword query to a test of a message's words.

The query is in double quotes, with inner quotes and backslashes escaped. A word matches words that
begin with it; a phrase matches consecutive words. Without a property, subject, body and sender are
searched; an unknown property is plain text. See docs/spec/upstream/outlook-mail.md#search-mode.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from sandbox.mail.normalization import compose
from sandbox.provider_b.odata.schema import QueryError


@dataclass(frozen=True, slots=True, kw_only=True)
class Searchable:
    """
    A message's entry in the search index.

    Attributes:
        texts: Property to its words: casefolded, one space before each (see `words`).
        received, sent: The UTC day, as ``yyyy-mm-dd``.
        size: Bytes.
    """

    texts: Mapping[str, str]
    received: str
    sent: str
    has_attachments: bool
    importance: str
    size: int


Test = Callable[[Searchable], bool]

_UNQUOTED = re.compile(r"^[\w*]+$")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<open>\() | (?P<close>\))
    | (?P<minus>-(?=[^\s]))
    | (?P<property>[A-Za-z]+)(?P<mark>:|>=|<=|<>|>|<|=)(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s()"]+))
    | "(?P<phrase>[^"]*)"
    | (?P<word>[^\s()"]+)
    )""",
    re.VERBOSE,
)
_ANYWHERE = ("subject", "body", "from")
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "from": ("from",),
    "to": ("to",),
    "cc": ("cc",),
    "bcc": ("bcc",),
    "recipients": ("to", "cc", "bcc"),
    "participants": ("from", "to", "cc", "bcc"),
    "subject": ("subject",),
    "body": ("body",),
    "attachment": ("attachment",),
    "attachments": ("attachment",),
}
_ORDERS: Mapping[str, Callable[[str, str], bool]] = {
    ":": lambda have, want: have == want,
    "=": lambda have, want: have == want,
    "<>": lambda have, want: have != want,
    ">": lambda have, want: have > want,
    ">=": lambda have, want: have >= want,
    "<": lambda have, want: have < want,
    "<=": lambda have, want: have <= want,
}
MAX_PARTS = 200  # both protect the stack; they are no limits of Graph
MAX_NESTED = 40


def words(text: str) -> str:
    """Return the casefolded, normalized words of *text* with one space before each."""
    return "".join(f" {word}" for word in _WORD.findall(compose(text)))


def parse(text: str) -> Test:
    """
    Parse a `$search` value.

    Raises:
        QueryError: It is empty, too long or malformed, or has several words without quotes.
    """
    query = _unquoted(text)
    reader = _Reader(list(_tokens(query)))
    nested = sum(1 for token in reader.tokens if token["open"] or token["minus"])
    nested += sum(1 for token in reader.tokens if token["word"] == "NOT")
    if not reader.tokens or len(reader.tokens) > MAX_PARTS or nested > MAX_NESTED:
        raise QueryError("The $search expression is empty or too long.", code="BadRequest")
    test = reader.either()
    if reader.at < len(reader.tokens):
        raise _syntax(query)
    return test


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if _UNQUOTED.match(text):
        return text
    raise _syntax(text)


def _syntax(text: str) -> QueryError:
    odd = re.search(r"[^\w]", text)
    at = odd.start() if odd else 0
    return QueryError(
        f"Syntax error: character '{text[at : at + 1]}' is not valid at position {at} in '{text}'.",
        code="BadRequest",
    )


def _tokens(query: str) -> Iterator[re.Match[str]]:
    at, text = 0, query.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _syntax(query)
        yield match
        at = match.end()


@dataclass(slots=True)
class _Reader:
    """Recursive descent: OR over AND over NOT."""

    tokens: list[re.Match[str]]
    at: int = 0

    def _word(self) -> str | None:
        return self.tokens[self.at]["word"] if self.at < len(self.tokens) else None

    def _closing(self) -> bool:
        return self.at >= len(self.tokens) or self.tokens[self.at]["close"] is not None

    def either(self) -> Test:
        tests = [self._all()]
        while self._word() == "OR":
            self.at += 1
            tests.append(self._all())
        return tests[0] if len(tests) == 1 else _any(tests)

    def _all(self) -> Test:
        """Parse juxtaposed terms: those of one property are alternatives, all others must match."""
        groups: dict[str, list[Test]] = {}
        explicit = False
        while not self._closing() and self._word() != "OR":
            if self._word() == "AND":
                self.at += 1
                explicit = True
                continue
            name = (self.tokens[self.at]["property"] or "").lower()
            mark = self.tokens[self.at]["mark"]
            alone = explicit or name not in _ALIASES or mark != ":"
            groups.setdefault(f"{len(groups)}" if alone else name, []).append(self._not())
            explicit = False
        if not groups:
            raise QueryError("The $search expression has an operator without operands.")
        tests = [_any(group) if len(group) > 1 else group[0] for group in groups.values()]
        return tests[0] if len(tests) == 1 else _every(tests)

    def _not(self) -> Test:
        token = self.tokens[self.at]
        if token["word"] == "NOT" or token["minus"]:
            self.at += 1
            if self._closing():
                raise QueryError("The $search expression has an operator without operands.")
            inner = self._not()
            return lambda mail: not inner(mail)
        return self._part()

    def _part(self) -> Test:
        token = self.tokens[self.at]
        self.at += 1
        if token["open"]:
            inner = self.either()
            if self.at >= len(self.tokens):
                raise QueryError("The $search expression has unbalanced parentheses.")
            self.at += 1
            return inner
        if token["property"]:
            value = token["quoted"] if token["quoted"] is not None else token["plain"]
            return _restriction(token["property"].lower(), token["mark"], value)
        return _text(_ANYWHERE, token["phrase"] if token["phrase"] is not None else token["word"])


def _any(tests: list[Test]) -> Test:
    return lambda mail: any(test(mail) for test in tests)


def _every(tests: list[Test]) -> Test:
    return lambda mail: all(test(mail) for test in tests)


def _text(properties: tuple[str, ...], value: str) -> Test:
    wanted = words(value)
    if not wanted:
        return lambda _mail: False
    return lambda mail: any(wanted in mail.texts.get(name, "") for name in properties)


def _restriction(name: str, mark: str, value: str) -> Test:
    if name in _ALIASES and mark in (":", "="):
        return _text(_ALIASES[name], value)
    if name in ("received", "sent"):
        return _day(name, mark, value)
    if name in ("hasattachments", "hasattachment"):
        wanted = value.lower() in ("true", "yes", "1")
        return lambda mail: mail.has_attachments is wanted
    if name == "importance":
        level = "normal" if value.lower() == "medium" else value.lower()
        return lambda mail: mail.importance == level
    if name == "size":
        return _size(mark, value)
    if name == "kind":
        return lambda _mail: value.lower() in ("email", "mail")
    return _text(_ANYWHERE, f"{name} {value}")


def _day(name: str, mark: str, value: str) -> Test:
    """Compare whole days; like Graph, ignore a time of day in the query."""
    first, dots, last = value.partition("..")
    low = _iso_day(first)
    if dots:
        high = _iso_day(last)
        return lambda mail: low <= _day_of(mail, name) <= high
    compare = _ORDERS[mark]
    return lambda mail: compare(_day_of(mail, name), low)


def _day_of(mail: Searchable, name: str) -> str:
    return mail.received if name == "received" else mail.sent


def _iso_day(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        raise QueryError(f"'{text}' is not a date in the $search expression.") from None


def _size(mark: str, value: str) -> Test:
    first, dots, last = value.partition("..")
    if not first.isdecimal() or (dots and not last.isdecimal()):
        raise QueryError(f"'{value}' is not a size in the $search expression.")
    # Numbers of equal width compare as strings, as days do.
    low = first.zfill(20)
    if dots:
        return lambda mail: low <= str(mail.size).zfill(20) <= last.zfill(20)
    compare = _ORDERS[mark]
    return lambda mail: compare(str(mail.size).zfill(20), low)
