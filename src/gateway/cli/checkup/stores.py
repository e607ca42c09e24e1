"""Checks of the stores: database, schema version, Redis and clocks."""

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
from gateway.store import schema_version
from gateway.store.database import Database
from gateway.store.leases import MAX_LEASE_SECONDS
from gateway.store.serving import lacking, serving_processes

if TYPE_CHECKING:
    from pydantic import SecretStr

    from gateway.settings import Settings

# Names of checks.
NEED_SCHEMA = (
    *("serving", "credentials", "decision log", "connections", "tokens", "held writes"),
    "webhooks",
    "notifications",
)
TIMEOUT_SECONDS = 5.0  # for each store
_TOLERANCE_SECONDS = 2.0  # between two clocks


async def database(store: Database) -> Finding:
    """Check that the database answers."""
    name = "database"
    if store.path is not None and not store.path.exists():
        remedy = "`access-gateway db upgrade`, or the first start, makes it."
        return warn(name, f"there is none yet at {safe_url(store)}", remedy)
    query = "SELECT sqlite_version()" if store.path is not None else "SHOW server_version"
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), store.reader.connect() as connection:
            version = (await connection.execute(text(query))).scalar_one()
    except (SQLAlchemyError, OSError) as problem:
        remedy = "Start it, or set AGW_DATABASE_URL to where it is."
        return fail(name, f"{safe_url(store)} does not answer: {reason(problem)}", remedy)
    kind = "SQLite" if store.path is not None else "PostgreSQL"
    return ok(name, f"{kind} {version}, {safe_url(store)}")


async def schema(store: Database) -> Finding:
    """Check that the schema has the newest version."""
    name, known = "schema", schema_version.known()
    version = await schema_version.current(store.path, store.reader)
    if version == known[0]:
        return ok(name, f"version {version}, the newest")
    if version is None:
        remedy = "`access-gateway db upgrade`, or the first start, makes them."
        return warn(name, "there are no tables yet", remedy)
    if version in known:
        remedy = "`access-gateway db upgrade`, or the next start, adds what is missing."
        return warn(name, f"version {version}; the newest is {known[0]}", remedy)
    if version < known[-1]:
        remedy = f"Upgrade it with access-gateway {schema_version.OLDEST_RELEASE} first."
        return fail(name, f"version {version} is older than those that can be upgraded", remedy)
    remedy = "Install the version of the gateway that made it, or a newer one."
    return fail(name, f"version {version} was created by a newer gateway", remedy)


async def serving(store: Database, settings: "Settings") -> Finding:
    """Check that the processes that serve the database now share what several need."""
    name = "serving"
    names = await serving_processes(store)
    if not names:
        return ok(name, "no process serves this database now")
    embedded, redis = store.path is not None, settings.redis_url is not None
    if fault := lacking(len(names), embedded=embedded, redis=redis):
        detail, remedy = fault
        return warn(name, f"{detail}: {', '.join(names)}", remedy)
    if len(names) > settings.limiting_processes:
        remedy = (
            f"Set AGW_PROCESSES={len(names)}: while Redis is lost, each allows its part of a limit."
        )
        return warn(name, f"more than AGW_PROCESSES: {', '.join(names)}", remedy)
    return ok(name, ", ".join(names))


async def redis(url: "SecretStr | None") -> Finding:
    """Check that Redis answers, and that it drops no keys when it is full."""
    name = "redis"
    if url is None:
        return ok(name, "none: every process counts for itself")
    try:
        client = _redis(url)
    except ValueError as problem:
        return fail(name, f"AGW_REDIS_URL is not a valid address: {problem}", "redis://HOST:6379/0")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await client.ping()
            policy = await _eviction_policy(client)
    except (RedisError, OSError) as problem:
        remedy = "Start it, or set AGW_REDIS_URL to where it is; limits are stricter meanwhile."
        return fail(name, f"does not answer: {reason(problem)}", remedy)
    finally:
        await client.aclose()
    if policy not in {"noeviction", None}:
        remedy = "Set maxmemory-policy to noeviction, so that no count is lost."
        return warn(name, f"answers, but drops keys when it is full ({policy})", remedy)
    return ok(name, "answers")


async def _eviction_policy(client: Redis) -> str | None:
    """Return Redis's eviction policy; None where the server does not report it."""
    try:
        config = await client.config_get("maxmemory-policy")
    except ResponseError:
        return None
    return config.get("maxmemory-policy")


async def clock(store: Database, url: "SecretStr | None") -> Finding:
    """Compare this machine's clock with those of the stores, or with stored times."""
    offsets = [await _database_clock(store), *([] if url is None else [await _redis_clock(url)])]
    worst = max((offset for offset in offsets if offset is not None), key=abs, default=0.0)
    difference = f"{abs(worst):.1f} seconds {'ahead of' if worst < 0 else 'behind'} the stores"
    remedy = "Let both machines keep the time by NTP."
    if abs(worst) > MAX_LEASE_SECONDS:  # a lease of one process has ended for another
        return fail("clock", difference, remedy)
    if abs(worst) > _TOLERANCE_SECONDS:
        return warn("clock", difference, remedy)
    return ok("clock", "agrees with the stores")


def unreachable() -> list[Finding]:
    """Return a finding for each check that needs the database and was not made."""
    return [unknown(name, "database") for name in ("schema", *NEED_SCHEMA)]


async def _database_clock(store: Database) -> float | None:
    """Return how many seconds the database is ahead; for a file, the newest stored time."""
    if store.path is not None:
        query = "SELECT MAX(created_at) / 1000.0 FROM access_tokens"
    else:
        query = "SELECT EXTRACT(EPOCH FROM clock_timestamp())::float"
    async with store.reader.connect() as connection:
        before = time.time()
        stored: float | None = (await connection.execute(text(query))).scalar_one()
        local = (before + time.time()) / 2
    if stored is None:
        return None
    return max(0.0, stored - local) if store.path is not None else stored - local


async def _redis_clock(url: "SecretStr") -> float | None:
    client = _redis(url)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            before = time.time()
            seconds, micros = await client.time()
            return float(seconds + micros / 1_000_000 - (before + time.time()) / 2)
    except (RedisError, OSError):
        return None
    finally:
        await client.aclose()


def _redis(url: "SecretStr") -> Redis:
    return Redis.from_url(
        url.get_secret_value(),
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
    )
