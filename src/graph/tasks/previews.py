"""Previews of task writes (`providers.write_previews`): values as the token's queries show them."""

from collections.abc import Mapping

from msgspec.structs import replace

from graph.context import Info
from graph.tasks import read_arguments, routing
from policy.vocabulary import TaskOp
from providers.ports.tasks import NAME_COLUMN, NewItem, TaskTarget
from providers.tasks.accounts import TaskAccount
from providers.write_previews import Change, Resource, WritePreview, current_preview

_VALUES = frozenset({"name", "column_values"})


def describe_new_item(account: TaskAccount, new: NewItem, rejected: tuple[str, ...] | None) -> None:
    """Describe a new item; *rejected* are the named fields that are not set."""
    preview = current_preview()
    if preview is None:
        return
    preview.target = Resource(kind="board", id=new.board_id)
    if new.group_id is not None:
        preview.destination = Resource(kind="group", id=new.group_id)
    values = {NAME_COLUMN: new.name, **new.fields}
    preview.changes = tuple(
        Change(field=column, before=None, after=text) for column, text in values.items()
    )
    _set_result(preview, account, rejected_fields=rejected)


async def describe_update(
    info: Info,
    account: TaskAccount,
    target: TaskTarget,
    fields: Mapping[str, str],
    rejected: tuple[str, ...] | None,
) -> None:
    """Describe new values of an item; the values before are read if the token may see them."""
    preview = current_preview()
    if preview is None:
        return
    before = await _values(info, account, target.item_id)
    _describe_item(preview, target)
    preview.changes = tuple(
        Change(field=column, before=before.get(column), after=text)
        for column, text in fields.items()
    )
    _set_result(preview, account, item_id=target.item_id, rejected_fields=rejected)


def describe_deletion(account: TaskAccount, target: TaskTarget) -> None:
    """Describe a deletion, which is for good."""
    preview = current_preview()
    if preview is not None:
        _describe_item(preview, target)
        _set_result(preview, account)


def describe_comment(account: TaskAccount, target: TaskTarget, body: str) -> None:
    """Describe a comment; its text is the caller's own."""
    preview = current_preview()
    if preview is not None:
        _describe_item(preview, target)
        preview.changes = (Change(field="comment", before=None, after=body),)
        _set_result(preview, account)


def _describe_item(preview: WritePreview, target: TaskTarget) -> None:
    preview.target = Resource(kind="item", id=target.item_id)
    preview.basis = (target.boards, target.home)


def _set_result(preview: WritePreview, account: TaskAccount, **members: object) -> None:
    preview.result = {"provider": account.connection.provider, **members}


async def _values(info: Info, account: TaskAccount, item_id: str) -> Mapping[str, str | None]:
    """Return the texts of an item by column, as `taskItem` shows them; empty when it may not."""
    visibility = read_arguments.visibility(info, account)
    visibility = replace(visibility, projection=_VALUES - visibility.hidden)
    if not visibility.projection or not routing.caller_on(info.context, account).allows(
        TaskOp.VIEW_ITEMS
    ):
        return {}
    reading = account.port.item(item_id, visibility=visibility)
    item = await routing.translate_failures(reading, what="item")
    values = {value.column_id: value.text for value in item.column_values or ()}
    return {**values, **({NAME_COLUMN: item.name} if item.name is not None else {})}
