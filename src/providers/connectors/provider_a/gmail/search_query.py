"""
A mail query in provider A's search language: never narrower than what is meant, never wider than
the caller may ask.

What the language says less exactly than we mean is checked again by `matching`.
Source: wire report 1A.1; decisions 5.3, 16.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from providers import search_text
from providers.mail import query_matching
from providers.ports.mail import MailPosition, MailQuery
from providers.records.base import to_epoch_ms

_OPERATOR = {"subject": "subject", "from_": "from", "to": "to", "cc": "cc"}
_PROSE = frozenset({"body", "body_preview"})
_PEOPLE = frozenset({"from_", "to", "cc"})  # where these operators find whole words alone
_UNSAFE = re.compile(r'["\x00-\x1f\x7f-\x9f\u2028\u2029\\]+')
_SIMPLE = re.compile(r"\w+")
_PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+")
# A word of a substring that is whole: something that is no part of a word on either side of it.
_INNER_WORD = re.compile(r"(?<=[^\w])[A-Za-z0-9]{2,}(?=[^\w])")
_EARLIEST = 100_000  # seconds; shorter numbers are not read as a time


class TextCheck(Enum):
    """Who decides whether the words of a query are found."""

    UPSTREAM = auto()
    CANDIDATES = auto()  # nothing is hidden: upstream finds candidates, the texts decide
    FIELDS = auto()  # the same by operators, which look into visible fields alone
    SCAN = auto()  # bodies have no operator: a bare word would be looked for in hidden fields too


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """
    What to ask upstream.

    Attributes:
        text: The `q` parameter.
        everywhere: Whether spam and trash are looked through.
        narrow: Whether nearly every hit passes, so that few need to be read.
        exact: Whether surely every hit passes, so that hits can be counted.
        trust: Who decides about the words of the query.
    """

    text: str
    everywhere: bool
    narrow: bool
    exact: bool
    trust: TextCheck


def search(query: MailQuery, after: MailPosition | None) -> SearchRequest:
    """Translate a query, from a position on; its label goes by id, beside the text."""
    folder = query_matching.folder_label(query)
    trust = _trust(query)
    phrases = _phrases(query, trust)
    words = _words(query, trust, phrases)
    parts = [*words, *_people(query), *_subject(query), *_times(query, after)]
    if query.unread:
        parts.append("is:unread")
    if query.has_attachment:
        parts.append("has:attachment")
    if folder is None:
        parts.append("-in:drafts")
    return SearchRequest(
        text=" ".join(parts),
        everywhere=folder in ("TRASH", "SPAM"),
        narrow=all(phrases) and _narrow(query),
        exact=trust is TextCheck.UPSTREAM and _is_exact(query),
        trust=trust,
    )


def quoted(value: str) -> str:
    """Write a value so that it is a phrase and nothing else."""
    return f'"{_UNSAFE.sub(" ", value).strip()}"'


def _trust(query: MailQuery) -> TextCheck:
    if not query.text:
        return TextCheck.UPSTREAM
    if query.text_fields >= query_matching.TEXT_FIELDS and query.text_beyond:
        return TextCheck.CANDIDATES if search_text.has_emoji(query.text) else TextCheck.UPSTREAM
    return TextCheck.FIELDS if query.text_fields.isdisjoint(_PROSE) else TextCheck.SCAN


def _narrow(query: MailQuery) -> bool:
    exact = all(
        one is None or query_matching.is_address(one) or one.startswith("@")
        for one in (query.sender, query.recipient)
    )
    return (
        exact
        and not query.subject
        and query.has_attachment is not False
        and not search_text.has_emoji(query.text or "")
    )


def _is_exact(query: MailQuery) -> bool:
    checked = (query.sender, query.recipient, query.subject, query.after, query.before)
    return not any(checked) and query.has_attachment is None


def _phrases(query: MailQuery, trust: TextCheck) -> tuple[str, ...]:
    """Return what to ask upstream for, term by term; "" for what it may not or cannot be asked."""
    terms = search_text.upstream_terms(query.text or "")
    if trust is TextCheck.SCAN:
        return ("",) * len(terms)
    if trust is TextCheck.FIELDS and not _PEOPLE.isdisjoint(query.text_fields):
        return tuple(map(_whole_words, terms))
    return terms


def _whole_words(term: str) -> str:
    """Leave out the last word, which may be the beginning of one; without blanks any may be."""
    return "" if search_text.is_unspaced_script(term) else term.rpartition(" ")[0]


def _words(query: MailQuery, trust: TextCheck, phrases: Iterable[str]) -> Iterator[str]:
    names = [name for field, name in _OPERATOR.items() if field in query.text_fields]
    for phrase in filter(None, phrases):
        word = phrase if _SIMPLE.fullmatch(phrase) else quoted(phrase)
        yield _any(names, word) if trust is TextCheck.FIELDS else word


def _people(query: MailQuery) -> Iterator[str]:
    reached = ["to", "cc"] if query.recipient_in_cc else ["to"]
    for value, operators in ((query.sender, ["from"]), (query.recipient, reached)):
        wanted = (value or "").strip()
        if _PLAIN_ADDRESS.fullmatch(wanted):
            yield _any(operators, wanted)
        elif query_matching.is_address(wanted):
            yield _any(operators, quoted(wanted))
        elif re.fullmatch(r"@[A-Za-z0-9.-]+", wanted):
            yield _any(operators, quoted(wanted[1:]))


def _subject(query: MailQuery) -> Iterator[str]:
    for word in dict.fromkeys(_INNER_WORD.findall(query.subject or "")):
        yield f"subject:{word.lower()}"


def _times(query: MailQuery, after: MailPosition | None) -> Iterator[str]:
    """Bound the received time in whole seconds, outwards."""
    ends = [] if query.before is None else [_seconds(query.before) + 1]
    if after is not None:
        ends.append(after.received_ms // 1000 + 1)
    if query.after is not None and _seconds(query.after) > _EARLIEST:
        yield f"after:{_seconds(query.after)}"
    if ends:
        yield f"before:{max(min(ends), _EARLIEST)}"


def _seconds(moment: datetime) -> int:
    return to_epoch_ms(moment) // 1000


def _any(operators: list[str], value: str) -> str:
    tests = [f"{operator}:{value}" for operator in operators]
    return tests[0] if len(tests) == 1 else "{" + " ".join(tests) + "}"
