"""A change of what a caller depends on is seen by the next request of another process."""

import pytest
import pytest_asyncio
from database_servers import postgres_server
from sqlalchemy import text as sql

from gateway.auth import token_format
from gateway.auth.authenticator import Authenticator
from gateway.auth.token_lookup import is_still_stored, open_row_reader
from gateway.store.database import Database
from gateway.store.tables import (
    METADATA,
    AccessToken,
    ConnectionRow,
    Operator,
    OperatorResource,
    Resource,
    TokenResource,
)
from policy import grants
from policy.refusals import Unauthenticated

CHILD, PARENT = token_format.generate(), token_format.generate()
SEALED = b"\x01 the sealed credentials of a connection"
NOW = 1_795_000_000_000

# Columns that no caller depends on, or only together with another one.
SEEN_OTHERWISE = {
    "access_tokens.settings": "with policy_rev",
    "access_tokens.added_rules": "with policy_rev",
    "access_tokens.created_at": "shown to operators",
    "access_tokens.last_used_at": "shown to operators",
    "access_tokens.digest": "what a request finds its token by",
    "access_tokens.previous_digest": "what a request finds its token by",
    "connections.status_detail": "shown to operators",
    "connections.last_ok_at": "shown to operators",
    "connections.created_at": "shown to operators",
    "connections.updated_at": "shown to operators",
}
# Of the parent, what it allows counts, and not what it is called.
OF_THE_TOKEN_ALONE = {f"access_tokens.{name}" for name in ("name", "key_id", "previous_until")} | {
    "access_tokens.operator_id"
}
NEW_VALUES = {
    "parent_id": None,
    "expires_at": NOW + 1,
    "revoked_at": NOW - 1,
    "previous_until": NOW - 1,
    "policy_rev": 9,
    "can_write": True,
    "credentials": b"\x01 other credentials",
    "granted_scopes": '["x"]',
    "selected_site_ids": '["x"]',
    "shared_on": 1,
}


@pytest_asyncio.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
async def two_processes(request, store):
    """The databases of two processes on one store."""
    if request.param == "sqlite":
        yield (first := Database.open(store)), (second := Database.open(store))
        await first.close()
        await second.close()
        return
    with postgres_server() as server:
        first, second = Database.open(server.url), Database.open(server.url)
        await first.migrate()
        yield first, second
        await first.close()
        await second.close()


async def fill(database):
    settings = grants.validate({"emailAccessEnabled": True})
    async with database.writing() as session:
        for operator in ("o", "p"):
            address = f"{operator}@example.org"
            session.add(Operator(id=operator, email=address, display_name="O", created_at=NOW))
        session.add(Resource(name="r", created_at=NOW))
        session.add(Resource(name="s", created_at=NOW))
        await session.flush()
        session.add(OperatorResource(operator_id="o", resource_id=1))
        for number, (secret, parent) in enumerate([(PARENT, None), (CHILD, 1)], start=1):
            session.add(
                AccessToken(
                    name="t",
                    key_id=secret.key_id,
                    digest=secret.digest,
                    operator_id="o",
                    parent_id=parent,
                    settings=settings,
                    created_at=NOW,
                )
            )
            await session.flush()
            session.add(TokenResource(token_id=number, resource_id=1))
        session.add(
            ConnectionRow(
                resource_id=1,
                operator_id="o",
                kind="email",
                provider="PROVIDER_A",
                account_email="o@example.org",
                granted_scopes=[],
                can_write=False,
                status="active",
                selected_site_ids=[],
                credentials=SEALED,
                created_at=NOW,
                updated_at=NOW,
            )
        )


class Reader:
    """What one process knows of the child token."""

    def __init__(self, database):
        self.rows = open_row_reader(database)
        self._callers = Authenticator(self.rows, base_url=lambda *_: "", clock=lambda: NOW)

    async def view(self):
        try:
            caller = await self._callers.authenticate(
                [(b"authorization", f"Bearer {CHILD.text}".encode())]
            )
        except Unauthenticated as refusal:
            return refusal.reason
        return repr(caller), caller.ancestor_revs, is_still_stored(1, SEALED)


async def run(database, statement, **values):
    async with database.writing() as session:
        return await (await session.connection()).execute(sql(statement), values)


def changes():
    """Yield the column, the row and the new value of each change."""
    tables = {"access_tokens": (2, 1), "connections": (1,)}
    for table, rows in tables.items():
        for column in METADATA.tables[table].columns:
            for row in rows:
                name = f"{table}.{column.name}"
                if name == "access_tokens.id" or name in SEEN_OTHERWISE:
                    continue
                if name in OF_THE_TOKEN_ALONE and row == 1:
                    continue
                if column.name == "parent_id" and row == 1:
                    continue
                if column.name == "id":
                    yield name, row, 77
                elif column.name in {"operator_id", "resource_id"}:
                    yield name, row, "p" if column.name == "operator_id" else 2
                else:
                    yield name, row, NEW_VALUES.get(column.name, "other")


async def test_a_change_of_each_column_is_seen_by_the_next_request_of_another_process(
    two_processes,
):
    writer, reading = two_processes
    await fill(writer)
    await run(writer, "UPDATE access_tokens SET previous_digest = :old, digest = :new WHERE id = 2",
              old=CHILD.digest, new=b"\x00" * 32)  # fmt: skip
    await run(
        writer, "UPDATE access_tokens SET previous_until = :until WHERE id = 2", until=NOW + 9
    )
    process = Reader(reading)
    before = await process.view()
    assert before[2] is True
    unseen = []

    for name, row, value in changes():
        table, column = name.split(".")
        row_id = f"(SELECT {column} FROM {table} WHERE id = :row)"
        (old,) = (await run(writer, f"SELECT {row_id}", row=row)).one()
        if isinstance(old, list):
            old = str(old)
        kind = "JSON" if column in {"granted_scopes", "selected_site_ids"} else None
        cast = f"CAST(:value AS {kind})" if kind and writer.path is None else ":value"
        update = f"UPDATE {table} SET {column} = {cast} WHERE id = :row"
        await run(writer, update, value=value, row=row)
        if await process.view() == before:
            unseen.append((name, row))
        new_row = 77 if column == "id" else row
        await run(writer, update, value=old, row=new_row)
        assert await process.view() == before, name

    assert unseen == []
    process.rows.close()


@pytest.mark.parametrize("table", ["token_resources", "operator_resources"])
async def test_a_removed_link_is_seen_by_the_next_request_of_another_process(two_processes, table):
    writer, reading = two_processes
    await fill(writer)
    process = Reader(reading)
    before = await process.view()
    await run(writer, f"DELETE FROM {table}")

    assert await process.view() != before
    process.rows.close()


async def test_every_exception_is_a_column():
    names = {f"{table}.{column.name}" for table, columns in METADATA.tables.items()
             for column in columns.columns}  # fmt: skip
    assert SEEN_OTHERWISE.keys() | OF_THE_TOKEN_ALONE <= names
