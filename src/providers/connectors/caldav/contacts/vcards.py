"""
People in cards: vCard 3 (RFC 2426) and 4 (RFC 6350).

Parameters are passed over: no value that is read depends on one. The work is linear in the length
of the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from providers.connectors.caldav.content_lines import ContentLine
from providers.mail.query_matching import is_address
from providers.records.mail import Participant

# The properties in which a word is looked for.
PROPERTIES = ("FN", "N", "NICKNAME", "EMAIL")
MAX_LENGTH = 2 * 1024 * 1024  # characters of a resource, photos included
_MAX_LINE = 4096  # characters
_MAX_LINES = 1000  # that are read of a text
_MAX_ADDRESSES = 50  # of a card

_FOLD = re.compile(r"\r?\n[ \t]")
# Apple groups properties: "item1.EMAIL". A quoted value of a parameter may have a colon.
_LINE = re.compile(
    rf"^(?:[a-z0-9-]{{1,64}}\.)?({'|'.join(PROPERTIES)}|END)"
    rf'(?:;(?:"[^"\n]{{0,{_MAX_LINE}}}+"|[^":\n]){{0,{_MAX_LINE}}}+)?+:([^\r\n]{{0,{_MAX_LINE}}})',
    re.IGNORECASE | re.MULTILINE,
)
_PARTS = re.compile(r"((?:[^\\;]|\\.)*)(?:;|\Z)", re.DOTALL)


_Card = Mapping[str, Sequence[ContentLine]]


class Unreadable(ValueError):
    """A text is longer than `MAX_LENGTH`, or has too many lines."""


def people(text: str) -> list[Participant]:
    """
    Return the people of a text's cards, one for each address.

    Raises:
        Unreadable: The text is too long, or has too many lines.
    """
    if len(text) > MAX_LENGTH:
        raise Unreadable
    named: list[Participant] = []
    card: dict[str, list[ContentLine]] = {}
    for number, match in enumerate(_LINE.finditer(_FOLD.sub("", text))):
        if number == _MAX_LINES:
            raise Unreadable
        line = ContentLine(match[1].upper(), {}, match[2])
        if line.name == "END":
            named += _people(card)
            card = {}
        else:
            card.setdefault(line.name, []).append(line)
    return named


def _people(card: _Card) -> Iterator[Participant]:
    addresses = [line.text.strip() for line in card.get("EMAIL", ())]
    name = _name(card)
    for address in dict.fromkeys(addresses[:_MAX_ADDRESSES]):
        if is_address(address):
            yield Participant(email=address, name=name)


def _name(card: _Card) -> str | None:
    """Return the formatted name, else given and family name; nicknames stand behind it."""
    name = next((line.text.strip() for line in card.get("FN", ()) if line.text.strip()), "")
    if not name:
        name = next(filter(None, map(_structured_name, card.get("N", ()))), "")
    nicknames = [nick for line in card.get("NICKNAME", ()) for nick in line.texts if nick != name]
    if nicknames:
        name = f"{name} ({', '.join(dict.fromkeys(nicknames))})".lstrip()
    return " ".join(name.split()) or None


def _structured_name(line: ContentLine) -> str:
    """Return prefixes, given names, additional ones, family names and suffixes: RFC 6350, 6.2.2."""
    parts = [match[1] for match in _PARTS.finditer(line.value)][:5]
    family, first, additional, prefixes, suffixes = parts + [""] * (5 - len(parts))
    shown = (prefixes, first, additional, family, suffixes)
    texts = (" ".join(ContentLine("N", {}, part).texts) for part in shown)
    return " ".join(filter(None, texts))
