"""
Writes to one board after the other, and column by column where all at once is refused.

`change_multiple_column_values` is all or nothing, so on a refused value every column is set by a
field of its own in one document. Upstream asks for no concurrent writes to one board: they wait for
each other here, and are tried again where another process holds the board. Source: wire report, 1C.
"""

import asyncio
import html
from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from providers.connectors.boards import documents
from providers.connectors.boards.failures import ColumnRefused, first
from providers.connectors.boards.graphql_client import BoardClient
from providers.failures import Broken, ProviderFailure
from providers.outcomes import unknown_if_ambiguous
from providers.ports.tasks import NAME_COLUMN, CreatedTask, NewItem, TaskTarget

Answer = dict[str, Any]


class BoardLocks:
    """One lock per board, for as long as somebody uses it. Kept per connection."""

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
        """Create an item; see `TaskPort.create`."""
        values = {column: _value(text) for column, text in item.fields.items()}
        async with self._locks.of(item.board_id):
            try:
                return CreatedTask(await self._created(item, values), ())
            except ColumnRefused as refusal:
                if not values or refusal.word == "ItemNameTooLongException":
                    raise
            made = await self._created(item, {})
            try:
                refused = await self._one_by_one(item.board_id, made, values)
            except ProviderFailure:  # the item is there; what it lacks is said
                refused = tuple(values)
        return CreatedTask(made, refused)

    async def update(self, target: TaskTarget, fields: Mapping[str, str]) -> tuple[str, ...]:
        """Set columns; see `TaskPort.update`."""
        values = {
            column: text if column == NAME_COLUMN else _value(text)
            for column, text in fields.items()
        }
        async with self._locks.of(target.home):
            try:
                await self._written(
                    documents.CHANGE, b=target.home, i=target.item_id, v=_json(values)
                )
            except ColumnRefused:
                if len(values) == 1:
                    return tuple(values)
                return await self._one_by_one(target.home, target.item_id, values)
        return ()

    async def delete(self, target: TaskTarget) -> None:
        """Delete an item."""
        async with self._locks.of(target.home):
            await self._written(documents.DELETE, i=target.item_id)

    async def comment(self, target: TaskTarget, body: str) -> str:
        """Add a comment: markup in it is text."""
        text = html.escape(body, quote=False).replace("\n", "<br>")
        return await self._made("create_update", documents.COMMENT, i=target.item_id, t=text)

    async def _created(self, item: NewItem, values: Mapping[str, Any]) -> str:
        return await self._made(
            "create_item",
            documents.CREATE,
            b=item.board_id,
            g=item.group_id,
            n=item.name,
            v=_json(values) if values else None,
        )

    async def _one_by_one(
        self, board_id: str, item_id: str, values: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """Set each column by itself; return those refused."""
        numbered = dict(enumerate(values.items()))
        _, found = await self._client.write(
            documents.changes(len(numbered)),
            Answer,
            b=board_id,
            i=item_id,
            **{f"v{number}": _json({key: value}) for number, (key, value) in numbered.items()},
        )
        refused = {str(one.path[0]): one for one in found}
        for one in refused.values():
            if not isinstance(one.failure, ColumnRefused):
                raise one.failure
        return tuple(key for number, (key, _) in numbered.items() if f"a{number}" in refused)

    async def _made(self, field: str, document: str, **variables: object) -> str:
        """
        Make something once by a mutation's *field*; return its id.

        Raises:
            OutcomeUnknown: It may have been made.
        """
        with unknown_if_ambiguous():
            return _id((await self._written(document, **variables)).get(field))

    async def _written(self, document: str, **variables: object) -> Answer:
        answer, found = await self._client.write(document, Answer, **variables)
        if found:
            raise first(found)
        return answer


def _value(text: str) -> Any:
    """
    Read a field's text as JSON where it is an object, a list, null or a text; else take it as is.

    Numbers and truth values stay texts: that is how upstream takes them.
    """
    try:
        read = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return text if isinstance(read, int | float) else read


def _json(values: Mapping[str, Any]) -> str:
    return msgspec.json.encode(values).decode()


def _id(made: Any) -> str:
    found = made.get("id") if isinstance(made, Mapping) else None
    if not found or not isinstance(found, str | int):
        raise Broken
    return str(found)
