"""
Whether a message passes a query: the meaning of every mail filter, for what upstream cannot ask.

Source: decisions 5.3 and 16 (Email).
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from providers.ports.mail import MailQuery
from providers.records import mail as mail_records

FOLDER_LABELS = frozenset({"TRASH", "SPAM", "DRAFT"})
TEXT_FIELDS = frozenset({"subject", "body_preview", "body", "from_", "to", "cc"})

_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
# Signs that belong to the letter before them, without which Hindi or Thai falls to pieces.
_MARKS = "".join(
    one for one in map(chr, range(0x300, 0x1E00)) if unicodedata.category(one)[0] == "M"
)
# Pictures such as emoji are words to whoever searches for them, each of them one.
_PICTURE = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
_WORD = re.compile(rf"[\w{_MARKS}]+|{_PICTURE.pattern}")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_UNSEEN = re.compile(r"<(?:(script|style|head)\b|!--)", re.IGNORECASE)
_CLOSING = MappingProxyType(
    {
        "--": re.compile("-->"),
        **{
            kind: re.compile(rf"</{kind}\s*>", re.IGNORECASE)
            for kind in ("script", "style", "head")
        },
    }
)
_TAG = re.compile(r"<[^<>]*>")


def folder_label(query: MailQuery) -> str | None:
    """Return "TRASH", "SPAM" or "DRAFT" when the query's label names that folder."""
    name = (query.label or "").upper()
    return name if name in FOLDER_LABELS else None


def needed_attributes(query: MailQuery, *, text: bool) -> frozenset[str]:
    """
    Name the attributes of `records.Email` that `matches` looks at.

    Args:
        query: What is searched for.
        text: Whether the words of the query are to be checked as well.
    """
    by_part = {
        "from_": query.sender,
        "to": query.recipient,
        "cc": query.recipient if query.recipient_in_cc else None,
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


def restricts(query: MailQuery, *, text: bool) -> bool:
    """Whether there is a message that does not pass; *text* as in `matches`."""
    asked = (query.subject, query.sender, query.recipient, query.after, query.before, query.unread)
    labelled = bool(query.label) and not folder_label(query)
    return any(asked) or labelled or query.has_attachment is not None or bool(text and query.text)


def matches(email: mail_records.Email, query: MailQuery, *, text: bool) -> bool:
    """
    Whether a message is what the query asks for; folders are the connector's business.

    Args:
        email: Holds at least what `needed_attributes` names.
        query: What is searched for.
        text: Whether the words of the query must be found; False trusts upstream.
    """
    received = email.received_at
    if query.after and (received is None or received <= query.after):
        return False
    if query.before and (received is None or received >= query.before):
        return False
    if query.unread and email.is_read:
        return False
    if query.has_attachment not in (None, email.has_attachments):
        return False
    if query.subject and fold(query.subject) not in fold(email.subject or ""):
        return False
    if query.sender and not _is(query.sender, (email.from_,) if email.from_ else ()):
        return False
    if query.recipient and not _is(query.recipient, _reached(email, query)):
        return False
    if query.label and not folder_label(query) and not _has_label(email, query.label):
        return False
    return not (text and query.text) or _has_words(email, query.text, query.text_fields)


def is_address(value: str) -> bool:
    """Whether a sender or recipient filter is a whole address, to be matched exactly."""
    local, at, domain = value.partition("@")
    return bool(local and at and domain) and "@" not in domain and not re.search(r"\s", value)


def terms(text: str) -> tuple[str, ...]:
    """
    Split a free-text query into words and phrases, folded, without what no word is in.

    A term that stood in quotes or holds punctuation comes as its words, joined by blanks.
    """
    found = (match[1] if match[1] is not None else match[2] for match in _TERM.finditer(text))
    split = (" ".join(_WORD.findall(fold(term))) for term in found)
    return tuple(dict.fromkeys(term for term in split if term))


def upstream_terms(text: str) -> tuple[str, ...]:
    """
    Return the terms to ask upstream for: those of a free-text query, parted at their pictures.

    No search language promises to find pictures; see `has_emoji`.
    """
    pieces = (piece.strip() for term in terms(text) for piece in _PICTURE.split(term))
    return tuple(dict.fromkeys(piece for piece in pieces if piece))


def has_emoji(text: str) -> bool:
    """Whether a free-text query looks for pictures, which are found here and not upstream."""
    return _PICTURE.search(text) is not None


def is_unspaced_script(text: str) -> bool:
    """Whether a text is in a script without blanks, in which words have no beginnings."""
    return _UNSPACED.search(text) is not None


def fold(text: str) -> str:
    """Make texts comparable whatever their case and their composition of accents."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def html_to_text(markup: str) -> str:
    """
    Return the text that a reader of an HTML body sees, roughly.

    Whatever the markup, and strangers wrote it, this takes time that grows with its length alone.
    """
    return html.unescape(_TAG.sub(" ", " ".join(_seen(markup))))


def _seen(markup: str) -> Iterator[str]:
    """Yield what lies between the parts that no reader sees; one never closed is no such part."""
    at = 0
    endless: set[str] = set()  # kinds that are not closed any more
    for opening in _UNSEEN.finditer(markup):
        kind = (opening[1] or "--").lower()
        if opening.start() < at or kind in endless:
            continue
        closing = _CLOSING[kind].search(markup, opening.end())
        if closing is None:
            endless.add(kind)
            continue
        yield markup[at : opening.start()]
        at = closing.end()
    yield markup[at:]


def _is(wanted: str, participants: Iterable[mail_records.Participant]) -> bool:
    value = fold(wanted.strip())
    if is_address(value):
        return any(fold(one.email) == value for one in participants)
    if value.startswith("@"):
        return any(fold(one.email).rpartition("@")[2] == value[1:] for one in participants)
    return any(value in fold(one.email) or value in fold(one.name or "") for one in participants)


def _reached(email: mail_records.Email, query: MailQuery) -> tuple[mail_records.Participant, ...]:
    return (*(email.to or ()), *((email.cc or ()) if query.recipient_in_cc else ()))


def _has_label(email: mail_records.Email, label: str) -> bool:
    wanted = fold(label)
    return any(fold(name) == wanted for name in email.labels or ())


def _has_words(email: mail_records.Email, text: str, fields: AbstractSet[str]) -> bool:
    wanted = terms(text)
    texts = [fold(one) for one in _texts(email, fields)]
    words = ["".join(f" {word}" for word in _WORD.findall(one)) for one in texts]
    return bool(wanted) and all(_found(term, texts, words) for term in wanted)


def _found(term: str, texts: list[str], words: list[str]) -> bool:
    """Find *term* as a word or the beginning of one; without blanks, anywhere."""
    if is_unspaced_script(term):
        return any(term in text for text in texts)
    return any(f" {term}" in line for line in words)


def _texts(email: mail_records.Email, fields: AbstractSet[str]) -> Iterator[str]:
    if "subject" in fields:
        yield email.subject or ""
    if "body_preview" in fields:
        yield email.body_preview or ""
    if "body" in fields:
        yield html_to_text(email.body or "") if email.body_type == "html" else email.body or ""
    if "from_" in fields and email.from_:
        yield _participant(email.from_)
    for name, people in (("to", email.to), ("cc", email.cc)):
        if name in fields:
            yield from map(_participant, people or ())


def _participant(one: mail_records.Participant) -> str:
    return f"{one.name or ''} {one.email}"
