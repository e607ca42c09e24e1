"""A backlog of expired rows is deleted in small transactions, and newer rows stay."""

import pytest
from sqlalchemy import event, func
from sqlmodel import col, select

from gateway.store import cleanup
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

    assert await delete_in_slices(database, ProviderErrorRow, at <= EXPIRED, oldest_first=at) == 5
    assert len(statements) == 3
    async with database.reading() as session:
        assert (await session.exec(select(ProviderErrorRow.at))).all() == [6]


async def test_without_expired_rows_one_statement_is_run(database):
    statements, ends = deletions(database), col(OAuthAttempt.expires_at)

    assert await delete_in_slices(database, OAuthAttempt, ends <= 0, oldest_first=ends) == 0
    assert len(statements) == 1
    async with database.reading() as session:
        assert (await session.exec(select(func.count()).select_from(OAuthAttempt))).one() == 0
