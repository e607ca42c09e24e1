"""What the wire changes of boards, their groups and columns, comments and tags."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from sandbox.boards import errors
from sandbox.boards.context import Desk
from sandbox.boards.errors import Refused
from sandbox.boards.item_mutations import group_named, read_json
from sandbox.boards.records import Board, Column, Group, Tag, Update, Workspace
from sandbox.boards.resolver_helpers import Info, Resolver, desk_of
from sandbox.boards.settings import status_settings
from sandbox.boards.store import GROUP_COLORS

# Comments


def _create_update(
    _: Any,
    info: Info,
    *,
    body: str,
    item_id: str | None = None,
    parent_id: str | None = None,
) -> Update:
    desk = desk_of(info)
    desk.need_write("updates:write")
    if not body.strip():
        raise Refused("InvalidArgumentException", "The body of an update cannot be empty.")
    if parent_id is not None:
        parent = _update(desk, parent_id)
        return desk.store.add_update(
            parent.owner, body, creator_id=desk.me.id, parent=parent.parent or parent.id
        )
    item, _board = desk.item(item_id)
    return desk.store.add_update(item.id, body, creator_id=desk.me.id)


def _edit_update(_: Any, info: Info, *, id: str, body: str) -> Update:  # noqa: A002 - the wire's
    desk = desk_of(info)
    desk.need_write("updates:write")
    update = _update(desk, id)
    if update.creator_id != desk.me.id:
        raise errors.not_allowed()
    changed = msgspec.structs.replace(update, body=body, updated_at=desk.store.now())
    return desk.store.updates.put(changed)


def _delete_update(_: Any, info: Info, *, id: str) -> Update:  # noqa: A002 - the wire's
    desk = desk_of(info)
    desk.need_write("updates:write")
    update = _update(desk, id)
    for reply in desk.store.replies(update):
        desk.store.updates.drop(reply.id)
    desk.store.updates.drop(update.id)
    return update


def _update(desk: Desk, update_id: str) -> Update:
    update = desk.store.updates.find(update_id)
    if update is None:
        raise Refused("ResourceNotFoundException", "Update not found", update_id=update_id)
    desk.item(update.owner)
    return update


# Boards


def _create_board(_: Any, info: Info, *, board_name: str, board_kind: str, **more: Any) -> Board:
    desk = desk_of(info)
    desk.need_write("boards:write")
    usual = (
        Column(id="person", title="Person", type="people"),
        Column(id="status", title="Status", type="status", settings=status_settings()),
        Column(id="date4", title="Date", type="date"),
    )
    return desk.store.add_board(
        board_name,
        creator_id=desk.me.id,
        kind=board_kind,
        description=more.get("description"),
        workspace_id=more.get("workspace_id"),
        folder_id=more.get("folder_id"),
        subscribers=tuple(more.get("board_subscriber_ids") or (desk.me.id,)),
        columns=() if more.get("empty") else usual,
    )


def _set_board_state(state: str) -> Resolver:
    def resolve(_: Any, info: Info, *, board_id: str) -> Board:
        desk = desk_of(info)
        desk.need_write("boards:write")
        return desk.store.change_board(desk.board(board_id), state=state)

    return resolve


def _create_group(
    _: Any, info: Info, *, board_id: str, group_name: str, group_color: str | None = None
) -> dict[str, Any]:
    desk = desk_of(info)
    desk.need_write("boards:write")
    board = desk.board(board_id)
    known = {one.id for one in board.groups}
    new_id = next(f"group_{n}" for n in range(10_000) if f"group_{n}" not in known)
    color = group_color or GROUP_COLORS[len(board.groups) % len(GROUP_COLORS)]
    group = Group(id=new_id, title=group_name, color=color)
    board = desk.store.change_board(board, groups=(group, *board.groups))
    return {"board": board, "group": group, "position": "1.0"}


def _set_group_state(**state: bool) -> Resolver:
    def resolve(_: Any, info: Info, *, board_id: str, group_id: str) -> dict[str, Any]:
        desk = desk_of(info)
        desk.need_write("boards:write")
        board = desk.board(board_id)
        old = group_named(board, group_id)
        if sum(not group.deleted and not group.archived for group in board.groups) == 1:
            raise Refused("DeleteLastGroupException", "The last group cannot be removed.")
        new = msgspec.structs.replace(old, **state)
        groups = tuple(new if group.id == old.id else group for group in board.groups)
        board = desk.store.change_board(board, groups=groups)
        for item in desk.store.items.of(board.id):
            if item.group == old.id and item.state == "active":
                gone = "deleted" if new.deleted else "archived"
                desk.store.change_item(item, by=desk.me.id, state=gone)
        return {"board": board, "group": new, "position": "1.0"}

    return resolve


def _create_column(
    _: Any,
    info: Info,
    *,
    board_id: str,
    title: str,
    column_type: str,
    id: str | None = None,  # noqa: A002 - the wire's
    description: str | None = None,
    defaults: str | None = None,
    **_more: Any,
) -> Column:
    desk = desk_of(info)
    desk.need_write("boards:write")
    board = desk.board(board_id)
    settings = read_json(defaults) if defaults else {}
    if column_type == "status" and "labels" not in settings:
        settings = status_settings()
    known = {one.id for one in board.columns}
    if id is not None and id in known:
        raise Refused("InvalidColumnIdException", "This column ID is taken", column_id=id)
    usual = (f"{column_type}_{n}" for n in range(10_000))
    column = Column(
        id=id or next(one for one in usual if one not in known),
        title=title,
        type=column_type,
        description=description,
        settings=settings,
    )
    desk.store.change_board(board, columns=(*board.columns, column))
    return column


def _create_or_get_tag(
    _: Any, info: Info, *, tag_name: str | None = None, board_id: str | None = None
) -> Tag:
    desk = desk_of(info)
    desk.need_write("boards:write")
    tag = desk.store.tag(tag_name or "")
    if board_id is not None:
        board = desk.board(board_id)
        desk.store.change_board(board, tags=tuple(dict.fromkeys((*board.tags, tag.id))))
    return tag


def _create_workspace(
    _: Any, info: Info, *, name: str, kind: str, description: str | None = None
) -> Workspace:
    desk = desk_of(info)
    desk.need_write("boards:write")
    new_id = desk.store.new_id("workspace")
    return desk.store.workspaces.put(
        Workspace(
            id=new_id,
            position=float(new_id),
            name=name,
            kind=kind,
            description=description,
            created_at=desk.store.now(),
        )
    )


BOARD_MUTATIONS: Mapping[str, Resolver] = MappingProxyType(
    {
        "archive_board": _set_board_state("archived"),
        "archive_group": _set_group_state(archived=True),
        "complexity": lambda _, info: desk_of(info).meter,
        "create_board": _create_board,
        "create_column": _create_column,
        "create_group": _create_group,
        "create_or_get_tag": _create_or_get_tag,
        "create_update": _create_update,
        "create_workspace": _create_workspace,
        "delete_board": _set_board_state("deleted"),
        "delete_group": _set_group_state(deleted=True),
        "delete_update": _delete_update,
        "edit_update": _edit_update,
    }
)
