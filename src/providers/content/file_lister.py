"""
Listings of files: one folder in upstream's order, or several places sorted here.

    u  one folder, by time or size: upstream orders, and its pages are gone through
    g  anything else: everything is read, within bounds, and sorted; a page is what comes next

A cursor of the second way is the rank of the last file, so what appears or goes between two pages
loses and doubles nothing. Source: decisions 8.3.
"""

import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, total_ordering
from typing import Any, TypeAlias

import msgspec

from providers.content.ids import ItemKey
from providers.failures import ProviderFailure, Refused, Throttled
from providers.fanout import gather_results
from providers.ports.collab import FileQuery, InvalidCursor, Order, Page
from providers.records import collab as records
from providers.records.base import to_epoch_ms

MOST_CHILDREN = 20_000  # of one folder, sorted here
MOST_FOUND = 2000  # of one library, by one search
MOST_PAGES = 5  # of upstream for one of ours; decisions 0
_CHILDREN_PAGE = 999
_FOUND_PAGE = 200
_FILTERED_PAGE = 200
_SORT_KEYS = {
    "name": "name",
    "modified_time": "modified_time",
    "created_time": "created_time",
    "size": "size",
}

# (folder, order, cursor, top, wanted) -> a page; and (folder, text, cursor, top, wanted).
Children: TypeAlias = Callable[
    [ItemKey, Order | None, str | None, int, AbstractSet[str]], Awaitable[Page[records.File]]
]
Find: TypeAlias = Callable[
    [ItemKey, str, str | None, int, AbstractSet[str]], Awaitable[Page[records.File]]
]
Rank: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Gathered:
    """Everything there is of a listing, in order."""

    ranked: Sequence[tuple[Rank, records.File]]
    warnings: tuple[str, ...]

    def page(self, query: FileQuery, cursor: str | None) -> Page[records.File]:
        """Return what comes after a cursor."""
        ranks = [key for key, _ in self.ranked]
        start = 0 if cursor is None else bisect_right(ranks, _read_rank(cursor, query.order))
        chosen = self.ranked[start : start + query.limit]
        cursors = tuple(f"g{_write_rank(one, query.order)}" for _, one in chosen)
        more = start + query.limit < len(self.ranked)
        return Page(
            items=tuple(one for _, one in chosen),
            places=cursors,
            next=cursors[-1] if more and cursors else None,
            calls=1,
            warnings=self.warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLister:
    """
    Lists files by two calls of whoever knows where they are, for the length of one request.

    What was read whole is kept meanwhile for those who go on in it.
    """

    children: Children
    find: Find
    _held: dict[object, "_Gathered"] = field(default_factory=dict, repr=False)

    async def page(
        self,
        places: Sequence[ItemKey],
        query: FileQuery,
        *,
        cursor: str | None,
        wanted: AbstractSet[str],
        going_on: bool = False,
    ) -> Page[records.File]:
        """
        Return the files of some places in order.

        *going_on*: what was read whole for the page before is not read again.

        Raises:
            InvalidCursor: *cursor* is not of this listing.
            ProviderFailure: No place could be read.
        """
        needed = frozenset(wanted) | needs(query)
        way = "" if cursor is None else cursor[:1]
        rest = None if cursor is None else cursor[1:]
        single = len(places) == 1 and query.text is None
        if way == "u" or (way == "" and single and query.order.is_upstreams):
            if not (single and query.order.is_upstreams):
                raise InvalidCursor
            try:
                return await self._upstream(places[0], query, rest, needed)
            except Refused:
                if way == "u":
                    raise
        if way not in ("", "g"):
            raise InvalidCursor
        known = (tuple(places), query, needed)
        if not going_on or known not in self._held:
            self._held[known] = await self._gather(places, query, needed)
        return self._held[known].page(query, rest)

    async def _upstream(
        self, folder: ItemKey, query: FileQuery, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.File]:
        top = _FILTERED_PAGE if _filters(query) else query.limit
        found: list[tuple[records.File, str]] = []
        place, calls, more = cursor, 0, True
        while more and calls < MOST_PAGES and len(found) < query.limit:
            page = await self.children(folder, query.order, place, top, wanted)
            found += [
                (file, f"u{at}")
                for file, at in zip(page.items, page.places, strict=True)
                if passes(file, query)
            ]
            calls += 1
            place, more = page.next, page.next is not None
        return Page(
            items=tuple(file for file, _ in found),
            places=tuple(at for _, at in found),
            next=None if place is None else f"u{place}",
            calls=calls,
        )

    async def _gather(
        self, places: Sequence[ItemKey], query: FileQuery, wanted: AbstractSet[str]
    ) -> "_Gathered":
        """Read and sort everything."""
        answers = await gather_results([self._all(place, query, wanted) for place in places])
        failures = [one for one in answers if isinstance(one, ProviderFailure)]
        if failures and len(failures) == len(places):
            raise next((one for one in failures if isinstance(one, Throttled)), failures[0])
        warnings = ["A library could not be read."] * bool(failures)
        found: dict[ItemKey, records.File] = {}
        for answer in answers:
            if isinstance(answer, ProviderFailure):
                continue
            files, complete = answer
            found |= {one.key: one for one in files if passes(one, query)}
            if not complete:
                warnings.append("A folder or a search holds more than can be sorted at once.")
        ranked = sorted((rank(one, query.order), one) for one in found.values())
        return _Gathered(ranked, tuple(dict.fromkeys(warnings)))

    async def _all(
        self, place: ItemKey, query: FileQuery, wanted: AbstractSet[str]
    ) -> tuple[list[records.File], bool]:
        """Read everything of a place, and say whether that is all."""
        most = MOST_CHILDREN if query.text is None else MOST_FOUND
        found: list[records.File] = []
        cursor: str | None = None
        while True:
            if query.text is None:
                page = await self.children(place, None, cursor, _CHILDREN_PAGE, wanted)
            else:
                page = await self.find(place, query.text, cursor, _FOUND_PAGE, wanted)
            found += page.items
            cursor = page.next
            if cursor is None:
                return found, True
            if len(found) >= most:
                return found, False


def needs(query: FileQuery) -> frozenset[str]:
    """Return the attributes that filtering and ordering look at."""
    found = {_SORT_KEYS[query.order.by]} if query.order.by in _SORT_KEYS else set()
    if query.name is not None or query.names_only:
        found.add("name")
    if query.modified_after is not None or query.modified_before is not None:
        found.add("modified_time")
    return frozenset(found)


def passes(file: records.File, query: FileQuery) -> bool:
    """Say whether a file passes the filters of *query*, and its text where names alone count."""
    if query.names_only and not _named(file.name or "", query.text or ""):
        return False
    if query.mime_type is not None:
        kind = records.media_type(file.mime_type)
        if file.is_folder or kind is None or not _glob(query.mime_type.lower()).fullmatch(kind):
            return False
    if query.name is not None and query.name.casefold() not in (file.name or "").casefold():
        return False
    return _in_time(file.modified_time, query.modified_after, query.modified_before)


def _named(name: str, text: str) -> bool:
    """Say whether each part of *text* begins a word of *name*; signs are parts of words."""
    parts = (re.escape(part.strip('"*')) for part in text.casefold().split())
    return all(re.search(rf"(?<!\w){part}", name.casefold()) for part in parts)


def _filters(query: FileQuery) -> bool:
    given = (query.mime_type, query.name, query.modified_after, query.modified_before)
    return any(one is not None for one in given)


def _in_time(time: datetime | None, after: datetime | None, before: datetime | None) -> bool:
    if after is None and before is None:
        return True
    if time is None:
        return False
    return (after is None or time > after) and (before is None or time < before)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


# -- order


@total_ordering
@dataclass(frozen=True, slots=True)
class _Backwards:
    """A text that sorts the other way round."""

    text: str

    def __lt__(self, other: "_Backwards") -> bool:
        return self.text > other.text


def rank(file: records.File, order: Order) -> Rank:
    """Return what to sort by; equal ones go by id."""
    return _rank(file.is_folder, _value(file, order), file.drive, file.item, order)


def _rank(folder: bool, value: str | int, drive: str, item: str, order: Order) -> Rank:  # noqa: FBT001 - a part of the rank
    first = 0 if folder or order.by != "name" else 1
    ordered: object
    if isinstance(value, str):
        ordered = _Backwards(value) if order.descending else value
    else:
        ordered = -value if order.descending else value
    return (first, ordered, drive, item)


def _value(file: records.File, order: Order) -> str | int:
    match order.by:
        case "name":
            return (file.name or "").casefold()
        case "modified_time":
            return _moment(file.modified_time)
        case "created_time":
            return _moment(file.created_time)
        case "size":
            return 0 if file.is_folder and not order.count_folder_sizes else file.size or 0
        case _:
            return 0


def _moment(time: datetime | None) -> int:
    return 0 if time is None else to_epoch_ms(time)


class _Last(msgspec.Struct, array_like=True):
    folder: bool
    value: str | int
    drive: str
    item: str


def _write_rank(file: records.File, order: Order) -> str:
    last = _Last(file.is_folder, _value(file, order), file.drive, file.item)
    return msgspec.json.encode(last).decode()


def _read_rank(text: str, order: Order) -> Rank:
    try:
        last = msgspec.json.decode(text, type=_Last)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidCursor from None
    if isinstance(last.value, str) is not (order.by == "name"):
        raise InvalidCursor
    return _rank(last.folder, last.value, last.drive, last.item, order)
