"""
The items of FETCH for wanted attributes of `Email`: nothing else is asked for.

ENVELOPE is not used, because it brings subject, people and hidden copies together; each header is
asked for by its name instead.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from types import MappingProxyType

_HEADERS = MappingProxyType(
    {
        "subject": ("SUBJECT",),
        "from_": ("FROM",),
        "to": ("TO",),
        "cc": ("CC",),
        "bcc": ("BCC",),
        "sent_at": ("DATE",),
        "importance": ("IMPORTANCE", "X-PRIORITY"),
        "thread_id": ("IN-REPLY-TO", "MESSAGE-ID", "REFERENCES"),
    }
)


LABELS = "X-GM-LABELS"  # the labels of a message on a server of Gmail


def items(wanted: AbstractSet[str], *, with_labels: bool = False, structure: bool = True) -> str:
    """
    Return the items of the first FETCH; *with_labels*: the server has `LABELS`.

    BODYSTRUCTURE is always among them, unless told otherwise: it alone tells whether there are
    attachments. It is the last one, because the end of an answer that is too long is dropped.
    """
    names = headers(wanted)
    section = f" BODY.PEEK[HEADER.FIELDS ({' '.join(names)})]" if names else ""
    labels = f" {LABELS}" if with_labels and "labels" in wanted else ""
    return f"UID FLAGS INTERNALDATE{labels}{section}{' BODYSTRUCTURE' if structure else ''}"


def headers(wanted: AbstractSet[str]) -> list[str]:
    """Return the names of the headers that wanted attributes are read from, in order."""
    names: Iterable[str] = (name for key in wanted & _HEADERS.keys() for name in _HEADERS[key])
    return sorted(names)
