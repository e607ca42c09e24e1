"""What can be asked for at the top of a document."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sandbox.boards import paging
from sandbox.boards.errors import Refused
from sandbox.boards.records import Board, Folder, Item, Tag, Team, Update, User, Workspace
from sandbox.boards.resolver_helpers import Info, Resolver, by_ids, desk_of, paged
from sandbox.boards.store import ACCOUNT_ID

VERSIONS: Mapping[str, str] = MappingProxyType(
    {"2026-07": "maintenance", "2026-10": "current", "2027-01": "release_candidate"}
)
MOST_IDS = 100  # items asked for by their ids


def _boards(
    _: Any,
    info: Info,
    *,
    ids: Sequence[str] | None = None,
    state: str = "active",
    limit: int | None = None,
    page: int | None = None,
    **more: Any,
) -> list[Board]:
    desk = desk_of(info)
    desk.need("boards:read")
    found = [board for board in desk.store.boards.all() if desk.sees(board)]
    found.sort(key=_used if more.get("order_by") == "used_at" else _created, reverse=True)
    if ids is not None:
        found = [board for board in found if board.id in set(ids)]
    # Boards asked for by id come whatever their state, unless a state is named.
    if state != "all" and not (ids is not None and state == "active"):
        found = [board for board in found if board.state == state]
    if more.get("board_kind"):
        found = [board for board in found if board.kind == more["board_kind"]]
    if more.get("workspace_ids"):
        found = [board for board in found if board.workspace_id in more["workspace_ids"]]
    return paged(found, limit, page)


def _created(board: Board) -> tuple[str, str]:
    return (board.created_at, board.id)


def _used(board: Board) -> tuple[str, str]:
    return (board.updated_at, board.id)


def _items(
    _: Any,
    info: Info,
    *,
    ids: Sequence[str] | None = None,
    limit: int | None = None,
    page: int | None = None,
    exclude_nonactive: bool | None = None,
    newest_first: bool | None = None,
) -> list[Item]:
    desk = desk_of(info)
    desk.need("boards:read")
    if ids is not None and len(ids) > MOST_IDS:
        raise Refused("InvalidArgumentException", f"At most {MOST_IDS} ids may be asked for.")
    every = (
        desk.store.items.all()
        if ids is None
        else [item for key in dict.fromkeys(ids) if (item := desk.store.items.find(key))]
    )
    seen = {board.id for board in desk.store.boards.all() if desk.sees(board)}
    found = [item for item in every if item.owner in seen]
    if exclude_nonactive or ids is None:
        found = [item for item in found if item.state == "active"]
    if newest_first:
        found.sort(key=lambda item: item.created_at, reverse=True)
    return paged(found, limit, page)


def _next_items_page(_: Any, info: Info, *, cursor: str, limit: int = 25) -> dict[str, Any]:
    desk_of(info).need("boards:read")
    return paging.next_page(desk_of(info), cursor, limit)


def _by_column_values(
    _: Any,
    info: Info,
    *,
    board_id: str,
    limit: int = 25,
    columns: Sequence[Mapping[str, Any]] | None = None,
    cursor: str | None = None,
    **_more: Any,
) -> dict[str, Any]:
    desk = desk_of(info)
    desk.need("boards:read")
    if cursor:
        return paging.next_page(desk, cursor, limit)
    rules = [
        {"column_id": column["column_id"], "compare_value": list(column["column_values"])}
        for column in columns or ()
    ]
    board = desk.board(board_id)
    return paging.first_page(desk, board.id, group=None, query={"rules": rules}, limit=limit)


def _me(_: Any, info: Info) -> User:
    desk_of(info).need("me:read")
    return desk_of(info).me


def _users(
    _: Any,
    info: Info,
    *,
    ids: Sequence[str] | None = None,
    emails: Sequence[str] | None = None,
    name: str | None = None,
    **more: Any,
) -> list[User]:
    desk_of(info).need("users:read")
    found = by_ids(desk_of(info).store.users.all(), ids)
    if emails is not None:
        wanted = {email.casefold() for email in emails}
        found = [user for user in found if user.email.casefold() in wanted]
    if name is not None:
        found = [user for user in found if name.casefold() in user.name.casefold()]
    if more.get("kind") in {"guests", "non_guests"}:
        found = [one for one in found if (one.kind == "guest") is (more["kind"] == "guests")]
    return paged(found, more.get("limit"), more.get("page"))


def _updates(
    _: Any,
    info: Info,
    *,
    limit: int = 25,
    page: int = 1,
    ids: Sequence[str] | None = None,
    **_more: Any,
) -> list[Update]:
    desk_of(info).need("updates:read")
    every = [one for one in desk_of(info).store.updates.all() if one.parent is None]
    found = sorted(by_ids(every, ids), key=lambda id_: (id_.created_at, id_.id), reverse=True)
    return paged(found, limit, page)


def _account(_: Any, info: Info) -> dict[str, Any]:
    desk_of(info).need("account:read")
    return account_shown(info)


def account_shown(_: Info) -> dict[str, Any]:
    """Return the account as the wire shows it."""
    return {
        "id": str(ACCOUNT_ID),
        "name": "Harbourlight",
        "slug": "harbourlight",
        "tier": "pro",
        "country_code": "SE",
        "created_at": "2021-03-02T07:30:00Z",
        "plan": {"max_users": 40, "period": "yearly", "tier": "pro", "version": 8},
    }


def _version(_: Any, info: Info) -> dict[str, str]:
    value = desk_of(info).version
    return {"value": value, "display_name": value, "kind": VERSIONS.get(value, "deprecated")}


def _versions(_: Any, _info: Info) -> list[dict[str, str]]:
    return [{"value": one, "display_name": one, "kind": VERSIONS[one]} for one in VERSIONS]


def _workspaces(
    _: Any, info: Info, *, ids: Sequence[str] | None = None, **more: Any
) -> list[Workspace]:
    found = by_ids(desk_of(info).store.workspaces.all(), ids)
    return paged(found, more.get("limit"), more.get("page"))


def _folders(_: Any, info: Info, *, ids: Sequence[str] | None = None, **more: Any) -> list[Folder]:
    found = by_ids(desk_of(info).store.folders.all(), ids)
    if more.get("workspace_ids"):
        found = [one for one in found if one.owner in more["workspace_ids"]]
    return paged(found, more.get("limit"), more.get("page"))


def _tags(_: Any, info: Info, *, ids: Sequence[str] | None = None) -> list[Tag]:
    return by_ids(desk_of(info).store.tags.all(), ids or None)


def _teams(_: Any, info: Info, *, ids: Sequence[str] | None = None) -> list[Team]:
    return by_ids(desk_of(info).store.teams.all(), ids)


QUERIES: Mapping[str, Resolver] = MappingProxyType(
    {
        "account": _account,
        "boards": _boards,
        "complexity": lambda _, info: desk_of(info).meter,
        "folders": _folders,
        "items": _items,
        "items_page_by_column_values": _by_column_values,
        "me": _me,
        "next_items_page": _next_items_page,
        "tags": _tags,
        "teams": _teams,
        "updates": _updates,
        "users": _users,
        "version": _version,
        "versions": _versions,
        "workspaces": _workspaces,
    }
)
