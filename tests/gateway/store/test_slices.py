"""A backlog of expired rows is deleted in small transactions, and newer rows stay."""

import time
from contextlib import closing

import expired_rows
import pytest
from expired_rows import KINDS
from sqlalchemy import event, func
from sqlmodel import col, select

from gateway.audit import retention
from gateway.store import cleanup, sqlite
from gateway.store.cleanup import delete_in_slices
from gateway.store.tables import OAuthAttempt, ProviderErrorRow

EXPIRED = 5


@pytest.fixture
async def rows(database):
    """Expired rows, not in the order of their ids, and one that is not expired."""
    async with database.writing() as session:
        for at in (3, 1, 2, 5, 4, 6):
            session.add(
                ProviderErrorRow(
                    request_id="r", at=at, provider="PROVIDER_A", code="X", reason="sealed"
                )
            )


def deletions(database):
    """Return the list of the statements that delete rows from now on."""
    statements = []

    @event.listens_for(database.writer.sync_engine, "before_cursor_execute")
    def keep(_connection, _cursor, statement, *_more):
        if statement.startswith("DELETE"):
            statements.append(statement)

    return statements


async def test_expired_rows_go_in_slices_for_as_long_as_there_are_any(database, rows, monkeypatch):
    monkeypatch.setattr(cleanup, "SLICE_ROWS", 2)
    statements, at = deletions(database), col(ProviderErrorRow.at)

    assert await delete_in_slices(database, ProviderErrorRow, at <= EXPIRED, by=at) == 5
    assert len(statements) == 3
    async with database.reading() as session:
        assert (await session.exec(select(ProviderErrorRow.at))).all() == [6]


async def test_without_expired_rows_one_statement_is_run(database):
    statements, ends = deletions(database), col(OAuthAttempt.expires_at)

    assert await delete_in_slices(database, OAuthAttempt, ends <= 0, by=ends) == 0
    assert len(statements) == 1
    async with database.reading() as session:
        assert (await session.exec(select(func.count()).select_from(OAuthAttempt))).one() == 0


@pytest.fixture
def slices_of_two(monkeypatch):
    monkeypatch.setattr(cleanup, "SLICE_ROWS", 2)
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr("gateway.store.uploads._SWEEP_FILES", 2)


@pytest.mark.parametrize("name", KINDS)
async def test_no_kind_of_rows_goes_in_one_statement(database, slices_of_two, name):
    kind = KINDS[name]
    await expired_rows.fill_owners(database)
    await expired_rows.fill(database, kind, 7)
    statements = deletions(database)

    await kind.sweep(database)

    sliced = [each for each in statements if f"DELETE FROM {kind.table.__tablename__} " in each]
    assert len(sliced) == 4
    assert all("LIMIT" in statement for statement in sliced)
    async with database.reading() as session:
        left = (await session.exec(select(func.count()).select_from(kind.table))).one()
    assert left == bool(kind.newest)


async def test_a_slice_that_takes_long_is_followed_by_a_smaller_one(database, monkeypatch):
    monkeypatch.setattr(cleanup, "_SLICE_SECONDS", -1.0)
    kind = KINDS["provider errors"]
    await expired_rows.fill(database, kind, 20)
    sizes, at = [], col(ProviderErrorRow.at)

    @event.listens_for(database.writer.sync_engine, "before_cursor_execute")
    def keep(_connection, _cursor, statement, parameters, *_more):
        if statement.startswith("DELETE"):
            sizes.append(parameters[1])

    deleted = await delete_in_slices(database, ProviderErrorRow, at > 0, by=at, rows=8)

    assert (deleted, sizes) == (20, [8, 4, 2, 1, 1, 1, 1, 1, 1, 1])


async def test_after_a_slice_the_database_is_free_for_as_long_as_the_slice_took(
    database, slices_of_two
):
    kind, began, ended = KINDS["provider errors"], [], []
    await expired_rows.fill(database, kind, 20)

    @event.listens_for(database.writer.sync_engine, "before_cursor_execute")
    def begin(_connection, _cursor, statement, *_):
        if statement.startswith("BEGIN"):
            began.append(time.monotonic())

    @event.listens_for(database.writer.sync_engine, "commit")
    def end(*_):
        ended.append(time.monotonic())

    await kind.sweep(database)

    assert len(began) == len(ended) == 11
    for number in range(10):
        assert began[number + 1] - ended[number] >= ended[number] - began[number]


async def test_a_file_gives_its_pages_back_and_does_not_grow_when_it_is_filled_again(database):
    kind = KINDS["consents"]
    await expired_rows.fill_owners(database)

    def pages():
        with closing(sqlite.connect(database.path)) as connection:
            return connection.execute("PRAGMA page_count").fetchone()[0]

    empty, sizes = pages(), []
    for _ in range(3):
        await expired_rows.fill(database, kind, 4000)
        full = pages()
        assert await kind.sweep(database) == 4000
        sizes.append((full, pages()))

    first_full, first_swept = sizes[0]
    assert first_full > empty + 200
    assert first_swept < empty + (first_full - empty) // 5
    assert max(full for full, _ in sizes) <= first_full + first_full // 10
