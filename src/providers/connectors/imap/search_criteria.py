"""
Mail queries as the criteria of IMAP's SEARCH (RFC 3501, 6.4.4).

SEARCH compares parts of texts, so that it finds at least what a query means where it is asked for
single words; `query_matching` then has the last word. TEXT is never used: it also looks into
headers that the caller may not see.
"""

from collections.abc import Iterable
from types import MappingProxyType

from providers.imap.session import astring
from providers.mail import query_matching
from providers.ports.mail import MailQuery
from providers.search_text import WORD, upstream_phrases, upstream_terms
from providers.web_addresses import ascii_host

_MAX_DOMAIN = 255  # characters: RFC 1035, 2.3.4

Criterion = str | bytes
_KEYS = MappingProxyType(
    {"subject": "SUBJECT", "from_": "FROM", "to": "TO", "cc": "CC", "body": "BODY"}
)


def criteria(query: MailQuery) -> list[Criterion]:
    """
    Return the parts of one SEARCH command for a query, its label and its times left out.

    Empty: every message is a candidate. Free text that may be looked for in previews and not in
    bodies is left out, because no server can search previews.
    """
    parts: list[Criterion] = ["UNSEEN"] if query.unread else []
    parts += _people(query.sender, ["FROM"])
    to = ["TO", "CC"] if query.recipient_in_cc else ["TO"]
    parts += _people(query.recipient, to)
    parts += _people(query.participant, ["FROM", *to])
    for word in _words(upstream_phrases(query.subject or "")):
        parts += ["SUBJECT", astring(word)]
    keys = [key for name, key in _KEYS.items() if name in query.text_fields]
    if "BODY" in keys or "body_preview" not in query.text_fields:
        for word in _words(upstream_terms(query.text or "")):
            parts += _any(keys, [word])
    return parts


def _people(value: str | None, keys: list[str]) -> list[Criterion]:
    projection = (value or "").strip()
    people = query_matching.addresses(projection)
    if query_matching.is_address(people[0]) or projection.startswith("@"):
        parts = [person.rpartition("@") for person in people]
        return _any(
            keys, [f"{local}@{name}" for local, _, domain in parts for name in _domains(domain)]
        )
    return [part for word in _words(upstream_phrases(projection)) for part in _any(keys, [word])]


def _domains(domain: str) -> list[str]:
    """Return a domain as it may stand in a header: as it was written and in A-labels."""
    if len(domain) > _MAX_DOMAIN:  # no domain, and not worth some microseconds a character
        return [domain]
    try:
        encoded = ascii_host(domain)
    except UnicodeError:
        return [domain]
    return [domain] if encoded.lower() == domain.lower() else [domain, encoded]


def _words(phrases: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for phrase in phrases for word in WORD.findall(phrase)))


def _any(keys: list[str], texts: list[str]) -> list[Criterion]:
    """Return the criterion that one of the keys has one of the texts: OR takes two at a time."""
    tests = [(key, astring(text)) for key in keys for text in texts]
    return ["OR"] * (len(tests) - 1) + [part for test in tests for part in test]
