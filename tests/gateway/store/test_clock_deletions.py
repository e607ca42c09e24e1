"""After a jump of the machine's clock, no row is deleted because of its age."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlmodel import SQLModel, func, select

from gateway.auth import token_format
from gateway.connections.oauth_flow import CONSENT_LIFETIME_MS, OAuthFlow
from gateway.secrets.keyring import Keyring
from gateway.store.clock import DISTRUST_SECONDS, DatabaseClock
from gateway.store.leases import Leases
from gateway.store.tables import AccessToken, LeaseRow, OAuthAttempt, UploadRow
from gateway.store.uploads import UploadStore

JUMP_SECONDS = 25 * 3600
KEYRING = Keyring.read("a secret key of the tests")


@pytest.fixture
def steady(database, time):
    """The second clock of the machine, in seconds: a jump of `time` does not move it."""
    seconds = [500.0]
    database.clock = DatabaseClock(of_server=False, wall=time, steady=lambda: seconds[0])
    return seconds


async def upload(database):
    async def content():
        yield b"content"

    return await UploadStore(database, KEYRING).store(1, "a.txt", "text/plain", content())


async def store_upload(database, _time):
    text = token_format.generate()
    members = {"key_id": text.key_id, "digest": text.digest, "settings": {}, "created_at": 0}
    async with database.writing() as session:
        session.add(AccessToken(id=1, name="t", operator_id="o", **members))
    await upload(database)


async def store_attempt(database, time):
    expires_at = time.now + CONSENT_LIFETIME_MS
    async with database.writing() as session:
        session.add(OAuthAttempt(id="a", connection_id=1, secret=b"", expires_at=expires_at))


async def store_lease(database, time):
    async with database.writing() as session:
        session.add(LeaseRow(name="refresh:7", holder="h", until=time.now + 1000))


@dataclass(frozen=True)
class Deletion:
    """
    A deletion of rows by their age.

    Attributes:
        store: Stores a row of *table* that is not old.
        delete: Deletes old rows of *table*.
        added: Rows of *table* that *delete* adds.
    """

    table: type[SQLModel]
    store: Callable[..., Awaitable[None]]
    delete: Callable[..., Awaitable[Any]]
    added: int = 0


DELETIONS = {
    "an upload deletes the token's old ones": Deletion(UploadRow, store_upload, upload, added=1),
    "sweep of uploads": Deletion(
        UploadRow, store_upload, lambda database: UploadStore(database, KEYRING).sweep()
    ),
    "sweep of consents": Deletion(
        OAuthAttempt, store_attempt, lambda database: OAuthFlow(database, KEYRING, None).sweep()
    ),
    "sweep of leases": Deletion(LeaseRow, store_lease, lambda database: Leases(database).sweep()),
}


async def count(database, table):
    async with database.reading() as session:
        return (await session.exec(select(func.count()).select_from(table))).one()


@pytest.mark.parametrize("deletion", DELETIONS.values(), ids=DELETIONS)
async def test_rows_are_deleted_by_age_only_when_the_clock_is_trusted(
    database, time, steady, connected, deletion
):
    await connected()
    await deletion.store(database, time)
    time.wait(JUMP_SECONDS)
    await deletion.delete(database)
    assert await count(database, deletion.table) == 1 + deletion.added

    time.wait(DISTRUST_SECONDS)
    steady[0] += DISTRUST_SECONDS
    await deletion.delete(database)
    assert await count(database, deletion.table) == 2 * deletion.added
