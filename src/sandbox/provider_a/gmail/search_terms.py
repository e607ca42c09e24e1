"""Operators of Gmail's query language, each as a test of a message."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from sandbox.provider_a.gmail.labels import normalize_name
from sandbox.provider_a.gmail.search_index import Candidate, words

Test = Callable[[Candidate], bool]

_WORD_FIELDS = frozenset(
    {"from", "to", "cc", "bcc", "subject", "filename", "list", "deliveredto", "body"}
)
_ENDINGS = ("", "s", "es", "ed", "ing")
_SHORTEST_STEM = 3  # letters
LOCATION_OPERATORS = frozenset({"in", "is", "label"})
_TIMES = frozenset({"after", "before", "newer", "older", "newer_than", "older_than"})
OPERATORS = (
    _WORD_FIELDS
    | LOCATION_OPERATORS
    | _TIMES
    | {"has", "category", "rfc822msgid", "larger", "smaller", "size"}
)

_ACCOUNT_ZONE = ZoneInfo(
    "America/Los_Angeles"
)  # Gmail reads dates in the zone of the account, not in UTC
_UNITS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}  # days
_SIZES = {"": 1, "k": 1024, "m": 1024 * 1024, "g": 1024 * 1024 * 1024}


def term_test(key: str, value: str, *, now: float) -> Test:
    """Return the test of ``key:value``, or of words anywhere when *key* is ""."""
    if key in _WORD_FIELDS:
        return _field_test(key, value)
    if key in {"in", "is", "label", "category"}:
        return _label_test(f"category_{value}" if key == "category" else value)
    if key == "has":
        return _has_test(value.lower())
    if key == "rfc822msgid":
        wanted = value.strip("<>")
        return lambda candidate: candidate.index.rfc_id == wanted
    if key in {"larger", "smaller", "size"}:
        return _size_test(key, value)
    if key in _TIMES:
        return _time_test(key, value, now)
    return _anywhere_test(value)


def _match_nothing(_: Candidate) -> bool:
    return False


def all_of(tests: Iterable[Test]) -> Test:
    """Return the conjunction of *tests*; it is true when there are none."""
    all_tests = tuple(tests)
    if len(all_tests) == 1:
        return all_tests[0]
    return lambda candidate: all(test(candidate) for test in all_tests)


def any_of(tests: Iterable[Test]) -> Test:
    """Return the disjunction of *tests*."""
    all_tests = tuple(tests)
    return lambda candidate: any(test(candidate) for test in all_tests)


def _anywhere_test(value: str) -> Test:
    wanted = _prefix_words(value)
    if not wanted:
        return lambda _: True
    return lambda candidate: wanted in candidate.index.anywhere


def _field_test(key: str, value: str) -> Test:
    if key == "body":
        begun = _prefix_words(value)
        return lambda candidate: bool(begun) and begun in candidate.index.fields[key]
    wanted = _forms(value) if key == "subject" else tuple(filter(None, (words(value),)))
    if not wanted:
        return _match_nothing
    return lambda candidate: any(form in candidate.index.fields[key] for form in wanted)


def _prefix_words(value: str) -> str:
    """
    Return the indexed form of *value*, in which the last word is a prefix.

    Gmail stems words by language; outside of fields with few words, the sandbox is kinder: it
    matches the words that begin with the term.
    """
    return words(value).removesuffix(" ")


def _forms(value: str) -> tuple[str, ...]:
    """
    Return the indexed forms of *value*: whole words, and a single word with English endings.

    Gmail stems words by language, and finds no beginnings of words.
    """
    indexed = words(value)
    if not indexed:
        return ()
    stem = indexed.strip()
    if " " in stem or len(stem) < _SHORTEST_STEM:
        return (indexed,)
    return tuple(f" {stem}{ending} " for ending in _ENDINGS)


def _label_test(value: str) -> Test:
    name = normalize_name(value)
    match name:
        case "anywhere":
            return lambda _: True
        case "read":
            return lambda candidate: candidate.mail.is_read
        case "archive":
            return lambda candidate: candidate.mail.folder == "archive"
        case "drafts":
            name = "draft"
    return lambda candidate: name in candidate.labels


def _has_test(value: str) -> Test:
    match value:
        case "attachment":
            return lambda candidate: candidate.index.has_attachment
        case "userlabels":
            return lambda candidate: any(not label.isupper() for label in candidate.mail.labels)
        case "nouserlabels":
            return lambda candidate: all(label.isupper() for label in candidate.mail.labels)
        case "yellow-star":
            return lambda candidate: candidate.mail.is_starred
        case _:
            return _match_nothing


def _size_test(key: str, value: str) -> Test:
    match = re.fullmatch(r"(\d+)([kmg]?)b?", value.lower())
    if match is None:
        return _match_nothing
    size = int(match[1]) * _SIZES[match[2]]
    if key == "smaller":
        return lambda candidate: len(candidate.mail.raw) < size
    return lambda candidate: len(candidate.mail.raw) > size


def _time_test(key: str, value: str, now: float) -> Test:
    if key.endswith("_than"):
        match = re.fullmatch(r"(\d+)([hdwmy])", value.lower())
        edge = None if match is None else now - int(match[1]) * _UNITS[match[2]] * 86400
    else:
        edge = _epoch_seconds(value)
    if edge is None:
        return _match_nothing
    edge_ms = int(edge * 1000)
    if key in {"after", "newer", "newer_than"}:
        return lambda candidate: candidate.mail.received_ms >= edge_ms
    return lambda candidate: candidate.mail.received_ms < edge_ms


def _epoch_seconds(value: str) -> float | None:
    """Return epoch seconds of a number or of a date in the account's zone; None if neither."""
    if re.fullmatch(r"\d{5,}", value):
        return float(value)
    match = re.fullmatch(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})", value)
    if match is None:
        return None
    try:
        day = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=_ACCOUNT_ZONE)
    except ValueError:
        return None
    return (day - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
