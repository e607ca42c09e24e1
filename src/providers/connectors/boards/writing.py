"""
Mutations: docs/spec/upstream/monday.md#mutations.

`change_multiple_column_values` is all or nothing; when a value is refused, each column is set by a
field of its own in one document. monday.com asks for no concurrent writes to one board, so writes
to a board wait for each other, and are repeated when another process has the board locked.
"""

import asyncio
import html
from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from providers.connectors.boards import documents
from providers.connectors.boards.failures import ColumnRefused, main_failure
from providers.connectors.boards.graphql_client import BoardClient
from providers.failures import Broken, ProviderFailure
from providers.outcomes import unknown_if_ambiguous
from providers.ports.tasks import NAME_COLUMN, CreatedTask, NewItem, TaskTarget

Data = dict[str, Any]


class BoardLocks:
    """One lock per board, for as long as it is used. One object per connection."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, board_id: str) -> asyncio.Lock:
        """Return the lock of a board."""
        lock = self._locks.get(board_id)
        if lock is None:
            self._locks[board_id] = lock = asyncio.Lock()
        return lock


class Writer:
    """Changes items."""

    def __init__(self, client: BoardClient, locks: BoardLocks) -> None:
        self._client = client
        self._locks = locks

    async def create(self, item: NewItem) -> CreatedTask:
        values = {column: _value(text) for column, text in item.fields.items()}
        async with self._locks.of(item.board_id):
            try:
                return CreatedTask(await self._create(item, values), ())
            except ColumnRefused as refusal:
                if not values or refusal.word == "ItemNameTooLongException":
                    raise
            item_id = await self._create(item, {})
            try:
                refused = await self._set_one_by_one(item.board_id, item_id, values)
            except ProviderFailure:  # the item exists; all its columns are reported as refused
                refused = tuple(values)
        return CreatedTask(item_id, refused)

    async def update(self, target: TaskTarget, fields: Mapping[str, str]) -> tuple[str, ...]:
        values = {
            column: text if column == NAME_COLUMN else _value(text)
            for column, text in fields.items()
        }
        async with self._locks.of(target.home):
            try:
                await self._write(
                    documents.CHANGE, b=target.home, i=target.item_id, v=_json(values)
                )
            except ColumnRefused:
                if len(values) == 1:
                    return tuple(values)
                return await self._set_one_by_one(target.home, target.item_id, values)
        return ()

    async def delete(self, target: TaskTarget) -> None:
        """Delete an item."""
        async with self._locks.of(target.home):
            await self._write(documents.DELETE, i=target.item_id)

    async def comment(self, target: TaskTarget, body: str) -> str:
        """Add a comment; markup in *body* is text."""
        text = html.escape(body, quote=False).replace("\n", "<br>")
        return await self._make("create_update", documents.COMMENT, i=target.item_id, t=text)

    async def _create(self, item: NewItem, values: Mapping[str, Any]) -> str:
        return await self._make(
            "create_item",
            documents.CREATE,
            b=item.board_id,
            g=item.group_id,
            n=item.name,
            v=_json(values) if values else None,
        )

    async def _set_one_by_one(
        self, board_id: str, item_id: str, values: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """Set each column by a field of its own; return the refused columns."""
        numbered = dict(enumerate(values.items()))
        _, errors = await self._client.write(
            documents.changes(len(numbered)),
            Data,
            b=board_id,
            i=item_id,
            **{f"v{number}": _json({key: value}) for number, (key, value) in numbered.items()},
        )
        refused = {str(error.path[0]): error for error in errors}
        for error in refused.values():
            if not isinstance(error.failure, ColumnRefused):
                raise error.failure
        return tuple(key for number, (key, _) in numbered.items() if f"a{number}" in refused)

    async def _make(self, field: str, document: str, **variables: object) -> str:
        """
        Create an object by the *field* of a mutation; return its id.

        Raises:
            OutcomeUnknown: The object may have been created.
        """
        with unknown_if_ambiguous():
            return _id((await self._write(document, **variables)).get(field))

    async def _write(self, document: str, **variables: object) -> Data:
        data, errors = await self._client.write(document, Data, **variables)
        if errors:
            raise main_failure(errors)
        return data


def _value(text: str) -> Any:
    """
    Decode a field's text as JSON if it is an object, a list, null or a text; else return *text*.

    Numbers and booleans stay texts, as monday.com takes them.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return text if isinstance(value, int | float) else value


def _json(values: Mapping[str, Any]) -> str:
    return msgspec.json.encode(values).decode()


def _id(node: Any) -> str:
    object_id = node.get("id") if isinstance(node, Mapping) else None
    if not object_id or not isinstance(object_id, str | int):
        raise Broken
    return str(object_id)
