"""The PostgreSQL that runs on this machine, in which tests make databases of their own."""

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from programs import NEEDED, leave_out
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

SERVER = os.environ.get("AGW_TEST_POSTGRES", "postgresql+asyncpg://postgres@127.0.0.1:5432")


@asynccontextmanager
async def empty_database() -> AsyncIterator[str]:
    """Yield the URL of a new database; leave the test out where the server does not let us."""
    url = await create()
    yield url
    await drop(url)


async def create(template: str = "") -> str:
    """Make a database, or a copy of *template*, a URL; return its URL, for `drop`."""
    name = f"agw_test_{secrets.token_hex(6)}"
    where = SERVER.rpartition("@")[2]
    try:
        version = await _sql("SHOW server_version")
    except (OSError, SQLAlchemyError, asyncpg.PostgresError) as problem:
        kind = type(problem).__name__
        leave_out(f"no PostgreSQL answers at {where} ({kind}): set AGW_TEST_POSTGRES")
    needed = NEEDED["postgres"]
    if not needed.fits("postgres", version.split()[0]):
        wanted = needed.wanted("postgres")
        leave_out(f"PostgreSQL {version} answers at {where}; the tests need one {wanted}")
    copied = f" TEMPLATE {template.rpartition('/')[2]}" if template else ""
    await _sql(f"CREATE DATABASE {name}{copied}")
    return f"{SERVER}/{name}"


async def drop(url: str) -> None:
    """Remove the database."""
    await _sql(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")


async def _sql(statement: str) -> str:
    engine = create_async_engine(f"{SERVER}/postgres", isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as connection:
            done = await connection.execute(text(statement))
            return str(done.scalar_one()) if done.returns_rows else ""
    finally:
        await engine.dispose()
