"""Pages of what may be seen: filled from upstream's, or cut from what was read whole."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph.context import Context
from policy.refusals import InvalidInput
from providers.ports.collab import Page

MAX_PAGES = 5  # of upstream's for one of ours; decisions 0

T = TypeVar("T")
SortKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class VisiblePage(Generic[T]):
    """
    A page of visible things.

    Attributes:
        next: Where to go on; None when nothing follows.
        warnings: Sentences for `authWarnings`.
    """

    items: tuple[T, ...]
    next: str | None
    warnings: tuple[str, ...] = ()


async def fill_page(
    turn: Callable[[str | None], Awaitable[Page[T]]],
    visible: Callable[[Sequence[T]], Awaitable[list[bool]]],
    *,
    limit: int,
    cursor: str | None,
) -> VisiblePage[T]:
    """
    Gather *limit* visible things, going on where upstream's page ends.

    *turn* reads the page at a cursor, and *visible* says of each member whether it may be seen. It
    ends early when nothing follows or five pages were read; what is returned goes forward always.
    """
    found: list[T] = []
    warnings: dict[str, None] = {}
    pages = 0
    while True:
        page = await turn(cursor)
        pages += max(1, page.calls)
        warnings.update(dict.fromkeys(page.warnings))
        shown = await visible(page.items)
        at = _fits(shown, limit - len(found))
        found += [one for one, seen in zip(page.items[:at], shown, strict=False) if seen]
        if any(shown[at:]):
            return VisiblePage(tuple(found), page.places[at - 1], tuple(warnings))
        cursor = page.next
        if cursor is None or len(found) == limit or pages >= MAX_PAGES:
            return VisiblePage(tuple(found), cursor, tuple(warnings))


def _fits(shown: Sequence[bool], room: int) -> int:
    """Return how many members can be taken until *room* visible ones are there."""
    for at, seen in enumerate(shown, 1):
        room -= seen
        if room == 0:
            return at
    return len(shown)


def cut_page(
    things: Sequence[T], rank: Callable[[T], SortKey], *, limit: int, after: SortKey | None
) -> tuple[tuple[T, ...], SortKey | None]:
    """
    Sort *things* and return those after a rank, at most *limit*.

    Returns:
        The page, and the rank to go on after; None when nothing follows.
    """
    ordered = sorted(things, key=rank)
    rest = [one for one in ordered if after is None or rank(one) > tuple(after)]
    page = tuple(rest[:limit])
    return page, rank(page[-1]) if len(rest) > limit else None


def applied_limit(limit: int | None, context: Context, *, default: int, most: int) -> int:
    """
    Lower a *limit* above the maximum, and note it.

    Raises:
        InvalidInput: It is below 1.
    """
    if limit is None:
        return default
    if limit < 1:
        raise InvalidInput("limit must be at least 1.")
    if limit > most:
        context.applied_limit = most
    return min(limit, most)


def clean_text(given: str | None, name: str, *, most: int = 500) -> str | None:
    """
    Trim a text to look for; a blank one is none.

    Raises:
        InvalidInput: It is too long.
    """
    if len(given or "") > most:
        raise InvalidInput(f"{name} may have at most {most} characters.")
    return (given or "").strip() or None
