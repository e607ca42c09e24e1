"""
Pages of items. A cursor tells which listing it goes on with, after which item, and since when.

It is good for an hour from the listing's first page. Source: reference/wire.md 1C.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from sandbox.boards import errors
from sandbox.boards.context import Desk
from sandbox.boards.errors import Refused
from sandbox.boards.query_rules import Listing
from sandbox.boards.records import Item

MOST = 500  # items a page
LIFETIME = 3600.0  # seconds


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """
    A place in a listing.

    Attributes:
        after: The last item of the page before; *seen* counts the items up to it, for when it is
            gone.
        since: When the listing's first page was asked for, in seconds since the epoch.
    """

    board: str
    group: str | None = None
    query: dict[str, Any] = {}
    after: str = ""
    seen: int = 0
    since: float


def first_page(
    desk: Desk, board: str, *, group: str | None, query: Mapping[str, Any], limit: int
) -> dict[str, Any]:
    """Return the first page of a listing, as the wire's ``ItemsResponse``."""
    start = Cursor(board=board, group=group, query=dict(query), since=desk.store.seconds())
    return _page(desk, start, limit)


def next_page(desk: Desk, cursor: str, limit: int) -> dict[str, Any]:
    """
    Return the page that a cursor leads to.

    Raises:
        Refused: It is no cursor, or older than an hour.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = msgspec.json.decode(urlsafe_b64decode(padded.encode()), type=Cursor)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise Refused("CursorException", "The cursor provided is not valid.") from None
    if desk.store.seconds() - place.since > LIFETIME:
        raise Refused(
            "CursorExpiredError",
            "The cursor provided for pagination has expired. Please refresh your query and obtain"
            " a new cursor.",
        )
    return _page(desk, place, limit)


def _page(desk: Desk, place: Cursor, limit: int) -> dict[str, Any]:
    if not 1 <= limit <= MOST:
        raise Refused("InvalidArgumentException", f"limit must be between 1 and {MOST}.")
    items = _listing(desk, place)
    start = next((n for n, one in enumerate(items, 1) if one.id == place.after), place.seen)
    page = items[start : start + limit]
    end = start + len(page)
    if end >= len(items) or not page:
        return {"cursor": None, "items": page}
    following = msgspec.structs.replace(place, after=page[-1].id, seen=end)
    text = urlsafe_b64encode(msgspec.json.encode(following)).decode().rstrip("=")
    return {"cursor": text, "items": page}


def _listing(desk: Desk, place: Cursor) -> list[Item]:
    board = desk.store.boards.find(place.board)
    if board is None or not desk.sees(board):
        raise errors.no_board(place.board)
    items = desk.store.board_items(board)
    if place.group is not None:
        items = tuple(item for item in items if item.group == place.group)
    today = datetime.fromtimestamp(desk.store.seconds(), UTC).date()
    listing = Listing(store=desk.store, board=board, today=today, me=desk.me.id)
    return listing.chosen(items, place.query)
