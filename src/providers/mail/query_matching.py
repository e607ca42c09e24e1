"""
The meaning of every mail filter, for filters that upstream does not know.

The rules: docs/spec/email.md#free-text, #sender-and-recipient, #subject and #label-filter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from providers.ports.mail import MailQuery
from providers.records import mail as mail_records
from providers.search_text import WORD, fold, fold_label, html_to_text, is_unspaced_script, terms

FOLDER_LABELS = frozenset({"TRASH", "SPAM", "DRAFT"})
_NOTHING = frozenset[str]()
TEXT_FIELDS = frozenset({"subject", "body_preview", "body", "from_", "to", "cc"})


def folder_label(query: MailQuery) -> str | None:
    """Return "TRASH", "SPAM" or "DRAFT" when the query's label names that folder, else None."""
    if not query.label:
        return None
    name = fold_label(query.label).upper()
    return name if name in FOLDER_LABELS else None


def needed_attributes(query: MailQuery, *, text: bool) -> frozenset[str]:
    """
    Return the attributes of `Email` that a `Matcher` reads.

    Args:
        query: The query.
        text: As in `Matcher`.
    """
    if not restricts(query, text=text):
        return _NOTHING
    by_part = {
        "from_": query.sender or query.participant,
        "to": query.recipient or query.participant,
        "cc": query.recipient_in_cc and (query.recipient or query.participant),
        "subject": query.subject,
        "labels": None if folder_label(query) else query.label,
        "is_read": "yes" if query.unread else None,
        "has_attachments": None if query.has_attachment is None else "yes",
    }
    names = {name for name, part in by_part.items() if part}
    if text and query.text:
        names |= query.text_fields
        if "body" in names:
            names.add("body_type")  # markup is not searched
    return frozenset(names)


def is_unrestricted(query: MailQuery) -> bool:
    """Return whether the query asks for all messages; drafts, junk and trash are left out."""
    return query == MailQuery(limit=query.limit, may_be_short=query.may_be_short)


def restricts(query: MailQuery, *, text: bool) -> bool:
    """Return whether any message may fail to match; *text* as in `Matcher`."""
    filters = (
        query.subject,
        query.sender,
        query.recipient,
        query.participant,
        query.after,
        query.before,
        query.unread,
    )
    has_label = bool(query.label) and not folder_label(query)
    return (
        any(filters) or has_label or query.has_attachment is not None or bool(text and query.text)
    )


class Matcher:
    """
    Tells whether messages match a query; the connector takes care of folders.

    What the query says is folded once, when the matcher is made: a search compares it with
    thousands of people, and folding may cost more than comparing.
    """

    def __init__(self, query: MailQuery, *, text: bool) -> None:
        """*text*: whether to check the free text; False: upstream has done it."""
        self._query = query
        self._subject = _words(query.subject) if query.subject else None
        self._sender = _PersonFilter(query.sender) if query.sender else None
        self._recipient = _PersonFilter(query.recipient) if query.recipient else None
        self._participant = _PersonFilter(query.participant) if query.participant else None
        has_label = query.label and not folder_label(query)
        self._label = fold_label(query.label) if query.label and has_label else None
        self._terms = terms(query.text) if text and query.text else None

    def __call__(self, email: mail_records.Email) -> bool:
        """Return whether *email* matches; it has at least the `needed_attributes`."""
        query, received = self._query, email.received_at
        if query.after and (received is None or received <= query.after):
            return False
        if query.before and (received is None or received >= query.before):
            return False
        if query.unread and email.is_read:
            return False
        if query.has_attachment not in (None, email.has_attachments):
            return False
        if self._subject is not None and not _has_words(self._subject, fold(email.subject or "")):
            return False
        sender = (email.from_,) if email.from_ else ()
        if self._sender and not self._sender.has_any(sender):
            return False
        recipients = _recipients(email, query)
        if self._recipient and not self._recipient.has_any(recipients):
            return False
        if self._participant and not self._participant.has_any((*sender, *recipients)):
            return False
        if self._label is not None and self._label not in map(fold_label, email.labels or ()):
            return False
        return self._terms is None or _has_terms(email, self._terms, query.text_fields)


def can_match(query: MailQuery) -> bool:
    """Return whether any message can match: each text of the query has a word to find."""
    texts = (query.subject, query.sender, query.recipient, query.participant)
    for text in filter(None, texts):
        if not WORD.search(text):
            return False
    return not query.text or bool(terms(query.text))


def is_address(value: str) -> bool:
    """Return whether a sender or recipient filter is a whole address, which matches exactly."""
    local, at, domain = value.partition("@")
    return bool(local and at and domain) and "@" not in domain and not re.search(r"\s", value)


def addresses(value: str) -> tuple[str, ...]:
    """Split a filter that lists whole addresses, separated by commas; any other value is one."""
    parts = tuple(part.strip() for part in value.split(","))
    return parts if all(map(is_address, parts)) else (value.strip(),)


class NameMatcher:
    """Tells whether each word of a name begins a word of a person's name or address."""

    def __init__(self, name: str) -> None:
        self._terms = terms(name)

    def __call__(self, person: mail_records.Participant) -> bool:
        text = fold(_participant(person))
        words = [_joined_words(text)]
        return bool(self._terms) and all(_has_term(term, [text], words) for term in self._terms)


class _PersonFilter:
    """A filter by people, folded: whole addresses, "@domain", or the beginning of a person."""

    def __init__(self, value: str) -> None:
        values = [fold(part) for part in addresses(value)]
        self._addresses = frozenset(filter(is_address, values))
        self._domains = frozenset(value[1:] for value in values if value.startswith("@"))
        self._beginnings = [
            (value, _words(value))
            for value in values
            if value not in self._addresses and not value.startswith("@")
        ]

    def has_any(self, people: Iterable[mail_records.Participant]) -> bool:
        return any(map(self._has, people))

    def _has(self, person: mail_records.Participant) -> bool:
        email = fold(person.email)
        if email in self._addresses:
            return True
        if self._domains and email.rpartition("@")[2] in self._domains:
            return True
        return any(
            email.startswith(value) or _has_words(words, fold(person.name or ""))
            for value, words in self._beginnings
        )


def _words(value: str) -> str:
    return " ".join(WORD.findall(fold(value)))


def _has_words(words: str, folded: str) -> bool:
    """Return whether *words* stand in a folded text one after another; see `_has_term`."""
    return bool(words) and _has_term(words, [folded], [_joined_words(folded)])


def _recipients(
    email: mail_records.Email, query: MailQuery
) -> tuple[mail_records.Participant, ...]:
    return (*(email.to or ()), *((email.cc or ()) if query.recipient_in_cc else ()))


def _has_terms(
    email: mail_records.Email, projection: Sequence[str], fields: AbstractSet[str]
) -> bool:
    texts = [fold(text) for text in _texts(email, fields)]
    words = list(map(_joined_words, texts))
    return bool(projection) and all(_has_term(term, texts, words) for term in projection)


def _joined_words(text: str) -> str:
    """Return the words of a folded text, each after a blank; a part that starts so is a prefix."""
    return "".join(f" {word}" for word in WORD.findall(text))


def _has_term(term: str, texts: list[str], words: list[str]) -> bool:
    """Return whether a word starts with *term*; in a script without blanks, whether it occurs."""
    if is_unspaced_script(term):
        return any(term in text for text in texts)
    return any(f" {term}" in joined_words for joined_words in words)


def _texts(email: mail_records.Email, fields: AbstractSet[str]) -> Iterator[str]:
    if "subject" in fields:
        yield email.subject or ""
    if "body_preview" in fields:
        yield email.body_preview or ""
    if "body" in fields:
        yield (html_to_text(email.body or "") if email.body_type == "html" else email.body or "")
    if "from_" in fields and email.from_:
        yield _participant(email.from_)
    for name, people in (("to", email.to), ("cc", email.cc)):
        if name in fields:
            yield from map(_participant, people or ())


def _participant(person: mail_records.Participant) -> str:
    return f"{person.name or ''} {person.email}"
