"""Expired rows of every kind that the gateway deletes, any number of them, on both databases."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlmodel import SQLModel, col

from gateway.audit.provider_errors import ProviderErrorLog
from gateway.audit.retention import Retention
from gateway.connections.oauth_flow import OAuthFlow
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.event_ids import delete_events_of
from gateway.store.idempotency.store import IdempotencyStore
from gateway.store.leases import Leases
from gateway.store.tables import (
    ConnectionRow,
    DecisionRow,
    EventRow,
    IdempotencyRow,
    LeaseRow,
    OAuthAttempt,
    ProviderErrorRow,
    UploadRow,
)
from gateway.store.timestamps import now_ms
from gateway.store.uploads import UploadStore

KEYRING = Keyring.read("a secret key of the tests")
OLD = 1_000_000_000_000  # milliseconds: 2001
_OWNERS = """
INSERT INTO operators (id, email, display_name, created_at) VALUES ('o', 'o@x.example', 'O', 0);
INSERT INTO resources (id, name, created_at) VALUES (1, 'r', 0);
INSERT INTO access_tokens (id, name, key_id, digest, operator_id, settings, policy_rev, created_at)
VALUES (1000, 't', 'k', {blob32}, 'o', '{{}}', 1, 0);
INSERT INTO operator_resources (operator_id, resource_id) VALUES ('o', 1);
INSERT INTO connections (id, resource_id, operator_id, kind, provider, account_email,
    granted_scopes, can_write, status, selected_site_ids, created_at, updated_at)
VALUES (1, 1, 'o', 'calendar', 'PROVIDER_A', 'o@x.example', '[]', false, 'active', '[]', 0, 0);
INSERT INTO calendars (id, connection_id, native_id) VALUES (1, 1, 'c')
"""
_DECISIONS = """
INSERT INTO decisions (at, request_id, token_id, operator_id, door, surface, operation, outcome,
    status, policy_rev, hidden_fields, cost, duration, upstream_calls, chain, number, signature)
SELECT {at}, 'request-' || n, 1, 'o', 'rest', 'email', 'emails', 'allowed', 200, 1, 0, 1, 1, 1,
    '{chain}', n, {text64} FROM {series}"""
_DELIVERIES = """
INSERT INTO deliveries (token_id, method, path, key, fingerprint, state, seed, attempt, maybe_sent,
    lease_until, outcome, started_at)
SELECT 1000, 'POST', '{chain}', 'key-' || n, {blob32}, 'done', 'seed', 1, false, 0, {blob192}, {at}
FROM {series}"""


class ExpiredKind(NamedTuple):
    """
    A kind of rows.

    Attributes:
        table: Where they are.
        fill: SQL that inserts them, by the database's words for blobs and series.
        sweep: Deletes all that are expired.
        newest: SQL of a new row by which the age of the others is confirmed; it stays.
    """

    table: type[SQLModel]
    fill: str
    sweep: Callable[[Database], Awaitable[object]]
    newest: str = ""


KINDS: Mapping[str, ExpiredKind] = MappingProxyType(
    {
        "decisions": ExpiredKind(
            DecisionRow,
            _DECISIONS,
            lambda database: Retention(database, days=30)._drop_alone(),
            _DECISIONS,
        ),
        "idempotency keys": ExpiredKind(
            IdempotencyRow,
            _DELIVERIES,
            lambda database: IdempotencyStore(database, KEYRING).sweep(),
            _DELIVERIES,
        ),
        "provider errors": ExpiredKind(
            ProviderErrorRow,
            """
INSERT INTO provider_errors (request_id, at, provider, code, reason)
SELECT 'request-' || n, {at}, 'PROVIDER_A', 'PROVIDER_ERROR', {text64} FROM {series}""",
            lambda database: ProviderErrorLog(database, KEYRING, days=30).sweep(),
        ),
        "consents": ExpiredKind(
            OAuthAttempt,
            """
INSERT INTO oauth_attempts (id, connection_id, secret, expires_at)
SELECT 'attempt-' || n, 1, {blob192}, {at} FROM {series}""",
            lambda database: OAuthFlow(database, KEYRING, None).sweep(),
        ),
        "uploads": ExpiredKind(
            UploadRow,
            """
INSERT INTO uploads (id, token_id, handle, description, size, is_complete, expires_at)
SELECT n, 1000, 'handle-' || n, {blob32}, 192, true, {at} FROM {series};
INSERT INTO upload_chunks (upload_id, number, content) SELECT n, 0, {blob192} FROM {series}""",
            lambda database: UploadStore(database, KEYRING).sweep(),
        ),
        "leases": ExpiredKind(
            LeaseRow,
            """
INSERT INTO leases (name, holder, until) SELECT 'lease-' || n, 'h', {at} FROM {series}""",
            lambda database: Leases(database).sweep(),
        ),
        "events of a removed connection": ExpiredKind(
            EventRow,
            """
INSERT INTO events (id, calendar_id, native_id)
SELECT {random16}, 1, 'event-' || n FROM {series}""",
            lambda database: delete_events_of(database, col(ConnectionRow.id) == 1),
        ),
    }
)


async def fill_owners(database: Database) -> None:
    """Store the operator, the token, the connection and the calendar that the rows refer to."""
    await run_script(database, _OWNERS, rows=1)


async def fill(database: Database, kind: ExpiredKind, rows: int) -> None:
    """Store *rows* expired rows and perhaps a new one; without the time limit of statements."""
    await run_script(database, kind.fill, rows=rows, at=f"{OLD} + n", chain="2001")
    if kind.newest:
        await run_script(database, kind.newest, rows=1, at=str(now_ms()), chain=str(now_ms()))


async def sizes_of(database: Database, table: type[SQLModel]) -> tuple[int, int]:
    """Return the bytes of a table and of its indexes; of the SQLite file, and 0."""
    if database.path is not None:
        await execute(database.url, "PRAGMA wal_checkpoint(TRUNCATE)")
        return database.path.stat().st_size, 0
    name = table.__tablename__
    sizes = f"SELECT pg_table_size('{name}'), pg_indexes_size('{name}')"
    of_table, of_indexes = (await execute(database.url, sizes))[0]
    return of_table, of_indexes


async def execute(url: str, *statements: str) -> Sequence[Row[Any]]:
    """Run statements, each by itself and without a time limit; return the rows of the last one."""
    engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        results = [await connection.execute(text(statement)) for statement in statements]
        rows = results[-1].all() if results[-1].returns_rows else []
    await engine.dispose()
    return rows


async def run_script(
    database: Database, script: str, *, rows: int, at: str = "0", chain: str = ""
) -> None:
    """Run the statements of *script*, whose words in braces are those of the database."""
    words = {
        "blob32": "decode(repeat('00', 32), 'hex')",
        "blob192": "decode(repeat('00', 192), 'hex')",
        "text64": "repeat('s', 64)",
        "random16": "decode(md5(random()::text), 'hex')",
        "series": f"generate_series(1, {rows}) AS s(n)",
    }
    if database.path is not None:
        words = {
            "blob32": "zeroblob(32)",
            "blob192": "zeroblob(192)",
            "text64": "hex(zeroblob(32))",
            "random16": "randomblob(16)",
            "series": f"""(WITH RECURSIVE c(n) AS
                (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {rows}) SELECT n FROM c)""",
        }
    engine = create_async_engine(database.url)
    async with engine.begin() as connection:
        for statement in script.split(";"):
            await connection.execute(text(statement.format(**words, at=at, chain=chain)))
    await engine.dispose()
