"""
Fingerprints of objects to be created, by which they are found when the answer was lost.

A fingerprint is taken before the creation. Only objects that match all of it are found, because an
allow rule will be made for them: another user's file of the same name, or a list item with other
values, does not match. The protocol is docs/spec/rules.md#after-a-crash.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import msgspec

from providers.collab_ids import ItemKey, ListKey
from providers.content.merged_content import MergedContent
from providers.failures import Missing
from providers.ports.collab import InvalidFilter, ListItemQuery
from providers.records.collab import File, ListItem

CLOCK_SKEW = timedelta(seconds=5)  # between upstream's clock and ours; upstream rounds to seconds
MAX_NUMBERED_NAMES = 10  # that upstream may have chosen when the name was taken
MAX_PAGES = 10  # of a list's newest items
_FILE_ATTRIBUTES = frozenset({"name", "size", "created_time", "owners", "modified_time", "editors"})
_LIST_ITEM_ATTRIBUTES = frozenset({"fields", "created_date_time"})
# Upstream writes properties into these files, so that they grow.
_GROWING = (".docx", ".xlsx", ".pptx")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


class FileFingerprint(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """
    A file or folder to be created.

    Attributes:
        size: In bytes; None when it is not known beforehand.
        renames: Whether upstream chooses another name when this one is taken.
        replaces: Whether the bytes of a file that has the name are replaced.
    """

    drive: str
    folder: str
    name: str
    is_folder: bool = False
    size: int | None = None
    renames: bool = False
    replaces: bool = False

    @property
    def parent(self) -> str:
        return f"{self.drive}:{self.folder}"


class ListItemFingerprint(msgspec.Struct, frozen=True, kw_only=True, tag="row"):
    """A list item to be created; *values*: column -> digest of the value written there."""

    site: str
    list: str
    values: dict[str, str]

    @property
    def parent(self) -> str:
        return f"{self.site}:{self.list}"


Fingerprint: TypeAlias = FileFingerprint | ListItemFingerprint


class TimeWindow(msgspec.Struct, frozen=True):
    """The time of a creation: from the intent to the last time its maker can have acted, UTC."""

    since: datetime
    until: datetime

    def begins_after(self, time: datetime | None) -> bool:
        """Return whether the window begins after *time*, by more than `CLOCK_SKEW`."""
        return time is not None and time < self.since - CLOCK_SKEW

    def contains(self, time: datetime | None) -> bool:
        """Return whether *time* lies in the window, give or take `CLOCK_SKEW`."""
        return time is not None and self.since - CLOCK_SKEW <= time <= self.until + CLOCK_SKEW


def list_item_fingerprint(key: ListKey, fields: Mapping[str, Any]) -> ListItemFingerprint:
    """Take the fingerprint of a list item with these values."""
    values = {name: _digest(value) for name, value in fields.items() if value is not None}
    return ListItemFingerprint(site=key.site, list=key.list, values=values)


def encode(fingerprint: Fingerprint) -> bytes:
    """Serialize a fingerprint."""
    return msgspec.msgpack.encode(fingerprint)


def decode(encoded: bytes) -> Fingerprint:
    """
    Deserialize what `encode` returned.

    Raises:
        ValueError: It is not a fingerprint.
    """
    fingerprint: Fingerprint = msgspec.msgpack.decode(encoded, type=Fingerprint)
    return fingerprint


async def find_created(
    content: MergedContent, fingerprint: Fingerprint, window: TimeWindow
) -> Sequence[File | ListItem]:
    """
    Return every object that matches a fingerprint; empty when surely nothing was created.

    Raises:
        ProviderFailure: The objects cannot be read.
    """
    if isinstance(fingerprint, FileFingerprint):
        return [
            file
            async for file in _files(content, fingerprint)
            if await _file_matches(file, fingerprint, window, content)
        ]
    return [
        list_item
        async for list_item in _list_items(content, fingerprint, window)
        if _list_item_matches(list_item, fingerprint, window)
    ]


async def find_file(
    content: MergedContent, fingerprint: FileFingerprint, window: TimeWindow
) -> File | None:
    """
    Return the file or folder that was made, or whose bytes were replaced; None if it is not known.

    Raises:
        Missing: It was not: nothing has the name, or the file to be replaced is as it was.
        ProviderFailure: It cannot be read.
    """
    folder = ItemKey(fingerprint.drive, fingerprint.folder)
    file = await content.item_by_name(folder, fingerprint.name, projection=_FILE_ATTRIBUTES)
    if fingerprint.renames:
        matching = await find_created(content, fingerprint, window)
        return matching[0] if len(matching) == 1 else None  # type: ignore[return-value]
    if fingerprint.replaces and window.begins_after(file.modified_time):
        raise Missing
    return file if await _file_matches(file, fingerprint, window, content) else None


async def _files(content: MergedContent, fingerprint: FileFingerprint) -> AsyncIterator[File]:
    """Read the files under the name, and under those that upstream would have chosen instead."""
    folder = ItemKey(fingerprint.drive, fingerprint.folder)
    for name in _names(fingerprint):
        try:
            yield await content.item_by_name(folder, name, projection=_FILE_ATTRIBUTES)
        except Missing:
            continue


def _names(fingerprint: FileFingerprint) -> Sequence[str]:
    if not fingerprint.renames:
        return (fingerprint.name,)
    stem, dot, suffix = fingerprint.name.rpartition(".")
    if not stem:
        stem, dot, suffix = fingerprint.name, "", ""
    numbered = (f"{stem} {number}{dot}{suffix}" for number in range(1, MAX_NUMBERED_NAMES + 1))
    return (fingerprint.name, *numbered)


async def _file_matches(
    file: File, fingerprint: FileFingerprint, window: TimeWindow, content: MergedContent
) -> bool:
    time, makers = file.created_time, file.owners
    if fingerprint.replaces:
        time, makers = file.modified_time, file.editors
    if file.is_folder is not fingerprint.is_folder or not window.contains(time):
        return False
    if fingerprint.size is not None and file.size != fingerprint.size:
        may_grow = fingerprint.name.lower().endswith(_GROWING)
        if not may_grow or file.size is None or file.size < fingerprint.size:
            return False
    return await content.may_have_created([maker.email for maker in makers or ()])


async def _list_items(
    content: MergedContent, fingerprint: ListItemFingerprint, window: TimeWindow
) -> AsyncIterator[ListItem]:
    since = (window.since - CLOCK_SKEW).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    query = ListItemQuery(filter=f"Created ge '{since}'", limit=200)
    key, cursor = ListKey(fingerprint.site, fingerprint.list), None
    for _ in range(MAX_PAGES):
        try:
            page = await content.list_items(
                key, query, cursor=cursor, projection=_LIST_ITEM_ATTRIBUTES
            )
        except (Missing, InvalidFilter):
            return
        for list_item in page.items:
            yield list_item
        cursor = page.next
        if cursor is None:
            return


def _list_item_matches(
    list_item: ListItem, fingerprint: ListItemFingerprint, window: TimeWindow
) -> bool:
    if not fingerprint.values or not window.contains(list_item.created_date_time):
        return False
    fields = list_item.fields or {}
    return all(_digest(fields.get(name)) == digest for name, digest in fingerprint.values.items())


def _digest(value: Any) -> str:
    normalized = msgspec.json.encode(_normalize(value), order="deterministic")
    return hashlib.sha256(normalized).hexdigest()[:32]


def _normalize(value: Any) -> Any:
    """Give a value and what upstream returns for it the same form."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        return _normalize_text(value.replace("\r\n", "\n").strip())
    if isinstance(value, list):
        return [_normalize(item) for item in value]
    if isinstance(value, dict):
        return {name: _normalize(item) for name, item in value.items()}
    return value


def _normalize_text(text: str) -> Any:
    """Convert numbers and times: upstream returns ids as texts, and times in another form."""
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat()
