"""
The tables of `docs/operate/sizing.md`: processor, round trips, rows and bytes per call and store.

    ./run sizing [CALLS]

It starts a PostgreSQL and a Redis of its own, and makes CALLS calls of each row (300 if not given)
on both stores; that takes some minutes. Statements and round
trips are those of `store_cost`. A test holds the page to what this writes, but for times and bytes.
"""

import asyncio
import itertools
import logging
import math
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from pydantic import SecretStr
from sqlalchemy import func
from sqlmodel import SQLModel, select
from store_cost import PLENTY, SEND, STORES, Costs, measure_store
from upstream_cost import ACCESS, ROWS, Row, find_ids
from upstream_worlds import opened

from gateway.app import Gateway
from gateway.store.database import Database

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]

import expired_rows  # noqa: E402 - from the folders above
from benchmarks import asgi  # noqa: E402
from database_servers import postgres_server, redis_server  # noqa: E402

PAGE = ROOT / "docs" / "operate" / "sizing.md"
CALLS = 300
FILLED_ROWS = 20_000
_WARM_CALLS = 20
_SHOWN = (
    "GET /token",
    "GET /email/messages/{emailId}",
    "GET /email/messages",
    "GET /calendar/events",
    "GET /tasks/boards/{boardId}/items?limit=10",
    "GET /collab/files",
    "GET /collab/files/{fileId}",
    "POST /email/messages/send",
)
_KEYED, _REPLAYED = f"{SEND.title} (Idempotency-Key)", f"{SEND.title} (replayed)"
_ROWS_OF = {"decisions": "a row of the decision log", "idempotency keys": "a kept response"}

# Operators, accounts of each. In the busiest hour an account is read once a minute.
_DEPLOYMENTS = ((1, 2), (20, 5), (200, 5), (1000, 10))
_PAGE = "GET /email/messages"
_RESERVE = 3  # the processor is busy a third of the time in the busiest hour
_BUSY_HOURS = 8  # a day's calls, in busiest hours
_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """
    What was measured on one store.

    Attributes:
        seconds: Processor time of the gateway per call, by the title of the row.
        rows: Rows that a call leaves in the database, by the title.
        bytes: Of a row with its indexes, by the kind of `expired_rows`.
    """

    seconds: Mapping[str, float]
    rows: Mapping[str, int]
    bytes: Mapping[str, float]


async def _count_rows(store: Database) -> int:
    async with store.reading() as session:
        return sum(
            [
                (await session.exec(select(func.count()).select_from(table))).one()
                for table in SQLModel.metadata.sorted_tables
            ]
        )


async def measure(store: str, postgresql: str, redis: str, calls: int) -> Sizes:
    """Make *calls* calls of each row and return their costs, and the bytes of filled tables."""
    logging.disable(logging.ERROR)
    seconds, rows = dict[str, float](), dict[str, int]()
    changed = dict[str, Any](rate_limits="on", rate_limit_windows=PLENTY)
    if store == "PostgreSQL":
        changed |= {"database_url": SecretStr(postgresql), "redis_url": SecretStr(redis)}
    async with opened(volume=False, **changed) as (world, _):
        ids = await find_ids(world, None)
        gateway, tables = world.gateway(), Database.open(world.settings().database)
        async with gateway.running():
            for title, row, keys in _measured_rows():
                for _ in range(min(_WARM_CALLS, calls)):
                    await bare_call(gateway, world.tokens["full"], row, ids, next(keys))()
                await gateway.services.decisions.flush()
                stored, began = await _count_rows(tables), world.processor_seconds()
                for _ in range(calls):
                    await bare_call(gateway, world.tokens["full"], row, ids, next(keys))()
                await gateway.services.decisions.flush()
                seconds[title] = (world.processor_seconds() - began) / calls
                rows[title] = round((await _count_rows(tables) - stored) / calls)
        await tables.close()
    sizes = await _bytes_of_rows(None if store == "SQLite" else postgresql)
    logging.disable(logging.NOTSET)
    return Sizes(seconds=seconds, rows=rows, bytes=sizes)


def bare_call(
    gateway: Gateway,
    token: str,
    row: Row,
    ids: Mapping[str, str],
    key: str | None = None,
    *,
    base: str = ACCESS,
) -> Callable[[], Awaitable[bytes]]:
    """Return what makes the call of a row, without a client and its cost; it fails unless 200."""
    query = urlencode({name: value.format(**ids) for name, value in row.query.items()})
    target = f"{base}{row.path.format(**ids)}?{query}"
    body = b"" if row.body is None else orjson.dumps(row.body)
    keys = {} if key is None else {b"idempotency-key": key.encode()}
    return asgi.call(gateway, row.method, target, token, body, more_headers=keys)


def _measured_rows() -> Iterator[tuple[str, Row, Iterator[str | None]]]:
    """Yield title, row and the keys of its calls."""
    by_title = {row.title: row for row in ROWS}
    for title in _SHOWN:
        yield title, by_title[title], itertools.repeat(None)
    yield _KEYED, SEND, map(str, itertools.count())
    yield _REPLAYED, SEND, itertools.repeat("0")


async def _bytes_of_rows(database: str | None) -> Mapping[str, float]:
    """Fill tables of an empty store; return the bytes of a row by kind."""
    sizes = dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        if database is not None:
            await expired_rows.execute(
                database, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public"
            )
        store = Database.open(database or f"sqlite+aiosqlite:///{folder}/gateway.db")
        await store.migrate()
        await expired_rows.fill_owners(store)
        for name in _ROWS_OF:
            kind = expired_rows.KINDS[name]
            before = sum(await expired_rows.sizes_of(store, kind.table))
            await expired_rows.fill(store, kind._replace(newest=""), FILLED_ROWS)
            after = sum(await expired_rows.sizes_of(store, kind.table))
            sizes[name] = (after - before) / FILLED_ROWS
        await store.close()
    return sizes


def page(text: str, costs: Costs, sizes: Mapping[str, Sizes]) -> str:
    """Return the page *text* with its generated tables written anew."""
    tables = {
        "calls": _calls_table(costs, sizes),
        "rows": _rows_table(sizes),
        "deployments": _deployments_table(costs, sizes),
    }
    for name, table in tables.items():
        begin, end = f"<!-- ./run sizing: {name} -->\n", "<!-- end -->\n"
        head, _, rest = text.partition(begin)
        if not rest:
            raise ValueError(f"{PAGE.name} has no place for the table {name}")
        text = f"{head}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return text


def masked(text: str) -> str:
    """Return the page without the figures that differ from run to run."""
    return re.sub(r"\b[\d,.]+ (ms|kB|GB|processes|process|a second)\b", r"N \1", text)


def _calls_table(costs: Costs, sizes: Mapping[str, Sizes]) -> str:
    table = (
        "| Call | SQLite: processor | PostgreSQL and Redis: processor | round trips to PostgreSQL "
        "| rows |\n|---|---:|---:|---:|---:|\n"
    )
    sqlite, postgresql = (sizes[store] for store in STORES)
    for title in sqlite.seconds:
        cost = costs[title]
        cells = (
            f"{sqlite.seconds[title] * 1e3:.2f} ms",
            f"{postgresql.seconds[title] * 1e3:.2f} ms",
            cost.database.round_trips,
            postgresql.rows[title],
        )
        table += f"| `{title}` | {' | '.join(map(str, cells))} |\n"
    return table


def _rows_table(sizes: Mapping[str, Sizes]) -> str:
    table = "| A row | SQLite | PostgreSQL |\n|---|---:|---:|\n"
    for name, shown in _ROWS_OF.items():
        cells = (f"{sizes[store].bytes[name] / 1e3:.2f} kB" for store in STORES)
        table += f"| {shown} | {' | '.join(cells)} |\n"
    return table


def _deployments_table(costs: Costs, sizes: Mapping[str, Sizes]) -> str:
    table = (
        "| Operators, accounts of each | Calls | Processes | Round trips | Decision log |\n"
        "|---|---:|---:|---:|---:|\n"
    )
    postgresql = sizes["PostgreSQL"]
    trips = costs[_PAGE].database.round_trips
    for operators, accounts in _DEPLOYMENTS:
        rate = operators * accounts / 60
        processes = math.ceil(rate * postgresql.seconds[_PAGE] * _RESERVE)
        size = rate * 3600 * _BUSY_HOURS * _DAYS * postgresql.bytes["decisions"] / 1e9
        cells = (
            f"{rate:.3g} a second",
            f"{processes} process{'es' if processes > 1 else ''}",
            f"{rate * trips:.3g} a second",
            f"{size:.2g} GB",
        )
        table += f"| {operators:,}, {accounts} | {' | '.join(cells)} |\n"
    return table


def measure_all(calls: int) -> tuple[Costs, Mapping[str, Sizes]]:
    """Return the costs on PostgreSQL, and the sizes of both stores, on servers of its own."""
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as redis:
        with postgres_server() as postgres:
            shown = [row for row in ROWS if row.title in _SHOWN]
            costs, _ = asyncio.run(measure_store("PostgreSQL", postgres.url, redis.url, shown))
        with postgres_server() as postgres:
            sizes = {
                store: asyncio.run(measure(store, postgres.url, redis.url, calls))
                for store in STORES
            }
    return costs, sizes


def main(arguments: Sequence[str]) -> None:
    """Write the page."""
    calls = int(arguments[0]) if arguments else CALLS
    costs, sizes = measure_all(calls)
    PAGE.write_text(page(PAGE.read_text("utf-8"), costs, sizes), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
