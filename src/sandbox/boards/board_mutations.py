"""Mutations of boards, groups, columns, updates (comments), tags and workspaces."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from sandbox.boards import errors
from sandbox.boards.context import ExecutionContext
from sandbox.boards.errors import ApiError
from sandbox.boards.item_mutations import get_group, parse_json
from sandbox.boards.records import Board, Column, Group, Tag, Update, Workspace
from sandbox.boards.resolver_helpers import Info, Resolver, context_of
from sandbox.boards.settings import status_settings
from sandbox.boards.store import GROUP_COLORS

# Comments


def _create_update(
    _: Any, info: Info, *, body: str, item_id: str | None = None, parent_id: str | None = None
) -> Update:
    context = context_of(info)
    context.require_write_scope("updates:write")
    if not body.strip():
        raise ApiError("InvalidArgumentException", "The body of an update cannot be empty.")
    if parent_id is not None:
        parent = _get_update(context, parent_id)
        return context.store.add_update(
            parent.owner, body, creator_id=context.user.id, parent=parent.parent or parent.id
        )
    item, _board = context.get_item(item_id)
    return context.store.add_update(item.id, body, creator_id=context.user.id)


def _edit_update(_: Any, info: Info, *, id: str, body: str) -> Update:  # noqa: A002 - the API's name
    context = context_of(info)
    context.require_write_scope("updates:write")
    update = _get_update(context, id)
    if update.creator_id != context.user.id:
        raise errors.user_unauthorized()
    changed = msgspec.structs.replace(update, body=body, updated_at=context.store.now())
    return context.store.updates.put(changed)


def _delete_update(_: Any, info: Info, *, id: str) -> Update:  # noqa: A002 - the API's name
    context = context_of(info)
    context.require_write_scope("updates:write")
    update = _get_update(context, id)
    for reply in context.store.replies(update):
        context.store.updates.drop(reply.id)
    context.store.updates.drop(update.id)
    return update


def _get_update(context: ExecutionContext, update_id: str) -> Update:
    update = context.store.updates.find(update_id)
    if update is None:
        raise ApiError("ResourceNotFoundException", "Update not found", update_id=update_id)
    context.get_item(update.owner)
    return update


# Boards


def _create_board(_: Any, info: Info, *, board_name: str, board_kind: str, **more: Any) -> Board:
    context = context_of(info)
    context.require_write_scope("boards:write")
    default_columns = (
        Column(id="person", title="Person", type="people"),
        Column(id="status", title="Status", type="status", settings=status_settings()),
        Column(id="date4", title="Date", type="date"),
    )
    return context.store.add_board(
        board_name,
        creator_id=context.user.id,
        kind=board_kind,
        description=more.get("description"),
        workspace_id=more.get("workspace_id"),
        folder_id=more.get("folder_id"),
        subscribers=tuple(more.get("board_subscriber_ids") or (context.user.id,)),
        columns=() if more.get("empty") else default_columns,
    )


def _set_board_state(state: str) -> Resolver:
    def resolve(_: Any, info: Info, *, board_id: str) -> Board:
        context = context_of(info)
        context.require_write_scope("boards:write")
        return context.store.change_board(context.get_board(board_id), state=state)

    return resolve


def _create_group(
    _: Any, info: Info, *, board_id: str, group_name: str, group_color: str | None = None
) -> dict[str, Any]:
    context = context_of(info)
    context.require_write_scope("boards:write")
    board = context.get_board(board_id)
    taken = {group.id for group in board.groups}
    candidates = (f"group_{number}" for number in range(10_000))
    new_id = next(group_id for group_id in candidates if group_id not in taken)
    color = group_color or GROUP_COLORS[len(board.groups) % len(GROUP_COLORS)]
    group = Group(id=new_id, title=group_name, color=color)
    board = context.store.change_board(board, groups=(group, *board.groups))
    return {"board": board, "group": group, "position": "1.0"}


def _set_group_state(**state: bool) -> Resolver:
    def resolve(_: Any, info: Info, *, board_id: str, group_id: str) -> dict[str, Any]:
        context = context_of(info)
        context.require_write_scope("boards:write")
        board = context.get_board(board_id)
        old = get_group(board, group_id)
        if sum(not group.deleted and not group.archived for group in board.groups) == 1:
            raise ApiError("DeleteLastGroupException", "The last group cannot be removed.")
        new = msgspec.structs.replace(old, **state)
        groups = tuple(new if group.id == old.id else group for group in board.groups)
        board = context.store.change_board(board, groups=groups)
        for item in context.store.items.of(board.id):
            if item.group == old.id and item.state == "active":
                item_state = "deleted" if new.deleted else "archived"
                context.store.change_item(item, by=context.user.id, state=item_state)
        return {"board": board, "group": new, "position": "1.0"}

    return resolve


def _create_column(
    _: Any,
    info: Info,
    *,
    board_id: str,
    title: str,
    column_type: str,
    id: str | None = None,  # noqa: A002 - the API's name
    description: str | None = None,
    defaults: str | None = None,
    **_more: Any,
) -> Column:
    context = context_of(info)
    context.require_write_scope("boards:write")
    board = context.get_board(board_id)
    settings = parse_json(defaults) if defaults else {}
    if column_type == "status" and "labels" not in settings:
        settings = status_settings()
    taken = {column.id for column in board.columns}
    if id is not None and id in taken:
        raise ApiError("InvalidColumnIdException", "This column ID is taken", column_id=id)
    candidates = (f"{column_type}_{number}" for number in range(10_000))
    column = Column(
        id=id or next(column_id for column_id in candidates if column_id not in taken),
        title=title,
        type=column_type,
        description=description,
        settings=settings,
    )
    context.store.change_board(board, columns=(*board.columns, column))
    return column


def _create_or_get_tag(
    _: Any, info: Info, *, tag_name: str | None = None, board_id: str | None = None
) -> Tag:
    context = context_of(info)
    context.require_write_scope("boards:write")
    tag = context.store.get_or_create_tag(tag_name or "")
    if board_id is not None:
        board = context.get_board(board_id)
        context.store.change_board(board, tags=tuple(dict.fromkeys((*board.tags, tag.id))))
    return tag


def _create_workspace(
    _: Any, info: Info, *, name: str, kind: str, description: str | None = None
) -> Workspace:
    context = context_of(info)
    context.require_write_scope("boards:write")
    new_id = context.store.new_id("workspace")
    return context.store.workspaces.put(
        Workspace(
            id=new_id,
            position=float(new_id),
            name=name,
            kind=kind,
            description=description,
            created_at=context.store.now(),
        )
    )


BOARD_MUTATIONS: Mapping[str, Resolver] = MappingProxyType(
    {
        "archive_board": _set_board_state("archived"),
        "archive_group": _set_group_state(archived=True),
        "complexity": lambda _, info: context_of(info).complexity,
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
