"""Whether database and Redis answer, how old the schema is, and whether the clocks agree."""

import asyncio
import time
from typing import TYPE_CHECKING

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from gateway.cli.checkup.findings import Finding, fail, ok, unknown, warn
from gateway.cli.console import reason
from gateway.operations.maintenance import safe_url
from gateway.store import revisions
from gateway.store.database import Database
from gateway.store.leases import MAX_LEASE_SECONDS

if TYPE_CHECKING:
    from pydantic import SecretStr

PATIENCE = 5.0  # seconds that each of them gets
_AGREE = 2.0  # seconds between two clocks that are nothing to speak of


async def database(store: Database) -> Finding:
    """Ask the database something."""
    name = "database"
    if store.path is not None and not store.path.exists():
        remedy = "`access-gateway db upgrade`, or the first start, makes it."
        return warn(name, f"there is none yet at {safe_url(store)}", remedy)
    asked = "SELECT sqlite_version()" if store.path is not None else "SHOW server_version"
    try:
        async with asyncio.timeout(PATIENCE), store.reader.connect() as connection:
            version = (await connection.execute(text(asked))).scalar_one()
    except (SQLAlchemyError, OSError) as problem:
        remedy = "Start it, or set AGW_DATABASE_URL to where it is."
        return fail(name, f"{safe_url(store)} does not answer: {reason(problem)}", remedy)
    kind = "SQLite" if store.path is not None else "PostgreSQL"
    return ok(name, f"{kind} {version}, {safe_url(store)}")


async def schema(store: Database) -> Finding:
    """Compare the schema's version with the newest."""
    name, known = "schema", revisions.known()
    version = await revisions.current(store)
    if version == known[0]:
        return ok(name, f"version {version}, the newest")
    if version is None:
        remedy = "`access-gateway db upgrade`, or the first start, makes them."
        return warn(name, "there are no tables yet", remedy)
    if version in known:
        remedy = "`access-gateway db upgrade`, or the next start, adds what is missing."
        return warn(name, f"version {version}; the newest is {known[0]}", remedy)
    remedy = "Install the version of the gateway that made it, or a newer one."
    return fail(name, f"version {version} is of a newer gateway", remedy)


async def redis(url: "SecretStr | None") -> Finding:
    """Ask Redis for an answer, and for what it does when it is full."""
    name = "redis"
    if url is None:
        return ok(name, "none: every process counts for itself")
    try:
        client = _redis(url)
    except ValueError as problem:
        return fail(name, f"AGW_REDIS_URL is no address: {problem}", "redis://HOST:6379/0")
    try:
        async with asyncio.timeout(PATIENCE):
            await client.ping()
            policy = await _when_full(client)
    except (RedisError, OSError) as problem:
        remedy = "Start it, or set AGW_REDIS_URL to where it is; limits are stricter meanwhile."
        return fail(name, f"does not answer: {reason(problem)}", remedy)
    finally:
        await client.aclose()
    if policy not in {"noeviction", None}:
        remedy = "Set maxmemory-policy to noeviction, so that no count is lost."
        return warn(name, f"answers, but drops keys when it is full ({policy})", remedy)
    return ok(name, "answers")


async def _when_full(client: Redis) -> str | None:
    """Return what Redis does when it is full; None where that may not be asked."""
    try:
        told = await client.config_get("maxmemory-policy")
    except ResponseError:
        return None
    return told.get("maxmemory-policy")


async def clock(store: Database, url: "SecretStr | None") -> Finding:
    """Compare this machine's clock with those of the stores, or with what is stored."""
    apart = [await _database_clock(store), *([] if url is None else [await _redis_clock(url)])]
    worst = max((one for one in apart if one is not None), key=abs, default=0.0)
    said = f"{abs(worst):.1f} seconds {'ahead of' if worst < 0 else 'behind'} the stores"
    remedy = "Let both machines keep the time by NTP."
    if abs(worst) > MAX_LEASE_SECONDS:  # leases of one process have ended for the other
        return fail("clock", said, remedy)
    if abs(worst) > _AGREE:
        return warn("clock", said, remedy)
    return ok("clock", "agrees with the stores")


def unreachable() -> list[Finding]:
    """Say of each check that needs the database that it was not made."""
    return [unknown(name, "database") for name in ("schema", "credentials", "connections")]


async def _database_clock(store: Database) -> float | None:
    """Return how many seconds the database is ahead; of a file, how far its newest moment is."""
    if store.path is not None:
        asked = "SELECT MAX(created_at) / 1000.0 FROM access_tokens"
    else:
        asked = "SELECT EXTRACT(EPOCH FROM clock_timestamp())::float"
    async with store.reader.connect() as connection:
        before = time.time()
        told: float | None = (await connection.execute(text(asked))).scalar_one()
        here = (before + time.time()) / 2
    if told is None:
        return None
    return max(0.0, told - here) if store.path is not None else told - here


async def _redis_clock(url: "SecretStr") -> float | None:
    client = _redis(url)
    try:
        async with asyncio.timeout(PATIENCE):
            before = time.time()
            seconds, micros = await client.time()
            return float(seconds + micros / 1_000_000 - (before + time.time()) / 2)
    except (RedisError, OSError):
        return None
    finally:
        await client.aclose()


def _redis(url: "SecretStr") -> Redis:
    return Redis.from_url(
        url.get_secret_value(), socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
    )
