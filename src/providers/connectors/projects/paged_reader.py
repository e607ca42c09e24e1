"""
A listing read from a position on, one source after the other.

Upstream's offsets live for a while only, our page tokens for a day: when an offset is gone, the
source is walked again by ids alone up to where the reader stood.
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
from providers.ports.tasks import TaskPosition

MOST_PAGES = 5  # read for one page of ours; decisions 0, "Page filling"
OFFSET_SECONDS = 50 * 60  # an offset that is older is not tried


@dataclass(frozen=True, slots=True)
class Source:
    """One listing upstream; *name* tells it from its neighbours."""

    name: str
    path: tuple[str, ...]
    params: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Place:
    """Where the reader stands: see `TaskPosition`; *index* is of the source."""

    index: int
    offset: str
    skip: int
    seen: int
    last: str
    at: int


class PagedReader(Generic[P]):
    """Reads listings of one shape."""

    def __init__(  # noqa: PLR0913 - what to read, and what of it to keep
        self,
        client: ProjectClient,
        shape: type[P],
        sources: Sequence[Source],
        *,
        fields: str,
        keep: Callable[[Any], bool] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """*keep* None keeps all."""
        self._client = client
        self._shape = shape
        self._sources = sources
        self._fields = fields
        self._keep = keep
        self._clock = clock

    async def page(
        self, after: TaskPosition | None, limit: int
    ) -> tuple[list[Any], TaskPosition | None]:
        """Return up to *limit* records after a position, and the position then."""
        if not self._sources:
            return [], None
        place = await self._start(after)
        found: list[Any] = []
        for _ in range(MOST_PAGES):
            size = PAGE if self._keep or place.skip else min(PAGE, limit - len(found))
            page = await self._read(place, size)
            for number in range(_behind(page.data, place), len(page.data)):
                one = page.data[number]
                place.seen, place.last, place.skip = place.seen + 1, one.gid, number + 1
                if self._keep is None or self._keep(one):
                    found.append(one)
                if len(found) == limit:
                    is_last = number + 1 == len(page.data)
                    more = self._turn(place, page) if is_last else True
                    return found, self._position(place) if more else None
            if not self._turn(place, page):
                return found, None
        return found, self._position(place)

    async def _start(self, after: TaskPosition | None) -> _Place:
        now = int(self._clock())
        if after is None:
            return _Place(0, "", 0, 0, "", now)
        name, _, offset = (after.cursor or "").partition("|")
        index = next((n for n, one in enumerate(self._sources) if one.name == name), None)
        if index is None:  # the source is gone, and what was in it
            raise Missing
        place = _Place(index, offset, after.skip, after.seen, after.last, after.at)
        if offset and now - after.at > OFFSET_SECONDS:
            await self._find_again(place)
        return place

    async def _read(self, place: _Place, size: int) -> P:
        try:
            return await self._asked(place.index, place.offset, self._fields, size)
        except OffsetExpired:
            await self._find_again(place)
            return await self._asked(place.index, place.offset, self._fields, PAGE)

    async def _asked(self, index: int, offset: str, fields: str, size: int) -> P:
        source = self._sources[index]
        return await self._client.page(
            self._shape, *source.path, fields=fields, offset=offset, size=size, params=source.params
        )

    def _turn(self, place: _Place, page: P) -> bool:
        """Go on to the next page or source; say whether there is one."""
        place.offset, place.skip = next_offset(page), 0
        if place.offset:
            return True
        place.index += 1
        place.seen, place.last, place.at = 0, "", int(self._clock())
        return place.index < len(self._sources)

    def _position(self, place: _Place) -> TaskPosition:
        cursor = f"{self._sources[place.index].name}|{place.offset}"
        return TaskPosition(place.seen, place.last, cursor, place.at, place.skip)

    async def _find_again(self, place: _Place) -> None:
        """
        Walk to behind the last record seen; where it is gone, to those before it.

        Without it, one record may come twice, so that none is lost.
        """
        offset, passed = "", 0
        found: tuple[str, int, str] | None = None
        while True:
            page = await self._asked(place.index, offset, "gid", PAGE)
            ids = [one.gid for one in page.data]
            if place.last in ids:
                found = (offset, ids.index(place.last) + 1, place.last)
                break
            before = place.seen - 1 - passed
            if found is None and before <= len(ids):
                found = (offset, max(before, 0), ids[before - 1] if before > 0 else "")
            passed += len(ids)
            following = next_offset(page)
            if not following or passed >= place.seen + PAGE:
                break
            offset = following
        place.offset, place.skip, place.last = found or (offset, len(ids), ids[-1] if ids else "")
        place.at = int(self._clock())


def _behind(records: Sequence[response_types.Named], place: _Place) -> int:
    """Return where to go on in a page: behind the last record seen, else where that was."""
    if not place.skip:
        return 0
    for number, one in enumerate(records, 1):
        if one.gid == place.last:
            return number
    return min(place.skip - 1, len(records))
