"""Resolvers of the root query fields."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sandbox.boards import paging
from sandbox.boards.errors import ApiError
from sandbox.boards.records import Board, Folder, Item, Tag, Team, Update, User, Workspace
from sandbox.boards.resolver_helpers import Info, Resolver, context_of, filter_by_ids, paginate
from sandbox.boards.store import ACCOUNT_ID

VERSIONS: Mapping[str, str] = MappingProxyType(
    {"2026-07": "maintenance", "2026-10": "current", "2027-01": "release_candidate"}
)
MAX_IDS = 100  # ids in one query of items


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
    context = context_of(info)
    context.require_scope("boards:read")
    boards = [board for board in context.store.boards.all() if context.can_see(board)]
    boards.sort(key=_used_at if more.get("order_by") == "used_at" else _created_at, reverse=True)
    boards = filter_by_ids(boards, ids)
    # With `ids`, boards of every state are returned, unless the query names a state.
    if state != "all" and not (ids is not None and state == "active"):
        boards = [board for board in boards if board.state == state]
    if more.get("board_kind"):
        boards = [board for board in boards if board.kind == more["board_kind"]]
    if more.get("workspace_ids"):
        boards = [board for board in boards if board.workspace_id in more["workspace_ids"]]
    return paginate(boards, limit, page)


def _created_at(board: Board) -> tuple[str, str]:
    return (board.created_at, board.id)


def _used_at(board: Board) -> tuple[str, str]:
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
    context = context_of(info)
    context.require_scope("boards:read")
    if ids is not None and len(ids) > MAX_IDS:
        raise ApiError("InvalidArgumentException", f"At most {MAX_IDS} ids may be asked for.")
    candidates = (
        context.store.items.all()
        if ids is None
        else [item for key in dict.fromkeys(ids) if (item := context.store.items.find(key))]
    )
    visible = {board.id for board in context.store.boards.all() if context.can_see(board)}
    items = [item for item in candidates if item.owner in visible]
    if exclude_nonactive or ids is None:
        items = [item for item in items if item.state == "active"]
    if newest_first:
        items.sort(key=lambda item: item.created_at, reverse=True)
    return paginate(items, limit, page)


def _next_items_page(_: Any, info: Info, *, cursor: str, limit: int = 25) -> dict[str, Any]:
    context_of(info).require_scope("boards:read")
    return paging.next_page(context_of(info), cursor, limit)


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
    context = context_of(info)
    context.require_scope("boards:read")
    if cursor:
        return paging.next_page(context, cursor, limit)
    rules = [
        {"column_id": column["column_id"], "compare_value": list(column["column_values"])}
        for column in columns or ()
    ]
    board = context.get_board(board_id)
    return paging.first_page(context, board.id, group=None, query={"rules": rules}, limit=limit)


def _me(_: Any, info: Info) -> User:
    context_of(info).require_scope("me:read")
    return context_of(info).user


def _users(
    _: Any,
    info: Info,
    *,
    ids: Sequence[str] | None = None,
    emails: Sequence[str] | None = None,
    name: str | None = None,
    **more: Any,
) -> list[User]:
    context_of(info).require_scope("users:read")
    users = filter_by_ids(context_of(info).store.users.all(), ids)
    if emails is not None:
        addresses = {email.casefold() for email in emails}
        users = [user for user in users if user.email.casefold() in addresses]
    if name is not None:
        users = [user for user in users if name.casefold() in user.name.casefold()]
    if more.get("kind") in {"guests", "non_guests"}:
        users = [user for user in users if (user.kind == "guest") is (more["kind"] == "guests")]
    return paginate(users, more.get("limit"), more.get("page"))


def _updates(
    _: Any,
    info: Info,
    *,
    limit: int = 25,
    page: int = 1,
    ids: Sequence[str] | None = None,
    **_more: Any,
) -> list[Update]:
    context_of(info).require_scope("updates:read")
    updates = context_of(info).store.updates.all()
    comments = filter_by_ids([update for update in updates if update.parent is None], ids)
    comments.sort(key=lambda comment: (comment.created_at, comment.id), reverse=True)
    return paginate(comments, limit, page)


def _account(_: Any, info: Info) -> dict[str, Any]:
    context_of(info).require_scope("account:read")
    return account_fields()


def account_fields() -> dict[str, Any]:
    """Return the fields of the account."""
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
    value = context_of(info).version
    return {"value": value, "display_name": value, "kind": VERSIONS.get(value, "deprecated")}


def _versions(_: Any, _info: Info) -> list[dict[str, str]]:
    return [
        {"value": version, "display_name": version, "kind": kind}
        for version, kind in VERSIONS.items()
    ]


def _workspaces(
    _: Any, info: Info, *, ids: Sequence[str] | None = None, **more: Any
) -> list[Workspace]:
    workspaces = filter_by_ids(context_of(info).store.workspaces.all(), ids)
    return paginate(workspaces, more.get("limit"), more.get("page"))


def _folders(_: Any, info: Info, *, ids: Sequence[str] | None = None, **more: Any) -> list[Folder]:
    folders = filter_by_ids(context_of(info).store.folders.all(), ids)
    if more.get("workspace_ids"):
        folders = [folder for folder in folders if folder.owner in more["workspace_ids"]]
    return paginate(folders, more.get("limit"), more.get("page"))


def _tags(_: Any, info: Info, *, ids: Sequence[str] | None = None) -> list[Tag]:
    return filter_by_ids(context_of(info).store.tags.all(), ids or None)


def _teams(_: Any, info: Info, *, ids: Sequence[str] | None = None) -> list[Team]:
    return filter_by_ids(context_of(info).store.teams.all(), ids)


QUERIES: Mapping[str, Resolver] = MappingProxyType(
    {
        "account": _account,
        "boards": _boards,
        "complexity": lambda _, info: context_of(info).complexity,
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
