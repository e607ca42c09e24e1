"""Pages of visible entries: filled from upstream pages, or cut from a listing read as a whole."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import compress
from typing import Generic, TypeVar

import msgspec

from providers.ports.collab import Page

MAX_PAGES = 5  # upstream pages for one of ours; docs/spec/paging.md#page-filling

T = TypeVar("T")
SortKey = tuple[str, str]


class VisiblePage(msgspec.Struct, Generic[T], frozen=True):
    """
    A page of visible entries.

    Attributes:
        next: The cursor of the next page; None on the last one.
        warnings: Sentences for `authWarnings`.
    """

    items: tuple[T, ...]
    next: str | None
    warnings: tuple[str, ...] = ()


async def fill_page(
    read_page: Callable[[str | None], Awaitable[Page[T]]],
    check_visible: Callable[[Sequence[T]], Awaitable[list[bool]]],
    *,
    limit: int,
    cursor: str | None,
) -> VisiblePage[T]:
    """
    Gather *limit* visible entries from as many upstream pages as needed.

    A page is shorter when nothing follows, or after `MAX_PAGES` upstream pages; its cursor always
    moves forward. *check_visible* returns whether each entry may be seen.
    """
    entries: list[T] = []
    warnings: dict[str, None] = {}
    page_count = 0
    while True:
        page = await read_page(cursor)
        page_count += max(1, page.upstream_pages)
        warnings.update(dict.fromkeys(page.warnings))
        visible = await check_visible(page.items)
        end = _end_of_room(visible, limit - len(entries))
        entries += compress(page.items[:end], visible)
        if any(visible[end:]):
            return VisiblePage(tuple(entries), page.cursors[end - 1], tuple(warnings))
        cursor = page.next
        if cursor is None or len(entries) == limit or page_count >= MAX_PAGES:
            return VisiblePage(tuple(entries), cursor, tuple(warnings))


def _end_of_room(visible: Sequence[bool], room: int) -> int:
    """Return how many entries to take so that *room* of them are visible, at most all."""
    for count, is_visible in enumerate(visible, 1):
        room -= is_visible
        if room == 0:
            return count
    return len(visible)


def cut_page(
    entries: Sequence[T], sort_key: Callable[[T], SortKey], *, limit: int, after: SortKey | None
) -> tuple[tuple[T, ...], SortKey | None]:
    """
    Sort *entries* and return at most *limit* of those after a sort key.

    The second value is the key that the next page comes after; None on the last page.
    """
    ordered = sorted(entries, key=sort_key)
    rest = [entry for entry in ordered if after is None or sort_key(entry) > tuple(after)]
    page = tuple(rest[:limit])
    return page, sort_key(page[-1]) if len(rest) > limit else None


def clean_text(text: str | None) -> str | None:
    """Trim a search text; None if it is blank."""
    return (text or "").strip() or None
