"""
Mail queries in Gmail's search language: docs/spec/upstream/gmail.md#query-language.

A search never looks into hidden fields: docs/spec/email.md#free-text-with-hidden-fields. It finds
whole words; `query_matching` checks the results exactly.
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
_UNSAFE = re.compile(r'["\x00-\x1f\x7f-\x9f\u2028\u2029\\]+')
_SIMPLE = re.compile(r"\w+")
_PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+")
_EARLIEST = 100_000  # seconds; Gmail does not take smaller numbers for a time


class TextCheck(Enum):
    """The check whether a message contains the words of a query."""

    UPSTREAM = auto()  # Gmail's result stands
    CANDIDATES = auto()  # nothing is hidden: Gmail finds candidates, their texts are checked
    FIELDS = auto()  # the same with operators, which look into visible fields only
    SCAN = auto()  # bodies have no operator: a bare word would look into hidden fields too


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """
    A search.

    Attributes:
        text: The `q` parameter.
        include_spam_trash: Whether spam and trash are searched.
        is_selective: Whether nearly every result matches, so that few need to be read.
        is_exact: Whether every result matches, so that results can be counted.
        text_check: The check for the words of the query.
    """

    text: str
    include_spam_trash: bool
    is_selective: bool
    is_exact: bool
    text_check: TextCheck


def search_request(query: MailQuery, after: MailPosition | None) -> SearchRequest:
    """Translate a query for messages after a position; its label is not part of the text."""
    folder = query_matching.folder_label(query)
    check = _text_check(query)
    phrases = _phrases(query, check)
    words = _words(query, check, phrases)
    parts = [*words, *_people(query), *_subject(query), *_times(query, after)]
    if query.unread:
        parts.append("is:unread")
    if query.has_attachment is not None:
        parts.append("has:attachment" if query.has_attachment else "-has:attachment")
    if folder is None:
        parts.append("-in:drafts")
    return SearchRequest(
        text=" ".join(parts),
        include_spam_trash=folder in ("TRASH", "SPAM"),
        is_selective=all(phrases) and _is_selective(query),
        is_exact=check is TextCheck.UPSTREAM and _is_exact(query),
        text_check=check,
    )


def _text_check(query: MailQuery) -> TextCheck:
    if not query.text:
        return TextCheck.UPSTREAM
    if query.text_fields >= query_matching.TEXT_FIELDS and query.text_beyond:
        return TextCheck.CANDIDATES if search_text.has_emoji(query.text) else TextCheck.UPSTREAM
    return TextCheck.FIELDS if query.text_fields.isdisjoint(_PROSE) else TextCheck.SCAN


def _is_selective(query: MailQuery) -> bool:
    texts = (query.text, query.subject, query.sender, query.recipient, query.participant)
    return not any(search_text.has_emoji(text) for text in texts if text)


def _is_exact(query: MailQuery) -> bool:
    people = (query.sender, query.recipient, query.participant)
    checked = (*people, query.subject, query.after, query.before)
    return not any(checked) and query.has_attachment is None


def _phrases(query: MailQuery, check: TextCheck) -> tuple[str, ...]:
    """Return a phrase to search for per term; "" for a term that Gmail must not search for."""
    terms = search_text.upstream_terms(query.text or "")
    if check is TextCheck.SCAN:
        return ("",) * len(terms)
    return terms


def _words(query: MailQuery, check: TextCheck, phrases: Iterable[str]) -> Iterator[str]:
    names = [name for field, name in _OPERATOR.items() if field in query.text_fields]
    for phrase in filter(None, phrases):
        yield _any(names, _word(phrase)) if check is TextCheck.FIELDS else _word(phrase)


def _people(query: MailQuery) -> Iterator[str]:
    to = ["to", "cc"] if query.recipient_in_cc else ["to"]
    for value, operators in (
        (query.sender, ["from"]),
        (query.recipient, to),
        (query.participant, ["from", *to]),
    ):
        address = (value or "").strip()
        people = query_matching.addresses(address)
        if query_matching.is_address(people[0]):
            yield _any(operators, *map(_address, people))
        elif re.fullmatch(r"@[A-Za-z0-9.-]+", address):
            yield _any(operators, _quote(address[1:]))
        else:
            for phrase in search_text.upstream_phrases(address):
                yield _any(operators, _word(phrase))


def _address(address: str) -> str:
    return address if _PLAIN_ADDRESS.fullmatch(address) else _quote(address)


def _subject(query: MailQuery) -> Iterator[str]:
    for phrase in search_text.upstream_phrases(query.subject or ""):
        yield f"subject:{_word(phrase)}"


def _times(query: MailQuery, after: MailPosition | None) -> Iterator[str]:
    """Bound the received time in whole seconds, rounded outwards."""
    ends = [] if query.before is None else [_seconds(query.before) + 1]
    if after is not None:
        ends.append(after.received_ms // 1000 + 1)
    if query.after is not None and _seconds(query.after) > _EARLIEST:
        yield f"after:{_seconds(query.after)}"
    if ends:
        yield f"before:{max(min(ends), _EARLIEST)}"


def _seconds(moment: datetime) -> int:
    return to_epoch_ms(moment) // 1000


def _word(phrase: str) -> str:
    """Write words as one search term; in small letters, since OR and AND are operators."""
    return phrase.lower() if _SIMPLE.fullmatch(phrase) else _quote(phrase.lower())


def _quote(value: str) -> str:
    """Quote a value so that Gmail takes all of it for one phrase."""
    return f'"{_UNSAFE.sub(" ", value).strip()}"'


def _any(operators: list[str], *values: str) -> str:
    tests = [f"{operator}:{value}" for value in values for operator in operators]
    return tests[0] if len(tests) == 1 else "{" + " ".join(tests) + "}"
