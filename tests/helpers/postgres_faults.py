"""
A PostgreSQL that refuses in the ways that servers do, by SQLSTATE.

Some states are brought about as they are in production (a full server, a login that is refused, a
failover to a standby); the others are raised by triggers of the tables that the gateway writes.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from database_servers import PostgresServer, postgres_server, wait_for

from gateway.settings import Settings
from gateway.store.database import Database

KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'"
WRITTEN = ("deliveries", "decisions", "connections", "leases", "access_tokens", "rule_intents")

# SQLSTATE -> statements that bring the server into the state, and those that end it.
STATEMENTS = {
    "53300": (["ALTER ROLE app CONNECTION LIMIT 0", KILL], ["ALTER ROLE app CONNECTION LIMIT -1"]),
    "28000": (["ALTER ROLE app NOLOGIN", KILL], ["ALTER ROLE app LOGIN"]),
    "25006": (
        ["ALTER DATABASE store SET default_transaction_read_only = on", KILL],
        ["ALTER DATABASE store RESET default_transaction_read_only", KILL],
    ),
    "57014": (
        ["ALTER ROLE app SET statement_timeout = '1ms'", KILL],
        ["ALTER ROLE app RESET statement_timeout", KILL],
    ),
    "55P03": (
        ["ALTER ROLE app SET lock_timeout = '20ms'", KILL, "LOCK"],
        ["UNLOCK", "ALTER ROLE app RESET lock_timeout", KILL],
    ),
    "57P01": ([KILL], []),
    "3D000": (
        ["ALTER DATABASE store ALLOW_CONNECTIONS false", KILL, "ALTER DATABASE store RENAME TO x"],
        ["ALTER DATABASE x RENAME TO store", "ALTER DATABASE store ALLOW_CONNECTIONS true"],
    ),
    "42501": (
        ["REVOKE ALL ON ALL TABLES IN SCHEMA public FROM app"],
        ["GRANT ALL ON ALL TABLES IN SCHEMA public TO app"],
    ),
}
# Raised by every write: disk full, out of memory, serialization, deadlock, and so on.
RAISED = ("53100", "53200", "40001", "40P01", "08006", "25P03", "58030", "72000", "F0000", "XX000")
# The commit fails, so that the program cannot know whether it wrote.
AT_COMMIT = ("commit-58030", "commit-40001")
SERVER = ("killed", "restarted", "frozen", "failover")
EVERY = (*STATEMENTS, *RAISED, *AT_COMMIT, *SERVER)

_RAISE = """CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'refused by the test' USING ERRCODE = TG_ARGV[0]; END $$"""


@asynccontextmanager
async def faulty_postgres() -> AsyncIterator["FaultyPostgres"]:
    """Start a server of its own, prepared."""
    with postgres_server() as postgres:
        server = FaultyPostgres(postgres)
        await server.prepare()
        yield server


def gateway_settings(url: str) -> Settings:
    """Return the settings of a gateway without rate limits on the database at *url*."""
    return Settings(
        _env_file=None,
        database_url=url,
        admin_token="the-admin-token-of-the-tests",
        secret_keys="a secret key of the tests",
        rate_limits="off",
    )


class FaultyPostgres:
    """A database `store`, which the role `app` uses, and the ways in which it fails."""

    def __init__(self, postgres: PostgresServer) -> None:
        self.postgres = postgres
        self.port = postgres.port
        self.url = f"postgresql+asyncpg://app@127.0.0.1:{postgres.port}/store"
        self._lock: asyncpg.Connection | None = None

    async def prepare(self) -> None:
        """Create the role and the database with its tables."""
        await self.run(["CREATE ROLE app LOGIN", "CREATE DATABASE store"])
        migrating = Database.open(self.url.replace("app@", "postgres@"))
        await migrating.migrate()
        await migrating.close()
        for kind in ("TABLES", "SEQUENCES"):
            await self.run([f"GRANT ALL ON ALL {kind} IN SCHEMA public TO app"])

    async def admin(self, database: str = "postgres") -> asyncpg.Connection:
        return await asyncpg.connect(
            host="127.0.0.1", port=self.port, user="postgres", database=database, ssl=False,
            timeout=60,
        )  # fmt: skip

    async def run(self, statements: Sequence[str], *, database: str = "postgres") -> None:
        """Run *statements* as the server's owner."""
        for statement in statements:
            if statement == "LOCK":
                self._lock = await self.admin("store")
                await self._lock.execute("BEGIN")
                await self._lock.execute("LOCK decisions, connections, leases IN EXCLUSIVE MODE")
            elif statement == "UNLOCK":
                if self._lock is not None:
                    await self._lock.close()
            else:
                inside = "SCHEMA" in statement
                connection = await self.admin("store" if inside else database)
                try:
                    await connection.execute(statement)
                finally:
                    await connection.close()

    async def begin(self, fault: str) -> None:
        """Bring the server into the state *fault*, one of `EVERY`."""
        if fault in STATEMENTS:
            await self.run(STATEMENTS[fault][0])
        elif fault in SERVER:
            if fault == "failover":
                await self._become_standby()
            else:
                act = self.postgres.freeze if fault == "frozen" else self.postgres.kill
                await asyncio.to_thread(self.postgres.stop if fault == "restarted" else act)
        else:
            await self._raise(fault)

    async def end(self, fault: str) -> None:
        """Leave the state *fault*."""
        if fault in STATEMENTS:
            await self.run(STATEMENTS[fault][1])
        elif fault == "failover":
            await self.run(["SELECT pg_promote()"])
        elif fault in SERVER:
            thaw = fault == "frozen"
            await asyncio.to_thread(self.postgres.thaw if thaw else self.postgres.start)
        else:
            for table in WRITTEN:
                await self.run([f"DROP TRIGGER IF EXISTS refuse ON {table}"], database="store")

    @asynccontextmanager
    async def fault(self, fault: str) -> AsyncIterator[None]:
        await self.begin(fault)
        try:
            yield
        finally:
            await self.end(fault)

    async def _raise(self, fault: str) -> None:
        """Have every write, or every commit of a write, fail with a SQLSTATE."""
        at_commit, state = fault.startswith("commit-"), fault.rpartition("-")[2]
        kind, timing, each = (
            ("CONSTRAINT TRIGGER", "AFTER", "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW")
            if at_commit
            else ("TRIGGER", "BEFORE", "FOR EACH STATEMENT")
        )
        await self.run([_RAISE], database="store")
        for table in WRITTEN:
            await self.run(
                [
                    f"CREATE {kind} refuse {timing} INSERT OR UPDATE OR DELETE ON {table} {each} "
                    f"EXECUTE FUNCTION public.refuse('{state}')"
                ],
                database="store",
            )

    async def _become_standby(self) -> None:
        """Restart as a standby that waits for its primary; `pg_promote` ends it."""
        await asyncio.to_thread(self.postgres.stop)
        (Path(self.postgres.data) / "standby.signal").touch()
        await asyncio.to_thread(self.postgres.start)
        await asyncio.to_thread(wait_for, self.port)
