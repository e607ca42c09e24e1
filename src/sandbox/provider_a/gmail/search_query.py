"""
Parser of Gmail's query language.

A word matches whole words in any case; a word with punctuation is a phrase of its parts. ``OR``
binds tighter than juxtaposition. An unknown ``key:value`` is a phrase. See
docs/spec/upstream/gmail.md#query-language.
"""

import re
from dataclasses import dataclass

from sandbox.provider_a.gmail.search_terms import (
    LOCATION_OPERATORS,
    OPERATORS,
    Test,
    all_of,
    any_of,
    term_test,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """
    A parsed query.

    Attributes:
        reaches: Whether the query names trash or spam, so that both are searched.
    """

    test: Test
    reaches: bool


def parse(text: str, *, now: float) -> Query:
    """Parse a query; every text is a valid one. *now* is in seconds since the epoch."""
    parser = _Parser(_tokens(text), now)
    test = parser.everything()
    return Query(test=test, reaches=parser.reaches)


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
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            at += 1
            continue
        kind = match.lastgroup or "word"
        value = match.group(kind)
        if kind == "key" and value.lower() not in OPERATORS:
            match = re.compile(r'[^\s(){}"]+').match(text, at)
            kind, value = "word", match.group() if match else value
        tokens.append((kind, value))
        at = match.end() if match else at + 1
    return tokens


class _Parser:
    """Recursive descent: a query is a sequence of alternatives, each of terms joined by OR."""

    def __init__(self, tokens: list[Token], now: float) -> None:
        self._tokens = tokens
        self._at = 0
        self._now = now
        self._field = ""
        self.reaches = False

    def everything(self, *, alternatives: bool = False) -> Test:
        tests: list[Test] = []
        while (token := self._peek()) is not None and token[0] != "close":
            test = self._alternatives()
            if test is not None:
                tests.append(test)
        return any_of(tests) if alternatives and tests else all_of(tests)

    def _alternatives(self) -> Test | None:
        terms = [self._term()]
        while self._peek() in (("word", "OR"), ("word", "|")):
            self._at += 1
            token = self._peek()
            if token is None or token[0] == "close":
                break
            terms.append(self._term())
        present = [test for test in terms if test is not None]
        return any_of(present) if len(present) > 1 else (present[0] if present else None)

    def _term(self) -> Test | None:
        kind, value = self._tokens[self._at]
        self._at += 1
        match kind:
            case "minus":
                reached = self.reaches
                test = self._term() if self._peek() else None
                self.reaches = reached  # "-in:trash" does not search the trash
                return None if test is None else (lambda candidate: not test(candidate))
            case "plus":
                return self._term() if self._peek() else None
            case "open":
                return self._group(alternatives=value == "{")
            case "key":
                return self._operator(value.lower())
            case "quoted":
                return self._leaf(value.strip('"'))
            case _:
                return None if value in {"AND", "OR", "|"} else self._leaf(value)

    def _group(self, *, alternatives: bool) -> Test:
        test = self.everything(alternatives=alternatives)
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
        if key in LOCATION_OPERATORS and value.lower() in {"anywhere", "trash", "spam"}:
            self.reaches = True
        return term_test(key, value, now=self._now)

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None
