"""Address headers, split into display names and addresses, as tolerant mail servers read them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
      (?P<word>=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=)   # an encoded word holds no separators
    | "(?P<quoted>(?:[^"\\]|\\.)*)"
    | <(?P<angled>[^<>]*)>
    | (?P<literal>\[[^\[\]\s]*\])
    | (?P<sign>[(),;:])
    | (?P<text>[^"<>\[(),;:=]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(slots=True)
class _Entry:
    """One entry between two separators; *plain* is the phrase with its quotation marks."""

    phrase: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    address: str | None = None


def parse(header: str, decode: Callable[[str], str]) -> list[tuple[str, str]]:
    """
    Return (display name, address) of each mailbox of a header, in order.

    What stands in angle brackets is the address, whatever stands before it; without them an entry
    without @ is none, but a part of the next name, which holds a comma. *decode* decodes the
    encoded words of a name.
    """
    mailboxes, names = [], list[str]()
    for entry in _entries(header):
        mailbox = _mailbox(entry, decode)
        if mailbox is None:
            names = [*names, decode(_join(entry.phrase))] if _join(entry.phrase) else []
            continue
        name, address = mailbox
        is_rest = names and name and entry.address is not None
        mailboxes.append((", ".join((*names, name)), address) if is_rest else mailbox)
        names = []
    if not mailboxes and "=?" in header and (decoded := decode(header)) != header:
        return parse(decoded, lambda text: text)  # a whole mailbox in encoded words
    return mailboxes


def _entries(header: str) -> Iterator[_Entry]:
    tokens = list(_TOKEN.finditer(header))
    unclosed = sum({"(": 1, ")": -1}.get(token["sign"] or "", 0) for token in tokens)
    entry, depth = _Entry(), 0
    for token in tokens:
        sign = token["sign"]
        if sign == "(" and unclosed > 0:  # the first ones are text
            unclosed -= 1
        elif sign in {"(", ")"}:
            depth = depth + 1 if sign == "(" else max(0, depth - 1)
            entry.comments.append(" ")
            continue
        if depth:
            entry.comments.append(token[0])
        elif token["angled"] is not None:
            entry.address = token["angled"].strip()
        elif sign in {",", ";"}:
            yield entry
            entry = _Entry()
        elif sign == ":" and "@" not in "".join(entry.plain):
            entry = _Entry()  # the name of a group
        else:
            entry.plain.append(token[0])
            quoted = token["quoted"]
            entry.phrase.append(token[0] if quoted is None else _ESCAPE.sub(r"\1", quoted))
    yield entry


def _mailbox(entry: _Entry, decode: Callable[[str], str]) -> tuple[str, str] | None:
    name, address = _join(entry.phrase), entry.address
    if address is None:
        plain = "".join(entry.plain).strip()
        words = [plain] if '"' in plain else plain.split()
        address = next((word for word in reversed(words) if "@" in word), None)
        if address is None:
            return None
        name = " ".join(word for word in words if word != address)
    name = decode(name) or decode(_join(entry.comments))
    return (name, address) if name or address else None


def _join(pieces: list[str]) -> str:
    return " ".join("".join(pieces).split())
