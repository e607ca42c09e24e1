"""Cursors of pages of list items: a strategy of `items`, and a position in its listing."""

from collections.abc import Sequence

from msgspec.structs import replace

from providers.ports.collab import InvalidCursor, Page
from providers.records import collab as records


def split_cursor(cursor: str | None) -> tuple[str, str | None]:
    """
    Return the strategy and the rest of a cursor; "" and None for the first page.

    Raises:
        InvalidCursor: It names no strategy.
    """
    if cursor is None:
        return "", None
    if cursor[:1] not in ("d", "s", "o"):
        raise InvalidCursor
    return cursor[0], cursor[1:]


def with_strategy(page: Page[records.ListItem], strategy: str) -> Page[records.ListItem]:
    """Return a page whose cursors name a strategy."""
    return replace(
        page,
        cursors=tuple(strategy + cursor for cursor in page.cursors),
        next=None if page.next is None else strategy + page.next,
    )


def resume(cursor: str | None, numbers: Sequence[str]) -> int:
    """
    Return the position to continue at in an order that may have changed since.

    Raises:
        InvalidCursor: It was not made by this listing.
    """
    if cursor is None:
        return 0
    offset, colon, last_number = cursor.partition(":")
    if not colon or not (offset.isascii() and offset.isdigit()) or len(offset) > 6:
        raise InvalidCursor
    position = int(offset)
    if 0 < position <= len(numbers) and numbers[position - 1] == last_number:
        return position
    try:
        return numbers.index(last_number) + 1
    except ValueError:
        return min(position, len(numbers))
