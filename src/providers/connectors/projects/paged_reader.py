"""
Reader of listings from a position on, one listing after the other.

Asana's offsets expire sooner than page tokens of the gateway. When an offset has expired, the
listing is read again by ids alone, up to the position: docs/spec/upstream/asana.md#paging. This
takes `MAX_RESTORE_CALLS` calls at most: a position further on is refused.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from providers.connectors.projects import response_types
from providers.connectors.projects.rest_client import (
    PAGE,
    OffsetExpired,
    P,
    ProjectClient,
    next_offset,
)
from providers.failures import Missing
from providers.ports.tasks import StalePosition, TaskPosition

MAX_PAGES = 5  # read for one page of the gateway: docs/spec/paging.md#page-filling
MAX_RESTORE_CALLS = 10  # to find a position again: docs/spec/tasks.md#old-page-tokens
OFFSET_SECONDS = 50 * 60  # older offsets are not tried


@dataclass(frozen=True, slots=True)
class Source:
    """One of the listings; *name* identifies it within a reader."""

    name: str
    path: tuple[str, ...]
    params: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Position:
    """The reader's position: index and offset of the source; the rest as in `TaskPosition`."""

    index: int
    offset: str
    skip: int
    seen: int
    last: str
    at: int


class PagedReader(Generic[P]):
    """Reads listings of one type of record."""

    def __init__(  # noqa: PLR0913 - the listings, and the filter over their records
        self,
        client: ProjectClient,
        shape: type[P],
        sources: Sequence[Source],
        *,
        fields: str,
        keep: Callable[[Any], bool] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """*keep* is the filter over records; None keeps all."""
        self._client = client
        self._shape = shape
        self._sources = sources
        self._fields = fields
        self._keep = keep
        self._clock = clock

    async def page(
        self, after: TaskPosition | None, limit: int
    ) -> tuple[list[Any], TaskPosition | None]:
        """Return at most *limit* records after a position, and the position after them, if any."""
        if not self._sources:
            return [], None
        position = await self._start(after)
        records: list[Any] = []
        for _ in range(MAX_PAGES):
            size = PAGE if self._keep or position.skip else min(PAGE, limit - len(records))
            page = await self._read(position, size)
            for index in range(_start_index(page.data, position), len(page.data)):
                record = page.data[index]
                position.seen, position.last = position.seen + 1, record.gid
                position.skip = index + 1
                if self._keep is None or self._keep(record):
                    records.append(record)
                if len(records) == limit:
                    is_last = index + 1 == len(page.data)
                    more = self._advance(position, page) if is_last else True
                    return records, self._task_position(position) if more else None
            if not self._advance(position, page):
                return records, None
        return records, self._task_position(position)

    async def _start(self, after: TaskPosition | None) -> _Position:
        now = int(self._clock())
        if after is None:
            return _Position(0, "", 0, 0, "", now)
        name, _, offset = (after.cursor or "").partition("|")
        names = [source.name for source in self._sources]
        if name not in names:
            raise Missing
        position = _Position(
            names.index(name), offset, after.skip, after.seen, after.last, after.at
        )
        if offset and now - after.at > OFFSET_SECONDS:
            await self._restore(position)
        return position

    async def _read(self, position: _Position, size: int) -> P:
        try:
            return await self._page(position.index, position.offset, self._fields, size)
        except OffsetExpired:
            await self._restore(position)
            return await self._page(position.index, position.offset, self._fields, PAGE)

    async def _page(self, index: int, offset: str, fields: str, size: int) -> P:
        source = self._sources[index]
        return await self._client.page(
            self._shape, *source.path, fields=fields, offset=offset, size=size, params=source.params
        )

    def _advance(self, position: _Position, page: P) -> bool:
        """Go on to the next page or source; return whether there is one."""
        position.offset, position.skip = next_offset(page), 0
        if position.offset:
            return True
        position.index += 1
        position.seen, position.last, position.at = 0, "", int(self._clock())
        return position.index < len(self._sources)

    def _task_position(self, position: _Position) -> TaskPosition:
        cursor = f"{self._sources[position.index].name}|{position.offset}"
        return TaskPosition(position.seen, position.last, cursor, position.at, position.skip)

    async def _restore(self, position: _Position) -> None:
        """
        Set the offset after the last record seen, reading again from the start.

        When that record is gone, one record may come twice, so that none is lost.

        Raises:
            StalePosition: Too many records come before it.
        """
        if position.seen > (MAX_RESTORE_CALLS - 1) * PAGE:
            raise StalePosition
        offset, passed = "", 0
        restored: tuple[str, int, str] | None = None
        while True:
            page = await self._page(position.index, offset, "gid", PAGE)
            ids = [record.gid for record in page.data]
            if position.last in ids:
                restored = (offset, ids.index(position.last) + 1, position.last)
                break
            before = position.seen - 1 - passed
            if restored is None and before <= len(ids):
                restored = (offset, max(before, 0), ids[before - 1] if before > 0 else "")
            passed += len(ids)
            following = next_offset(page)
            if not following or passed >= position.seen + PAGE:
                break
            offset = following
        position.offset, position.skip, position.last = restored or (
            offset,
            len(ids),
            ids[-1] if ids else "",
        )
        position.at = int(self._clock())


def _start_index(records: Sequence[response_types.Named], position: _Position) -> int:
    """Return the index after the last record seen; without that record, the index where it was."""
    if not position.skip:
        return 0
    after_last = (index for index, record in enumerate(records, 1) if record.gid == position.last)
    return next(after_last, min(position.skip - 1, len(records)))
