"""
Mail queries as `$filter` or `$search`: docs/spec/upstream/outlook-mail.md#two-search-modes.

A search finds words and their beginnings; `query_matching` checks the results exactly.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from providers import search_text
from providers.mail import query_matching
from providers.ports.mail import MailPosition, MailQuery
from providers.records.base import from_epoch_ms, to_epoch_ms

_PROPERTY = {"subject": "subject", "body": "body", "from_": "from", "to": "to", "cc": "cc"}
_UNSAFE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029]+')
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SIMPLE = re.compile(r"[A-Za-z0-9]+")
_NO_START = 1900  # a year up to which a start bounds nothing
_NO_END = 9000  # a year from which on an end bounds nothing, and cannot be rounded up
_EARLIEST = "1900-01-01T00:00:00Z"  # the first property of `$orderby` must be in the filter


class MailFilter(msgspec.Struct, frozen=True, kw_only=True):
    """
    A `$filter`, the mode in which Graph orders and counts.

    Attributes:
        simplified: Dates and sender only, for when Graph calls the filter too complex.
        is_selective: Whether nearly every result matches, so that few need to be read.
        is_exact: Whether every result matches, so that Graph's count is right.
        is_shared: Whether it holds nothing of a caller.
    """

    text: str
    simplified: str
    is_selective: bool
    is_exact: bool
    is_shared: bool = False


def needs_search_index(query: MailQuery) -> bool:
    """Whether the query needs `$search`: for words, and for people but by a sender's address."""
    people = query.sender or query.recipient or query.participant
    if not (query.text or query.subject or people):
        return False
    sender = (query.sender or "").strip()
    return (
        _searches_words(query)
        or any(_subject(query))
        or any(_people(query, is_exact_sender=query_matching.is_address(sender)))
    )


def needs_text_check(query: MailQuery) -> bool:
    """
    Whether the results of `$search` must be checked for the words of the query.

    Graph looks into the visible properties only, so its results stand when the body is among them.
    It can search neither a preview without its body nor an emoji: then all messages are checked.
    """
    text = query.text or ""
    return bool(text) and ("body" not in query.text_fields or search_text.has_emoji(text))


def search(query: MailQuery, after: MailPosition | None) -> str:
    """Return the `$search` value, quotes included."""
    parts = [*_words(query), *_subject(query), *_people(query)]
    if query.has_attachment is not None:
        parts.append(f"hasAttachments:{str(query.has_attachment).lower()}")
    parts += _days(query, after)
    text = " AND ".join(parts)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def arrived_late(text: str, received_ms: int, sent_ms: int) -> str:
    """Narrow a `$search` to what was received from one day on, and sent up to the other."""
    received, sent = from_epoch_ms(received_ms), from_epoch_ms(sent_ms)
    return f'{text[:-1]} AND received>={received:%Y-%m-%d} AND sent<={sent:%Y-%m-%d}"'


@lru_cache(maxsize=1024)
def unrestricted(hidden_folders: tuple[str, ...]) -> MailFilter:
    """Return the `$filter` of a query that every message matches; see `mail_filter`."""
    everything = mail_filter(MailQuery(), None, hidden_folders=hidden_folders)
    return replace(everything, is_shared=True)


def mail_filter(
    query: MailQuery, after: MailPosition | None, *, hidden_folders: tuple[str, ...]
) -> MailFilter:
    """
    Return the `$filter` of a query that does not need `$search`.

    Args:
        query: The query.
        after: The position to start from.
        hidden_folders: Ids of folders to leave out, and drafts with them; () within one folder.
    """
    dates = list(_dates(query, after))
    sender = (query.sender or "").strip()
    if sender and query_matching.is_address(sender):
        dates.append(f"from/emailAddress/address eq {_literal(sender)}")
    rest = []
    if hidden_folders:
        rest.append("isDraft eq false")
        rest += [f"parentFolderId ne {_literal(folder_id)}" for folder_id in hidden_folders]
    if query.unread:
        rest.append("isRead eq false")
    if query.has_attachment is not None:
        rest.append(f"hasAttachments eq {str(query.has_attachment).lower()}")
    if query.label and not query_matching.folder_label(query):
        rest.append(f"categories/any(c:c eq {_literal(' '.join(query.label.split()))})")
    # The rest are texts that Graph cannot search for.
    partial_sender = bool(sender) and not query_matching.is_address(sender)
    people = partial_sender or query.recipient or query.participant
    is_selective = not (people or query.subject or query.text)
    return MailFilter(
        text=" and ".join((*dates, *rest)),
        simplified=" and ".join(dates),
        is_selective=is_selective,
        is_exact=is_selective and query.after is None and query.before is None,
    )


def _searches_words(query: MailQuery) -> bool:
    fields = query.text_fields
    searchable = "body" in fields or "body_preview" not in fields
    return searchable and bool(search_text.upstream_terms(query.text or ""))


def _words(query: MailQuery) -> Iterator[str]:
    if not query.text or not _searches_words(query):
        return
    names = [name for field, name in _PROPERTY.items() if field in query.text_fields]
    for term in search_text.upstream_terms(query.text):
        # A star matches the rest of a word; within quotes it would be taken literally.
        value = f"{term}*" if _SIMPLE.fullmatch(term) else _quote(term)
        yield _any(names, value)


def _subject(query: MailQuery) -> Iterator[str]:
    for phrase in search_text.upstream_phrases(query.subject or ""):
        yield f"subject:{_beginning(phrase)}"


def _people(query: MailQuery, *, is_exact_sender: bool = False) -> Iterator[str]:
    to = ["to", "cc"] if query.recipient_in_cc else ["to"]
    sender = None if is_exact_sender else query.sender
    for value, names in (
        (sender, ["from"]),
        (query.recipient, to),
        (query.participant, ["from", *to]),
    ):
        person = (value or "").strip()
        people = query_matching.addresses(person)
        if query_matching.is_address(people[0]):
            yield _any(names, *map(_quote, people))
        elif re.fullmatch(r"@[A-Za-z0-9.-]+", person):
            yield _any(names, _quote(person[1:]))
        else:
            for phrase in search_text.upstream_phrases(person):
                yield _any(names, _beginning(phrase))


def _days(query: MailQuery, after: MailPosition | None) -> Iterator[str]:
    """Bound the received day, a day wider on each side, since Graph ignores the time of day."""
    ends = [] if query.before is None else [query.before]
    if after is not None:
        ends.append(from_epoch_ms(after.received_ms))
    day = timedelta(days=1)
    if query.after is not None and query.after.year > _NO_START:
        yield f"received>={query.after - day:%Y-%m-%d}"
    if ends and min(ends).year < _NO_END:
        yield f"received<={min(ends) + day:%Y-%m-%d}"


def _dates(query: MailQuery, after: MailPosition | None) -> Iterator[str]:
    """Bound the received time in whole seconds, rounded outwards: Graph compares fractions too."""
    start = _EARLIEST
    if query.after is not None and query.after.year > _NO_START:
        start = _instant(to_epoch_ms(query.after))
    yield f"receivedDateTime ge {start}"
    ends = [] if query.before is None else [to_epoch_ms(query.before)]
    if after is not None:
        ends.append(after.received_ms)
    if ends and from_epoch_ms(min(ends)).year < _NO_END:
        yield f"receivedDateTime lt {_instant(min(ends) + 1000)}"


def _instant(milliseconds: int) -> str:
    return f"{from_epoch_ms(milliseconds // 1000 * 1000):%Y-%m-%dT%H:%M:%SZ}"


def _literal(text: str) -> str:
    """Write a text as a filter literal: quotes doubled, control characters blanked."""
    cleaned = _CONTROLS.sub(" ", text)
    return "'" + cleaned.replace("'", "''") + "'"


def _beginning(phrase: str) -> str:
    """Write words of which the last may be incomplete; in small letters: OR is an operator."""
    if _SIMPLE.fullmatch(phrase):
        return f"{phrase.lower()}*"
    return f'"{_UNSAFE.sub(" ", phrase.lower()).strip()}*"'


def _quote(value: str) -> str:
    return f'"{_UNSAFE.sub(" ", value).strip()}"'


def _any(names: list[str], *values: str) -> str:
    return "(" + " OR ".join(f"{name}:{value}" for value in values for name in names) + ")"
