"""
Keyword query language: words, phrases, `AND OR NOT`, `-word`, `field:value`, trailing `*`.

`parse` compiles a query to a test of an `IndexedText`. Adjacent words and conditions must all
hold; adjacent conditions on the same field are alternatives, as upstream has it.
See docs/spec/upstream/microsoft-files.md#search.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import unquote

from sandbox.collab.errors import invalid_request

Test = Callable[["IndexedText"], bool]

_TOKEN = re.compile(
    r"""(?:
      (?P<open>\()
    | (?P<close>\))
    | (?P<field>[A-Za-z][\w.]*)\s*+(?P<op>:|<=|>=|<>|=|<|>)\s*+
        (?:"(?P<quoted>[^"]*)"(?P<star>\*?)|(?P<value>[^\s()"]+))
    | (?P<sign>[+-])?"(?P<phrase>[^"]*)"
    | (?P<word>[^\s()"]+)
    )""",
    re.VERBOSE,
)
_ORDER: Mapping[str, Callable[[object, object], bool]] = MappingProxyType(
    {
        "<": lambda left, right: left < right,  # type: ignore[operator]  # both of one type
        "<=": lambda left, right: left <= right,  # type: ignore[operator]
        ">": lambda left, right: left > right,  # type: ignore[operator]
        ">=": lambda left, right: left >= right,  # type: ignore[operator]
    }
)
_ALIASES = MappingProxyType(
    {
        "fileextension": "filetype",
        "write": "lastmodifiedtime",
        "lastmodified": "lastmodifiedtime",
        "createdby": "author",
        "modifiedby": "editor",
        "site": "path",
        "contentclass": "contenttype",
        "spcontenttype": "contenttype",
        "name": "filename",
    }
)
_CACHED_FIELDS = 8192  # values of fields whose words are kept
_TIMES = ("lastmodifiedtime", "created")
_DAY_WORDS = MappingProxyType({"today": 0, "yesterday": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedText:
    """
    The searchable text of one document.

    Attributes:
        fields: Lower-case texts by field name; times as ISO texts, sizes as digits.
        text: All words in lower case, separated and enclosed by spaces.
        words: The words of *text*.
    """

    fields: Mapping[str, str]
    text: str
    words: frozenset[str]


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"\w+", text.casefold())


def index_text(text: str, fields: Mapping[str, str]) -> IndexedText:
    """Normalise a text and its fields for search."""
    normalized = " ".join(split_words(text))
    return IndexedText(
        fields={
            name: (unquote(value) if name == "path" else value).casefold()
            for name, value in fields.items()
        },
        text=f" {normalized} ",
        words=frozenset(normalized.split()),
    )


def parse(text: str, now: datetime) -> tuple[Test, tuple[str, ...]]:
    """
    Compile a query; return its test and its search terms.

    Raises:
        GraphError: The query is malformed.
    """
    parser = _Parser(text, now)
    test = parser.alternatives()
    parser.end()
    return test, tuple(dict.fromkeys(parser.words))


class _Parser:
    def __init__(self, text: str, now: datetime) -> None:
        if text.count('"') % 2:
            raise invalid_request("The query is malformed: a quote is not closed.", "BadRequest")
        self._now = now
        self._tokens = list(_TOKEN.finditer(text))
        self._at = 0
        self._depth = 0
        self.words: list[str] = []

    def _peek(self) -> re.Match[str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _accept(self, *words: str) -> bool:
        token = self._peek()
        if token is not None and token["word"] in words:
            self._at += 1
            return True
        return False

    def end(self) -> None:
        if self._peek() is not None:
            raise invalid_request(
                "The query is malformed: a parenthesis is not closed.", "BadRequest"
            )

    def alternatives(self) -> Test:
        tests = [self._conjunction()]
        while self._accept("OR", "||"):
            tests.append(self._conjunction())
        return tests[0] if len(tests) == 1 else lambda indexed: any(test(indexed) for test in tests)

    def _conjunction(self) -> Test:
        tests: list[Test] = []
        tests_by_field: dict[str, list[Test]] = {}
        while True:
            while self._accept("AND", "&&"):
                pass
            token = self._peek()
            if token is None or token["close"] or token["word"] in ("OR", "||"):
                break
            is_plain = token["field"] is not None and token["op"] == ":"
            test = self._negation()
            if is_plain:
                tests_by_field.setdefault(str(token["field"]).lower(), []).append(test)
            else:
                tests.append(test)
        return _all((*tests, *(_any(group) for group in tests_by_field.values())))

    def _negation(self) -> Test:
        if self._accept("NOT"):
            inner = self._negation()
            return lambda indexed: not inner(indexed)
        return self._single()

    def _single(self) -> Test:
        token = self._peek()
        if token is None:
            raise invalid_request("The query is malformed: a word is missing.", "BadRequest")
        self._at += 1
        if token["open"]:
            return self._group()
        if token["field"] is not None:
            return self._condition(token)
        if token["phrase"] is not None:
            return self._signed(token["sign"], self._phrase(token["phrase"]))
        word = str(token["word"])
        sign, rest = (word[0], word[1:]) if word[0] in "+-" and len(word) > 1 else ("", word)
        field = re.match(r"([A-Za-z][\w.]*)(:|<=|>=|<>|=|<|>)(.+)$", rest)
        if field is not None:
            return self._signed(sign, self._compare(field[1], field[2], field[3], is_prefix=False))
        return self._signed(sign, self._word(rest))

    def _group(self) -> Test:
        self._depth += 1
        if self._depth > 40:  # limit of nesting of the sandbox
            raise invalid_request("The query is too complex.", "BadRequest")
        inner = self.alternatives()
        closing = self._peek()
        if closing is None or not closing["close"]:
            raise invalid_request(
                "The query is malformed: a parenthesis is not closed.", "BadRequest"
            )
        self._at += 1
        self._depth -= 1
        return inner

    def _signed(self, sign: str | None, test: Test) -> Test:
        return (lambda indexed: not test(indexed)) if sign == "-" else test

    def _word(self, word: str) -> Test:
        parts = split_words(word)
        self.words += parts
        if not parts:
            return lambda _indexed: True
        if word.endswith("*"):
            return _all((*(_has_word(part) for part in parts[:-1]), _has_prefix(parts[-1])))
        return _has_phrase(parts) if len(parts) > 1 else _has_word(parts[0])

    def _phrase(self, phrase: str) -> Test:
        parts = split_words(phrase)
        self.words += parts
        return _has_phrase(parts)

    # -- conditions

    def _condition(self, token: re.Match[str]) -> Test:
        quoted = token["quoted"]
        value = quoted if quoted is not None else str(token["value"])
        is_prefix = bool(token["star"]) if quoted is not None else value.endswith("*")
        return self._compare(
            token["field"], token["op"], value, is_prefix=is_prefix, is_phrase=quoted is not None
        )

    def _compare(
        self, field: str, op: str, value: str, *, is_prefix: bool, is_phrase: bool = False
    ) -> Test:
        name = _ALIASES.get(field.lower(), field.lower())
        if name in _TIMES:
            return self._time_test(name, op, value)
        if op == "<>":
            inner = self._compare(field, "=", value, is_prefix=is_prefix)
            return lambda indexed: not inner(indexed)
        if name == "size":
            return _size_test(op, value)
        wanted = value.casefold().rstrip("*").strip()
        if name == "path":
            wanted = unquote(wanted)
            bare = wanted.rstrip("/")
            return lambda indexed: (
                f"{indexed.fields.get(name, '')}/".startswith(f"{bare}/")
                or (is_prefix and indexed.fields.get(name, "").startswith(wanted))
            )
        if op == "=" or name in ("filetype", "contenttypeid", "listid", "siteid", "isdocument",
                                 "iscontainer"):  # fmt: skip
            whole = {"1": "true", "0": "false"}.get(wanted, wanted)
            return lambda indexed: (
                indexed.fields.get(name, "") == whole
                or (is_prefix and indexed.fields.get(name, "").startswith(whole))
            )
        parts = split_words(wanted)
        self.words += parts if name in ("title", "filename") else []
        if not is_phrase and not is_prefix:
            words = frozenset(parts)
            return lambda indexed: (
                (value := indexed.fields.get(name)) is not None and words <= _word_set(value)
            )
        return lambda indexed: _matches_field(
            indexed.fields.get(name), parts, is_prefix=is_prefix, is_phrase=is_phrase
        )

    def _time_test(self, name: str, op: str, value: str) -> Test:
        start, _, end = value.partition("..")
        low, high = self._parse_day(start), self._parse_day(end or start)
        day = timedelta(days=1)
        if op in (":", "=") or end:
            return lambda indexed: low <= _parse_time(indexed.fields.get(name)) < high + day
        if op == "<>":
            return lambda indexed: not low <= _parse_time(indexed.fields.get(name)) < high + day
        bound = low if "T" in value else low + (day if op in (">", "<=") else timedelta())
        # "after the 5th" begins with the 6th, "up to the 5th" ends with it.
        order = _ORDER[{">": ">=", "<=": "<"}.get(op, op) if "T" not in value else op]
        return lambda indexed: (
            indexed.fields.get(name) is not None
            and order(_parse_time(indexed.fields.get(name)), bound)
        )

    def _parse_day(self, text: str) -> datetime:
        days = _DAY_WORDS.get(text.casefold())
        if days is not None:
            today = self._now.replace(hour=0, minute=0, second=0, microsecond=0)
            return today - timedelta(days=days)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            try:
                moment = datetime.combine(_parse_us_date(text), datetime.min.time())
            except ValueError:
                raise invalid_request(f"'{text}' is not a date.", "BadRequest") from None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _parse_us_date(text: str) -> date:
    month, day, year = (int(part) for part in text.split("/"))
    return date(year, month, day)


def _parse_time(text: str | None) -> datetime:
    if not text:
        return datetime.min.replace(tzinfo=UTC)
    return datetime.fromisoformat(text.upper())


def _size_test(op: str, value: str) -> Test:
    try:
        bound = int(value)
    except ValueError:
        raise invalid_request(f"'{value}' is not a size.", "BadRequest") from None
    order = _ORDER.get(op)
    if order is None:
        return lambda indexed: indexed.fields.get("size") == str(bound)
    return lambda indexed: (
        indexed.fields.get("size", "").isdigit() and order(int(indexed.fields["size"]), bound)
    )


@lru_cache(maxsize=_CACHED_FIELDS)
def _word_set(value: str) -> frozenset[str]:
    return frozenset(split_words(value))


def _matches_field(
    value: str | None, parts: Sequence[str], *, is_prefix: bool, is_phrase: bool
) -> bool:
    """Match a phrase, or words of which the last one is the beginning of a word."""
    if value is None:
        return False
    if is_phrase:
        joined = f" {' '.join(split_words(value))} "
        wanted = " ".join(parts)
        return f" {wanted}" in joined if is_prefix else f" {wanted} " in joined
    words = _word_set(value)
    if not parts:
        return True
    return words.issuperset(parts[:-1]) and any(word.startswith(parts[-1]) for word in words)


def _has_word(word: str) -> Test:
    return lambda indexed: word in indexed.words


def _has_prefix(prefix: str) -> Test:
    return lambda indexed: f" {prefix}" in indexed.text


def _has_phrase(parts: Sequence[str]) -> Test:
    wanted = f" {' '.join(parts)} "
    return lambda indexed: wanted in indexed.text


def _all(tests: Sequence[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda indexed: all(test(indexed) for test in tests)


def _any(tests: Sequence[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda indexed: any(test(indexed) for test in tests)
