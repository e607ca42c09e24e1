"""
Finding again what was made when nobody heard of it: by its place, its time and its content.

A trace is taken before something is made. Only what fits all of it is found, because whoever made
the thing will be let at it: another's file of the same name, or a row with other values, is not.
Source: reference, reliability F3; decisions 4.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import msgspec

from providers.content.ids import ItemKey, ListKey
from providers.content.merged_content import MergedContent
from providers.failures import Missing
from providers.ports.collab import InvalidFilter, RowQuery
from providers.records.collab import File, Row

SKEW = timedelta(seconds=5)  # upstream's clock against ours, and its whole seconds
MOST_NAMES = 10  # that upstream may have chosen when the name was taken
MOST_PAGES = 10  # of a list's newest items
_OF_FILE = frozenset({"name", "size", "created_time", "owners"})
_OF_ROW = frozenset({"fields", "created_date_time"})
# Upstream writes properties into these, so that they grow; wire report 1D.4.
_GROWING = (".docx", ".xlsx", ".pptx")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


class FileFingerprint(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """
    A file or folder to be.

    Attributes:
        size: In bytes; None when it is not known beforehand.
        renames: Whether upstream chooses another name when this one is taken.
    """

    drive: str
    folder: str
    name: str
    is_folder: bool = False
    size: int | None = None
    renames: bool = False

    @property
    def place(self) -> str:
        return f"{self.drive}:{self.folder}"


class RowFingerprint(msgspec.Struct, frozen=True, kw_only=True, tag="row"):
    """A list item to be; *values*: column -> digest of what is written there."""

    site: str
    list: str
    values: dict[str, str]

    @property
    def place(self) -> str:
        return f"{self.site}:{self.list}"


Fingerprint: TypeAlias = FileFingerprint | RowFingerprint


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """When it must have been made: from the intent to the last time its maker can have acted."""

    since: datetime
    until: datetime

    def holds(self, moment: datetime | None) -> bool:
        """Say whether *moment* lies in it, give or take what clocks differ by."""
        return moment is not None and self.since - SKEW <= moment <= self.until + SKEW


def row_fingerprint(key: ListKey, fields: Mapping[str, Any]) -> RowFingerprint:
    """Take the trace of a list item with these values."""
    values = {name: _digest(value) for name, value in fields.items() if value is not None}
    return RowFingerprint(site=key.site, list=key.list, values=values)


def encode(trace: Fingerprint) -> bytes:
    """Write a trace."""
    return msgspec.msgpack.encode(trace)


def decode(written: bytes) -> Fingerprint:
    """
    Read what `encode` wrote.

    Raises:
        ValueError: It is none.
    """
    read: Fingerprint = msgspec.msgpack.decode(written, type=Fingerprint)
    return read


async def find_created(
    content: MergedContent, trace: Fingerprint, span: TimeWindow
) -> Sequence[File | Row]:
    """
    Return everything that fits the trace; nothing when surely nothing was made.

    Raises:
        ProviderFailure: It cannot be told.
    """
    if isinstance(trace, FileFingerprint):
        return [one async for one in _files(content, trace) if _fits(one, trace, span, content)]
    return [one async for one in _rows(content, trace, span) if _has(one, trace, span)]


async def _files(content: MergedContent, trace: FileFingerprint) -> AsyncIterator[File]:
    """Read what has the name, or one that upstream would have chosen instead."""
    folder = ItemKey(trace.drive, trace.folder)
    for name in _names(trace):
        try:
            yield await content.named(folder, name, wanted=_OF_FILE)
        except Missing:
            continue


def _names(trace: FileFingerprint) -> Sequence[str]:
    if not trace.renames:
        return (trace.name,)
    stem, dot, suffix = trace.name.rpartition(".")
    if not stem:
        stem, dot, suffix = trace.name, "", ""
    numbered = (f"{stem} {number}{dot}{suffix}" for number in range(1, MOST_NAMES + 1))
    return (trace.name, *numbered)


def _fits(one: File, trace: FileFingerprint, span: TimeWindow, content: MergedContent) -> bool:
    if one.is_folder is not trace.is_folder or not span.holds(one.created_time):
        return False
    if trace.size is not None and one.size != trace.size:
        grows = trace.name.lower().endswith(_GROWING)
        if not grows or one.size is None or one.size < trace.size:
            return False
    return content.may_have_created([owner.email for owner in one.owners or ()])


async def _rows(
    content: MergedContent, trace: RowFingerprint, span: TimeWindow
) -> AsyncIterator[Row]:
    since = (span.since - SKEW).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    query = RowQuery(filter=f"Created ge '{since}'", limit=200)
    key, cursor = ListKey(trace.site, trace.list), None
    for _ in range(MOST_PAGES):
        try:
            page = await content.rows(key, query, cursor=cursor, wanted=_OF_ROW)
        except (Missing, InvalidFilter):
            return
        for one in page.items:
            yield one
        cursor = page.next
        if cursor is None:
            return


def _has(one: Row, trace: RowFingerprint, span: TimeWindow) -> bool:
    if not trace.values or not span.holds(one.created_date_time):
        return False
    fields = one.fields or {}
    return all(_digest(fields.get(name)) == digest for name, digest in trace.values.items())


def _digest(value: Any) -> str:
    plain = msgspec.json.encode(_plain(value), order="deterministic")
    return hashlib.sha256(plain).hexdigest()[:32]


def _plain(value: Any) -> Any:
    """Write a value so that what upstream gives back for it is written alike."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        return _plain_text(value.replace("\r\n", "\n").strip())
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


def _plain_text(text: str) -> Any:
    """Write numbers and times as such: ids come back as texts, times in another form."""
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat()
