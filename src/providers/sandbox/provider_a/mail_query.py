"""
The query language of provider A's mail: parsing, and matching against indexed messages.

Words match whole words, any case, and words with punctuation match as a phrase of their parts.
``OR`` binds tighter than standing side by side. An unknown ``key:value`` is a phrase.
Source: reference/wire.md 1A.1, 7.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from providers.sandbox.mailstore import StoredMail
from providers.sandbox.mime import Part
from providers.sandbox.provider_a.mail_labels import normal
from providers.sandbox.provider_a.mail_message import strip_html

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")
_HOME = ZoneInfo("America/Los_Angeles")  # dates without a time are read there, not in UTC
_UNITS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}  # days
_SIZES = {"": 1, "k": 1024, "m": 1024 * 1024, "g": 1024 * 1024 * 1024}


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """
    A message's words, each field as ``" word word "``. Kept as long as the message's bytes are.

    Attributes:
        anywhere: Subject, body, people and file names together.
        rfc_id: The Message-ID without angle brackets.
    """

    fields: dict[str, str]
    anywhere: str
    has_attachment: bool
    rfc_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A message in question: *labels* are its system label ids and normalised user names."""

    mail: StoredMail
    index: Indexed
    labels: Collection[str]


Test = Callable[[Candidate], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """
    A parsed query.

    Attributes:
        reaches: Whether it asks for trash or spam itself, so that both are looked through.
    """

    test: Test
    reaches: bool


def index(tree: Part) -> Indexed:
    """Read a message's words."""
    attachments = tree.attachments()
    fields = {
        "from": words(_people(tree, "from")),
        "to": words(_people(tree, "to")),
        "cc": words(_people(tree, "cc")),
        "bcc": words(_people(tree, "bcc")),
        "subject": words(tree.header("subject") or ""),
        "filename": words(" \n ".join(one.filename for one in attachments)),
        "list": words(tree.header("list-id") or ""),
        "deliveredto": words(tree.header("delivered-to") or ""),
        "body": words(_body(tree)),
    }
    return Indexed(
        fields=fields,
        anywhere="".join(fields.values()),
        has_attachment=any(not one.is_inline for one in attachments),
        rfc_id=(tree.header("message-id") or "").strip().strip("<>"),
    )


def words(text: str) -> str:
    """Return the words of a text in order: ``" one two "``, "" when there is none."""
    found = _WORD.findall(unicodedata.normalize("NFC", text).casefold())
    return f" {' '.join(found)} " if found else ""


def parse(text: str, *, now: float) -> Query:
    """Read a query; whatever is typed means something. *now* is in seconds since the epoch."""
    parser = _Parser(_tokens(text), now)
    test = parser.everything()
    return Query(test=test, reaches=parser.reaches)


def _people(tree: Part, name: str) -> str:
    return " \n ".join(f"{one.name} {one.address}" for one in tree.addresses(name))


def _body(tree: Part) -> str:
    plain, rich = tree.body("plain"), tree.body("html")
    pieces = [plain.text if plain else "", strip_html(rich.text) if rich else ""]
    return " ".join(pieces)


_TOKEN = re.compile(
    r"""
      (?P<quoted>"[^"]*"?)
    | (?P<open>[({])
    | (?P<close>[)}])
    | (?P<key>[A-Za-z0-9_]+):(?=\S)
    | (?P<minus>-)(?=\S)
    | (?P<plus>\+)(?=["\w])
    | (?P<word>[^\s(){}"]+)
    """,
    re.VERBOSE,
)
Token = tuple[str, str]


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            at += 1
            continue
        kind = match.lastgroup or "word"
        value = match.group(kind)
        if kind == "key" and value.lower() not in _OPERATORS:
            match = re.compile(r'[^\s(){}"]+').match(text, at)
            kind, value = "word", match.group() if match else value
        found.append((kind, value))
        at = match.end() if match else at + 1
    return found


class _Parser:
    """Recursive descent: everything = alternatives side by side; alternatives = terms by OR."""

    def __init__(self, tokens: list[Token], now: float) -> None:
        self._tokens = tokens
        self._at = 0
        self._now = now
        self._field = ""
        self.reaches = False

    def everything(self, *, any_of: bool = False) -> Test:
        tests: list[Test] = []
        while (token := self._peek()) is not None and token[0] != "close":
            test = self._alternatives()
            if test is not None:
                tests.append(test)
        return _either(tests) if any_of and tests else _both(tests)

    def _alternatives(self) -> Test | None:
        tests = [self._term()]
        while self._peek() in (("word", "OR"), ("word", "|")):
            self._at += 1
            token = self._peek()
            if token is None or token[0] == "close":
                break
            tests.append(self._term())
        found = [test for test in tests if test is not None]
        return _either(found) if len(found) > 1 else (found[0] if found else None)

    def _term(self) -> Test | None:
        kind, value = self._tokens[self._at]
        self._at += 1
        match kind:
            case "minus":
                reached = self.reaches
                test = self._term() if self._peek() else None
                self.reaches = reached  # "-in:trash" does not ask for the trash
                return None if test is None else (lambda one: not test(one))
            case "plus":
                return self._term() if self._peek() else None
            case "open":
                return self._group(any_of=value == "{")
            case "key":
                return self._operator(value.lower())
            case "quoted":
                return self._leaf(value.strip('"'))
            case _:
                return None if value in {"AND", "OR", "|"} else self._leaf(value)

    def _group(self, *, any_of: bool) -> Test:
        test = self.everything(any_of=any_of)
        if self._peek() is not None:
            self._at += 1
        return test

    def _operator(self, key: str) -> Test | None:
        if self._peek() is None:
            return None
        outer, self._field = self._field, key
        try:
            return self._term()
        finally:
            self._field = outer

    def _leaf(self, value: str) -> Test:
        key = self._field
        if key in _REACHING and value.lower() in {"anywhere", "trash", "spam"}:
            self.reaches = True
        if key in _WORD_FIELDS:
            return _in_field(key, value)
        if key in {"in", "is", "label", "category"}:
            return _marked(f"category_{value}" if key == "category" else value)
        if key == "has":
            return _has(value.lower())
        if key == "rfc822msgid":
            wanted = value.strip("<>")
            return lambda one: one.index.rfc_id == wanted
        if key in {"larger", "smaller", "size"}:
            return _sized(key, value)
        if key in _TIMES:
            return _timed(key, value, self._now)
        return _anywhere(value)

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None


_WORD_FIELDS = frozenset(
    {"from", "to", "cc", "bcc", "subject", "filename", "list", "deliveredto", "body"}
)
_REACHING = frozenset({"in", "is", "label"})
_TIMES = frozenset({"after", "before", "newer", "older", "newer_than", "older_than"})
_OPERATORS = (
    _WORD_FIELDS
    | _REACHING
    | _TIMES
    | {"has", "category", "rfc822msgid", "larger", "smaller", "size"}
)


def _nothing(_: Candidate) -> bool:
    return False


def _both(tests: Iterable[Test]) -> Test:
    every = tuple(tests)
    if len(every) == 1:
        return every[0]
    return lambda one: all(test(one) for test in every)


def _either(tests: Iterable[Test]) -> Test:
    every = tuple(tests)
    return lambda one: any(test(one) for test in every)


def _anywhere(value: str) -> Test:
    wanted = words(value)
    if not wanted:
        return lambda _: True
    return lambda one: wanted in one.index.anywhere


def _in_field(key: str, value: str) -> Test:
    wanted = words(value)
    if not wanted:
        return _nothing
    return lambda one: wanted in one.index.fields[key]


def _marked(value: str) -> Test:
    name = normal(value)
    match name:
        case "anywhere":
            return lambda _: True
        case "read":
            return lambda one: one.mail.is_read
        case "archive":
            return lambda one: one.mail.folder == "archive"
        case "drafts":
            name = "draft"
    return lambda one: name in one.labels


def _has(value: str) -> Test:
    match value:
        case "attachment":
            return lambda one: one.index.has_attachment
        case "userlabels":
            return lambda one: any(not label.isupper() for label in one.mail.labels)
        case "nouserlabels":
            return lambda one: all(label.isupper() for label in one.mail.labels)
        case "yellow-star":
            return lambda one: one.mail.is_starred
        case _:
            return _nothing


def _sized(key: str, value: str) -> Test:
    match = re.fullmatch(r"(\d+)([kmg]?)b?", value.lower())
    if match is None:
        return _nothing
    size = int(match[1]) * _SIZES[match[2]]
    if key == "smaller":
        return lambda one: len(one.mail.raw) < size
    return lambda one: len(one.mail.raw) > size


def _timed(key: str, value: str, now: float) -> Test:
    if key.endswith("_than"):
        match = re.fullmatch(r"(\d+)([hdwmy])", value.lower())
        edge = None if match is None else now - int(match[1]) * _UNITS[match[2]] * 86400
    else:
        edge = _moment(value)
    if edge is None:
        return _nothing
    edge_ms = int(edge * 1000)
    if key in {"after", "newer", "newer_than"}:
        return lambda one: one.mail.received_ms >= edge_ms
    return lambda one: one.mail.received_ms < edge_ms


def _moment(value: str) -> float | None:
    """Read epoch seconds, or a date at the account's home."""
    if re.fullmatch(r"\d{5,}", value):
        return float(value)
    match = re.fullmatch(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})", value)
    if match is None:
        return None
    try:
        day = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=_HOME)
    except ValueError:
        return None
    return (day - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
