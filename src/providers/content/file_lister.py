"""
Listings of files: everything is read, within bounds, and sorted here; a page is a part of it.

Upstream orders by name alone and ignores other orders without a word
(docs/spec/upstream/microsoft-files.md#folder-pages), so its order is never relied on.

A cursor is the rank of the last file, so files that appear or disappear between two pages lose and
duplicate no others. The bounds are docs/spec/collab.md#file-list-bounds.
"""

import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import total_ordering
from typing import Any, TypeAlias

import msgspec

from providers.collab_ids import ItemKey
from providers.failures import ProviderFailure, Throttled
from providers.fanout import gather_results
from providers.ports.collab import FileQuery, InvalidCursor, Order, Page
from providers.records import collab as records
from providers.records.base import to_epoch_ms
from providers.turns import in_turns

MAX_CHILDREN = 20_000  # of one folder, sorted here
MAX_HITS = 2000  # of one library, by one search
_CHILDREN_PER_PAGE = 999
_HITS_PER_PAGE = 200
_SORT_KEYS = frozenset({"name", "modified_time", "created_time", "size"})

# (folder, cursor, top, wanted) -> a page; and (folder, text, cursor, top, wanted).
ReadChildren: TypeAlias = Callable[
    [ItemKey, str | None, int, AbstractSet[str]], Awaitable[Page[records.File]]
]
SearchFiles: TypeAlias = Callable[
    [ItemKey, str, str | None, int, AbstractSet[str]], Awaitable[Page[records.File]]
]
Rank: TypeAlias = tuple[Any, ...]


class _SortedListing(msgspec.Struct, frozen=True):
    """A listing that was read whole, in order."""

    ranked: Sequence[tuple[Rank, records.File]]
    warnings: tuple[str, ...]

    def page(self, query: FileQuery, cursor: str | None) -> Page[records.File]:
        """Return the files after a cursor."""
        ranks = [key for key, _ in self.ranked]
        start = 0 if cursor is None else bisect_right(ranks, _decode_rank(cursor, query.order))
        files = [file for _, file in self.ranked[start : start + query.limit]]
        cursors = tuple(f"g{_encode_rank(file, query.order)}" for file in files)
        more = start + query.limit < len(self.ranked)
        return Page(
            items=tuple(files),
            cursors=cursors,
            next=cursors[-1] if more and cursors else None,
            warnings=self.warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLister:
    """
    Lists files for the length of one request.

    Listings that were read whole are kept for the pages that follow.
    """

    children: ReadChildren
    search: SearchFiles
    _listings: dict[object, _SortedListing] = field(default_factory=dict, repr=False)

    async def page(
        self,
        folders: Sequence[ItemKey],
        query: FileQuery,
        *,
        cursor: str | None,
        projection: AbstractSet[str],
        reuse_listing: bool = False,
    ) -> Page[records.File]:
        """
        Return the files of some folders in order; arguments as `MergedFiles.files`.

        Raises:
            InvalidCursor: *cursor* is not of this listing.
            ProviderFailure: No folder could be read.
        """
        needed = frozenset(projection) | needed_attributes(query)
        if cursor is not None and cursor[:1] != "g":
            raise InvalidCursor
        listing = (tuple(folders), query, needed)
        if not reuse_listing or listing not in self._listings:
            self._listings[listing] = await self._read_all(folders, query, needed)
        return self._listings[listing].page(query, None if cursor is None else cursor[1:])

    async def _read_all(
        self, folders: Sequence[ItemKey], query: FileQuery, projection: AbstractSet[str]
    ) -> _SortedListing:
        answers = await gather_results(
            [self._read_folder(folder, query, projection) for folder in folders]
        )
        failures = [answer for answer in answers if isinstance(answer, ProviderFailure)]
        if failures and len(failures) == len(folders):
            throttles = (failure for failure in failures if isinstance(failure, Throttled))
            raise next(throttles, failures[0])
        warnings = ["A library could not be read."] * bool(failures)
        matches: dict[ItemKey, records.File] = {}
        passes = FileFilter(query)
        for answer in answers:
            if isinstance(answer, ProviderFailure):
                continue
            files, complete = answer
            matches |= {file.key: file async for file in in_turns(files) if passes(file)}
            if not complete:
                warnings.append("A folder or a search holds more than can be sorted at once.")
        ranked = [(rank(file, query.order), file) async for file in in_turns(matches.values())]
        ranked.sort()
        return _SortedListing(ranked, tuple(dict.fromkeys(warnings)))

    async def _read_folder(
        self, folder: ItemKey, query: FileQuery, projection: AbstractSet[str]
    ) -> tuple[list[records.File], bool]:
        """Read the files of a folder up to the bound; the second value tells whether all fit."""
        limit = MAX_CHILDREN if query.text is None else MAX_HITS
        files: list[records.File] = []
        cursor: str | None = None
        while True:
            if query.text is None:
                page = await self.children(folder, cursor, _CHILDREN_PER_PAGE, projection)
            else:
                page = await self.search(folder, query.text, cursor, _HITS_PER_PAGE, projection)
            files += page.items
            cursor = page.next
            if cursor is None:
                return files, True
            if len(files) >= limit:
                return files, False


def needed_attributes(query: FileQuery) -> frozenset[str]:
    """Return the attributes that filtering and ordering look at."""
    needed = set[str]({query.order.by} & _SORT_KEYS)
    if query.name is not None or query.names_only or query.web_addresses:
        needed.add("name")
    if query.owner is not None:
        needed.add("owners")
    if query.modified_after is not None or query.modified_before is not None:
        needed.add("modified_time")
    return frozenset(needed)


class FileFilter:
    """Tells whether files pass the filters of a query, which are folded once."""

    def __init__(self, query: FileQuery) -> None:
        self._query = query
        self._name = None if query.name is None else query.name.casefold()
        self._owner = None if query.owner is None else query.owner.casefold()
        # The index finds addresses by their beginnings.
        self._last_parts = {url.rpartition("/")[2].casefold() for url in query.web_addresses}
        self._beginnings = _word_beginnings(query.text or "") if query.names_only else ()

    def __call__(self, file: records.File) -> bool:
        """Return whether *file* passes, and its name the text if names alone count."""
        query, name = self._query, (file.name or "").casefold()
        if not all(beginning.search(name) for beginning in self._beginnings):
            return False
        if query.mime_type is not None:
            media_type = records.media_type(file.mime_type)
            if file.is_folder or media_type is None or not query.mime_type(media_type):
                return False
        if self._name is not None and self._name not in name:
            return False
        if self._owner is not None and not any(
            owner.email.casefold() == self._owner for owner in file.owners or ()
        ):
            return False
        if self._last_parts and name not in self._last_parts:
            return False
        return _is_between(file.modified_time, query.modified_after, query.modified_before)


def _word_beginnings(text: str) -> tuple[re.Pattern[str], ...]:
    """Return a pattern for each part of *text*, which begins a word; signs are parts of words."""
    parts = dict.fromkeys(re.escape(part.strip('"*')) for part in text.casefold().split())
    return tuple(re.compile(rf"(?<!\w){part}") for part in parts)


def _is_between(time: datetime | None, after: datetime | None, before: datetime | None) -> bool:
    if after is None and before is None:
        return True
    if time is None:
        return False
    return (after is None or time > after) and (before is None or time < before)


# -- order


@total_ordering
class _Descending(msgspec.Struct, frozen=True):
    """A text that sorts in descending order."""

    text: str

    def __lt__(self, other: "_Descending") -> bool:
        return self.text > other.text


def rank(file: records.File, order: Order) -> Rank:
    """Return the sort key of a file; files that compare equal are ordered by id."""
    return _rank(file.is_folder, _sort_value(file, order), file.drive, file.item, order)


def _rank(is_folder: bool, value: str | int, drive: str, item: str, order: Order) -> Rank:  # noqa: FBT001 - a part of the rank
    first = 0 if is_folder or order.by != "name" else 1
    ordered: object
    if isinstance(value, str):
        ordered = _Descending(value) if order.descending else value
    else:
        ordered = -value if order.descending else value
    return (first, ordered, drive, item)


def _sort_value(file: records.File, order: Order) -> str | int:
    match order.by:
        case "name":
            return (file.name or "").casefold()
        case "modified_time":
            return _time_value(file.modified_time)
        case "created_time":
            return _time_value(file.created_time)
        case "size":
            return 0 if file.is_folder and not order.count_folder_sizes else file.size or 0
        case _:
            return 0


def _time_value(time: datetime | None) -> int:
    return 0 if time is None else to_epoch_ms(time)


class _EncodedRank(msgspec.Struct, array_like=True):
    is_folder: bool
    value: str | int
    drive: str
    item: str


def _encode_rank(file: records.File, order: Order) -> str:
    encoded = _EncodedRank(file.is_folder, _sort_value(file, order), file.drive, file.item)
    return msgspec.json.encode(encoded).decode()


def _decode_rank(text: str, order: Order) -> Rank:
    try:
        encoded = msgspec.json.decode(text, type=_EncodedRank)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidCursor from None
    if isinstance(encoded.value, str) is not (order.by == "name"):
        raise InvalidCursor
    return _rank(encoded.is_folder, encoded.value, encoded.drive, encoded.item, order)
