"""The attributes of `Email` that are read from a message's headers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from providers.mail import addresses, dates
from providers.records import mail as mail_records

_PRIORITIES = MappingProxyType({"1": "high", "2": "high", "4": "low", "5": "low"})


def _subject(headers: Mapping[str, str]) -> str | None:
    subject = headers.get("subject")
    return None if subject is None else addresses.decode_words(subject)


def _author(headers: Mapping[str, str]) -> mail_records.Participant | None:
    authors = addresses.parse(headers["from"]) if "from" in headers else ()
    return authors[0] if authors else None


def _people(name: str) -> Callable[[Mapping[str, str]], tuple[mail_records.Participant, ...]]:
    return lambda headers: addresses.parse(headers[name]) if name in headers else ()


def _importance(headers: Mapping[str, str]) -> str:
    importance = headers.get("importance", "").strip().lower()
    if importance in ("low", "normal", "high"):
        return importance
    return _PRIORITIES.get(headers.get("x-priority", "").strip()[:1], "normal")


# Attribute -> function of the message's headers, which are by lower-case name.
FROM_HEADERS: Mapping[str, Callable[[Mapping[str, str]], object]] = MappingProxyType(
    {
        "subject": _subject,
        "from_": _author,
        "to": _people("to"),
        "cc": _people("cc"),
        "bcc": _people("bcc"),
        "sent_at": lambda headers: dates.parse(headers.get("date", "")),
        "importance": _importance,
    }
)
