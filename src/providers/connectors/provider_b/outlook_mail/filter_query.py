"""
A mail query as a `$filter` or as a `$search`, which upstream does not take together.

Both are never narrower than what is meant; what they say less exactly is checked again by
`matching`. Source: wire report 1A.2; decisions 5.3, 16.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from providers import search_text
from providers.mail import query_matching
from providers.ports.mail import MailPosition, MailQuery
from providers.records.base import from_epoch_ms, to_epoch_ms

_PROPERTY = {"subject": "subject", "body": "body", "from_": "from", "to": "to", "cc": "cc"}
_UNSAFE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029]+')
_SIMPLE = re.compile(r"[A-Za-z0-9]+")
_BEGINNING = "1900-01-01T00:00:00Z"  # wire report 1A.2


@dataclass(frozen=True, slots=True, kw_only=True)
class MailFilter:
    """
    A question in the mode that orders and counts.

    Attributes:
        simple: The same with dates and sender only, for when upstream calls it too complex.
        narrow: Whether nearly every hit passes, so that few need to be read.
        exact: Whether surely every hit passes, so that upstream's count holds.
    """

    text: str
    simple: str
    narrow: bool
    exact: bool


def needs_search_index(query: MailQuery) -> bool:
    """Whether the query needs upstream's search index."""
    recipient = (query.recipient or "").strip()
    return _asks_for_words(query) or query_matching.is_address(recipient)


def needs_text_check(query: MailQuery) -> bool:
    """
    Whether the words of the query are to be checked here.

    Upstream's hits are confined to the properties it may look into, so they count when the body
    is among those. A preview without its body cannot be asked for, nor can a picture alone: then
    all mail is looked at.
    """
    text = query.text or ""
    return bool(text) and ("body" not in query.text_fields or search_text.has_emoji(text))


def search(query: MailQuery, after: MailPosition | None) -> str:
    """Return the `$search` value, quotes included."""
    parts = [*_words(query), *_people(query)]
    if query.has_attachment is not None:
        parts.append(f"hasAttachments:{str(query.has_attachment).lower()}")
    parts += _days(query, after)
    text = " AND ".join(parts)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def mail_filter(
    query: MailQuery, after: MailPosition | None, *, out_of_sight: tuple[str, ...]
) -> MailFilter:
    """
    Return the `$filter` of a query that does not need the search index.

    Args:
        query: What is searched for.
        after: The position to start from.
        out_of_sight: Ids of folders to leave out, drafts too; empty within a named folder.
    """
    dates = list(_dates(query, after))
    sender = (query.sender or "").strip()
    exact_sender = query_matching.is_address(sender)
    if exact_sender:
        dates.append(f"from/emailAddress/address eq {_literal(sender)}")
    rest = []
    if out_of_sight:
        rest.append("isDraft eq false")
        rest += [f"parentFolderId ne {_literal(one)}" for one in out_of_sight]
    if query.unread:
        rest.append("isRead eq false")
    if query.has_attachment is not None:
        rest.append(f"hasAttachments eq {str(query.has_attachment).lower()}")
    pushed = not query.subject or query.subject.isascii()
    if query.subject and pushed:
        rest.append(f"contains(subject,{_literal(query.subject)})")
    labelled = bool(query.label) and not query_matching.folder_label(query)
    loose = bool(query.sender) and not exact_sender
    narrow = pushed and not (loose or labelled or query.recipient or query.text)
    return MailFilter(
        text=" and ".join((*dates, *rest)),
        simple=" and ".join(dates),
        narrow=narrow,
        exact=narrow and query.after is None and query.before is None,
    )


def _asks_for_words(query: MailQuery) -> bool:
    fields = query.text_fields
    askable = "body" in fields or "body_preview" not in fields
    return askable and bool(search_text.upstream_terms(query.text or ""))


def _words(query: MailQuery) -> Iterator[str]:
    if not query.text or not _asks_for_words(query):
        return
    names = [name for field, name in _PROPERTY.items() if field in query.text_fields]
    for term in search_text.upstream_terms(query.text):
        # A star asks for beginnings of words; inside quotes it would be a letter.
        value = f"{term}*" if _SIMPLE.fullmatch(term) else _quoted(term)
        yield _any(names, value)


def _people(query: MailQuery) -> Iterator[str]:
    sender, recipient = (query.sender or "").strip(), (query.recipient or "").strip()
    if query_matching.is_address(sender):
        yield f"from:{_quoted(sender)}"
    if query_matching.is_address(recipient):
        yield _any(["to", "cc"] if query.recipient_in_cc else ["to"], _quoted(recipient))


def _days(query: MailQuery, after: MailPosition | None) -> Iterator[str]:
    """Bound the received day, a day wider on each side, since upstream drops the time of day."""
    ends = [] if query.before is None else [query.before]
    if after is not None:
        ends.append(from_epoch_ms(after.received_ms))
    day = timedelta(days=1)
    if query.after is not None and query.after.year > 1900:
        yield f"received>={query.after - day:%Y-%m-%d}"
    if ends and min(ends).year < 9000:
        yield f"received<={min(ends) + day:%Y-%m-%d}"


def _dates(query: MailQuery, after: MailPosition | None) -> Iterator[str]:
    """Bound the received time in whole seconds, outwards: upstream compares what it hides."""
    start = _BEGINNING if query.after is None else _instant(to_epoch_ms(query.after))
    yield f"receivedDateTime ge {start}"
    ends = [] if query.before is None else [to_epoch_ms(query.before)]
    if after is not None:
        ends.append(after.received_ms)
    if ends:
        yield f"receivedDateTime lt {_instant(min(ends) + 1000)}"


def _instant(milliseconds: int) -> str:
    return f"{from_epoch_ms(milliseconds // 1000 * 1000):%Y-%m-%dT%H:%M:%SZ}"


def _literal(text: str) -> str:
    """Write a text as a filter literal: quotes doubled, controls out."""
    cleaned = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text)
    return "'" + cleaned.replace("'", "''") + "'"


def _quoted(value: str) -> str:
    return f'"{_UNSAFE.sub(" ", value).strip()}"'


def _any(names: list[str], value: str) -> str:
    return "(" + " OR ".join(f"{name}:{value}" for name in names) + ")"
