"""
Pages of items and their cursors.

A cursor holds the query, the last item of the page before, and the time of the first page: it
expires an hour after that. See docs/spec/upstream/monday.md#item-pages.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from sandbox.boards import errors
from sandbox.boards.context import ExecutionContext
from sandbox.boards.errors import ApiError
from sandbox.boards.query_rules import ItemFilter
from sandbox.boards.records import Item

MAX_PAGE_SIZE = 500  # items
CURSOR_SECONDS = 3600.0  # from the first page until a cursor expires


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """
    The position after a page of items.

    Attributes:
        after: Id of the last item of the page before.
        seen: Number of items up to that one; used when the item has been deleted.
        since: Time of the first page, in seconds since the epoch.
    """

    board: str
    group: str | None = None
    query: dict[str, Any] = {}
    after: str = ""
    seen: int = 0
    since: float


def first_page(
    context: ExecutionContext,
    board: str,
    *,
    group: str | None,
    query: Mapping[str, Any],
    limit: int,
) -> dict[str, Any]:
    """Return the first page of a board's or group's items, as the API's ``ItemsResponse``."""
    start = Cursor(board=board, group=group, query=dict(query), since=context.store.seconds())
    return _page(context, start, limit)


def next_page(context: ExecutionContext, text: str, limit: int) -> dict[str, Any]:
    """
    Return the page after a cursor.

    Raises:
        ApiError: *text* is not a cursor, or the cursor has expired.
    """
    try:
        padded = text + "=" * (-len(text) % 4)
        cursor = msgspec.json.decode(urlsafe_b64decode(padded.encode()), type=Cursor)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise ApiError("CursorException", "The cursor provided is not valid.") from None
    if context.store.seconds() - cursor.since > CURSOR_SECONDS:
        raise ApiError(
            "CursorExpiredError",
            "The cursor provided for pagination has expired. Please refresh your query and obtain"
            " a new cursor.",
        )
    return _page(context, cursor, limit)


def _page(context: ExecutionContext, cursor: Cursor, limit: int) -> dict[str, Any]:
    if not 1 <= limit <= MAX_PAGE_SIZE:
        raise ApiError("InvalidArgumentException", f"limit must be between 1 and {MAX_PAGE_SIZE}.")
    items = _filtered_items(context, cursor)
    start = next((n for n, item in enumerate(items, 1) if item.id == cursor.after), cursor.seen)
    page = items[start : start + limit]
    end = start + len(page)
    if end >= len(items) or not page:
        return {"cursor": None, "items": page}
    next_cursor = msgspec.structs.replace(cursor, after=page[-1].id, seen=end)
    text = urlsafe_b64encode(msgspec.json.encode(next_cursor)).decode().rstrip("=")
    return {"cursor": text, "items": page}


def _filtered_items(context: ExecutionContext, cursor: Cursor) -> list[Item]:
    board = context.store.boards.find(cursor.board)
    if board is None or not context.can_see(board):
        raise errors.board_not_found(cursor.board)
    items = context.store.board_items(board)
    if cursor.group is not None:
        items = tuple(item for item in items if item.group == cursor.group)
    today = datetime.fromtimestamp(context.store.seconds(), UTC).date()
    item_filter = ItemFilter(store=context.store, board=board, today=today, user_id=context.user.id)
    return item_filter.apply(items, cursor.query)
