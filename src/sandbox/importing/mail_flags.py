"""
Folder, labels, flags and arrival time of an imported message.

Mail programs store these in headers of their own (``X-Gmail-Labels``, ``X-Mozilla-Status``,
``Status``), in maildir flags or in the name of the mailbox.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import policy
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parsedate_tz
from functools import reduce
from types import MappingProxyType

from sandbox.importing.mail_files import StoredMessage
from sandbox.mail.mime import decode

SYSTEM_LABELS = frozenset(
    {
        "IMPORTANT",
        "CATEGORY_PERSONAL",
        "CATEGORY_SOCIAL",
        "CATEGORY_PROMOTIONS",
        "CATEGORY_UPDATES",
        "CATEGORY_FORUMS",
    }
)

_HEADERS = BytesHeaderParser(policy=policy.compat32)
_FOLD = re.compile(r"\r?\n[ \t]*")
_LABEL = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,]+)')
_FOLDERS = MappingProxyType(
    {
        "inbox": "inbox",
        "new": "inbox",
        "sent": "sent",
        "sent mail": "sent",
        "sent items": "sent",
        "sent messages": "sent",
        "drafts": "drafts",
        "draft": "drafts",
        "trash": "trash",
        "bin": "trash",
        "deleted": "trash",
        "deleted items": "trash",
        "deleted messages": "trash",
        "spam": "spam",
        "junk": "spam",
        "junk e-mail": "spam",
        "archive": "archive",
        "archived": "archive",
        "all mail": "archive",
    }
)
_MOZILLA_TAGS = MappingProxyType(
    {
        "$label1": "Important",
        "$label2": "Work",
        "$label3": "Personal",
        "$label4": "To Do",
        "$label5": "Later",
    }
)
_NO_LABELS = frozenset({"nonjunk", "$forwarded", "$mdnsent", "$notjunk", "notjunk"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageState:
    """
    State of a message in its mailbox. By default it is read and in the inbox.

    Attributes:
        system_labels: Labels of `SYSTEM_LABELS`, which only provider A has.
        deleted: Marked as deleted, though the mailbox still contains it.
    """

    folder: str = "inbox"
    labels: tuple[str, ...] = ()
    system_labels: tuple[str, ...] = ()
    is_read: bool = True
    is_starred: bool = False
    deleted: bool = False


def read_state(message: StoredMessage) -> MessageState:
    """Return the state of *message*; later sources of `_SOURCES` override earlier ones."""
    head = _HEADERS.parsebytes(message.raw)
    state: dict[str, object] = {}
    state = reduce(lambda so_far, source: so_far | source(message, head), _SOURCES, state)
    return MessageState(**state)  # type: ignore[arg-type]  # the sources name members of Marks


def received_ms(message: StoredMessage) -> int:
    """
    Return the arrival time of *message* in epoch milliseconds.

    It is that of the topmost Received header, else of Date, else of the container.
    """
    head = _HEADERS.parsebytes(message.raw)
    received_dates = [_text(value).rpartition(";")[2] for value in head.get_all("Received", [])[:1]]
    for value in (*received_dates, *(_text(date) for date in head.get_all("Date", [])[:1])):
        moment = _moment_ms(value)
        if moment is not None:
            return moment
    return message.container_ms


def _by_box(message: StoredMessage, _head: Message) -> dict[str, object]:
    name = _box_name(message.box)
    folder = _FOLDERS.get(name.lower())
    if folder is not None or not name or message.flags is None:
        return {"folder": folder} if folder else {}
    return {"labels": (name,)}


def _by_flags(message: StoredMessage, _head: Message) -> dict[str, object]:
    if message.flags is None:
        return {}
    state: dict[str, object] = {"is_read": "S" in message.flags, "is_starred": "F" in message.flags}
    if "T" in message.flags:
        state["folder"] = "trash"
    elif "D" in message.flags:
        state["folder"] = "drafts"
    return state


def _by_status(_message: StoredMessage, head: Message) -> dict[str, object]:
    """``Status`` and ``X-Status``, as classic Unix mail programs write them."""
    if head.get("Status") is None and head.get("X-Status") is None:
        return {}
    status, more = str(head.get("Status", "")).upper(), str(head.get("X-Status", "")).upper()
    state: dict[str, object] = {"is_read": "R" in status}
    if "F" in more:
        state["is_starred"] = True
    if "T" in more:
        state["folder"] = "drafts"
    if "D" in more:
        state["folder"] = "trash"
    return state


def _by_mozilla(_message: StoredMessage, head: Message) -> dict[str, object]:
    """``X-Mozilla-Status`` (hexadecimal bits) and ``X-Mozilla-Keys`` (tags)."""
    state: dict[str, object] = {}
    status = str(head.get("X-Mozilla-Status", "")).strip()
    if re.fullmatch(r"[0-9A-Fa-f]{1,8}", status):
        bits = int(status, 16)
        state = {
            "is_read": bool(bits & 0x0001),
            "is_starred": bool(bits & 0x0004),
            "deleted": bool(bits & 0x0008),
        }
    tags = _text(head.get("X-Mozilla-Keys", "")).split()
    if "junk" in (tag.lower() for tag in tags):
        state["folder"] = "spam"
    labels = tuple(_MOZILLA_TAGS.get(tag.lower(), tag) for tag in tags if _is_label(tag))
    return state | ({"labels": labels} if labels else {})


def _by_takeout(_message: StoredMessage, head: Message) -> dict[str, object]:
    """``X-Gmail-Labels``: system words and user labels, separated by commas."""
    value = head.get("X-Gmail-Labels")
    if value is None:
        return {}
    words = list(_split_labels(decode(_text(value))))
    lower = {word.lower() for word in words}
    folders = [_FOLDERS[word] for word in lower if word in _FOLDERS]
    ranked = ("trash", "spam", "drafts", "inbox", "sent", "archive")
    return {
        "folder": next((name for name in ranked if name in folders), "archive"),
        "is_read": "unread" not in lower,
        "is_starred": "starred" in lower,
        "labels": tuple(word for word in words if not _is_takeout_word(word)),
        "system_labels": tuple(sorted(_system_labels(words))),
    }


_SOURCES: tuple[Callable[[StoredMessage, Message], dict[str, object]], ...] = (
    _by_box,
    _by_flags,
    _by_status,
    _by_mozilla,
    _by_takeout,
)


def _split_labels(value: str) -> Iterator[str]:
    for quoted, plain in _LABEL.findall(value):
        word = (quoted.replace('\\"', '"') or plain).strip()
        if word:
            yield word


def _is_takeout_word(word: str) -> bool:
    known_words = {"starred", "unread", "opened", "important", "chat", "muted", *_FOLDERS}
    return word.lower() in known_words or word.lower().startswith("category ")


def _system_labels(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        label = word.upper().replace(" ", "_")
        if label in SYSTEM_LABELS:
            yield label


def _is_label(tag: str) -> bool:
    return tag.lower() not in _NO_LABELS | {"junk"}


def _text(value: object) -> str:
    return _FOLD.sub(" ", str(value)).strip()


def _moment_ms(value: str) -> int | None:
    """Parse a header's date; None when it is malformed or before 1970."""
    parsed = parsedate_tz(value.strip())
    if parsed is None:
        return None
    try:
        moment = datetime(*parsed[:6], tzinfo=UTC) - timedelta(seconds=parsed[9] or 0)
    except (ValueError, OverflowError):
        return None
    milliseconds = int(moment.timestamp() * 1000)
    return milliseconds if milliseconds > 0 else None


def _box_name(box: str) -> str:
    """Return the decoded name of a maildir subfolder, with slashes for dots."""
    if not box.startswith("."):
        return box
    return "/".join(_from_utf7(part) for part in box[1:].split("."))


def _from_utf7(value: str) -> str:
    """Decode the UTF-7 of mailbox names (RFC 3501, 5.1.3)."""

    def shifted(match: re.Match[str]) -> str:
        if not match[1]:
            return "&"
        data = match[1].replace(",", "/")
        return b64decode(data + "=" * (-len(data) % 4)).decode("utf-16-be", "replace")

    return re.sub(r"&([A-Za-z0-9+,]*)-", shifted, value)
