"""
Reads and locks of single rows, and the errors for rows that do not exist.

An operation that changes several rows locks them in this order, so that no two of them deadlock:
operator, resource, connection, token, rule. (SQLite allows one writer at a time anyway.)
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from sqlmodel import SQLModel, and_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.connections import shared
from gateway.store.tables import AccessToken, CollabRule, ConnectionRow, Operator, Resource
from policy.refusals import Detail, InvalidInput, NotFound
from policy.vocabulary import Code

Row = TypeVar("Row", bound=SQLModel)

# Table -> its noun in API messages, the code of a missing row, the sentence of the command line.
_WORDS: Mapping[type[SQLModel], tuple[str, Code, str]] = MappingProxyType(
    {
        Operator: ("operator", Code.OPERATOR_NOT_FOUND, "There is no operator {}."),
        Resource: ("resource", Code.RESOURCE_NOT_FOUND, "There is no resource {}."),
        ConnectionRow: ("connection", Code.CONNECTION_NOT_FOUND, "There is no connection {}."),
        AccessToken: ("access token", Code.TOKEN_NOT_FOUND, "There is no token {}."),
        CollabRule: ("rule", Code.RULE_NOT_FOUND, "The token has no rule {}."),
    }
)
_SHARED = {"read": True, "key_share": True}  # others may change the row, but not delete it
_LAST = "\U0010ffff"  # the last character there is
_TEXT_KEY = re.compile(r"[0-9A-Za-z-]{1,36}", re.ASCII)


class NoSuchRow(NotFound):
    """The row that an operation is about does not exist; *sentence* is for the command line."""

    def __init__(self, table: type[SQLModel], key: str | int) -> None:
        noun, code, sentence = _WORDS[table]
        super().__init__(f"There is no such {noun}.", code=code)
        self.sentence = sentence.format(key)


class UnknownReference(InvalidInput):
    """An input names a row that does not exist; *sentence* is for the command line."""

    def __init__(self, table: type[SQLModel], key: str | int, *, field: str) -> None:
        noun, _, sentence = _WORDS[table]
        why = f"is not {'an' if noun[0] in 'aeiou' else 'a'} {noun}"
        super().__init__(
            f"{field} {why}.", code=Code.VALIDATION_ERROR, details=[Detail(field, why)]
        )
        self.sentence = sentence.format(key)


async def get(
    session: AsyncSession, table: type[Row], key: str | int, *, for_update: bool = False
) -> Row:
    """
    Return a row; *for_update*: reread, and locked until the transaction ends.

    Raises:
        NoSuchRow: There is none.
    """
    row = await session.get(
        table, valid_key(key), with_for_update=for_update, populate_existing=for_update
    )
    if row is None:
        raise NoSuchRow(table, key)
    return row


async def get_connection(session: AsyncSession, connection_id: int) -> ConnectionRow:
    """Return a connection, to be read, with what its base decides; see `shared.resolved`."""
    return await shared.read(session, await get(session, ConnectionRow, connection_id))


async def lock_reference(
    session: AsyncSession, table: type[SQLModel], key: str | int, *, field: str
) -> None:
    """
    Keep the row that *field* of an input names from being deleted until the transaction ends.

    Raises:
        UnknownReference: There is none.
    """
    if await session.get(table, valid_key(key), with_for_update=_SHARED) is None:
        raise UnknownReference(table, key, field=field)


async def beginning_with(
    session: AsyncSession, table: type[Row], name: str, text: str, *, limit: int
) -> list[Row]:
    """
    Return up to *limit* rows whose column *name* begins with *text*, in its order.

    A small letter at the beginning, and in all of *text*, stands for a capital one too. The index
    of the column finds the rows (`columns.prefix_index`).
    """
    column = getattr(table, name)
    matching: dict[Any, Row] = {}
    for variant in dict.fromkeys((text, text.lower(), text.capitalize(), text.upper())):
        if session.get_bind().dialect.name == "sqlite":
            begins = and_(column >= variant, column < variant + _LAST)
        else:
            begins = column.startswith(variant, autoescape=True)
        matches = await session.exec(select(table).where(begins).limit(limit))
        matching |= {getattr(row, "id", None): row for row in matches}
    return sorted(matching.values(), key=lambda row: str(getattr(row, name)))[:limit]


def valid_key(key: str | int) -> str | int:
    """Return *key*; a text that cannot be an id becomes the empty text, which no row has."""
    return key if isinstance(key, int) or _TEXT_KEY.fullmatch(key) else ""
