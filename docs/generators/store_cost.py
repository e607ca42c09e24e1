"""
`docs/reference/store-cost.md`: what every REST row sends to the database and to Redis.

    python docs/generators/store_cost.py [POSTGRESQL REDIS]

The arguments are the URLs of an empty PostgreSQL database, with the name of the driver, and of a
Redis. It takes half a minute. A test holds the page to what this measures, and to `violations`;
the exit status is 1 when one of these bounds is broken.
"""

import asyncio
import itertools
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic import SecretStr
from store_counts import Counter, counted_server, counted_sqlite
from upstream_cost import ACCESS, ROWS, Row, find_ids
from upstream_worlds import MeasuredWorld, opened

from gateway.app import Gateway
from gateway.ratelimit.redis_slots import RedisSlots
from gateway.store.background import PeriodicTask
from policy.quota import SURFACE_WINDOWS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "store-cost.md"
POSTGRESQL = "postgresql+asyncpg://postgres@127.0.0.1:5432/store_cost"
REDIS = "redis://127.0.0.1:6379/0"
STORES = ("SQLite", "PostgreSQL")
MOST_ROUND_TRIPS = 11  # of any call, with its row of the decision log: of a new feed
REPLY, SEND = [
    next(row for row in ROWS if row.path == f"/email/messages/{end}")
    for end in ("{emailId}/reply", "send")
]
_TIMES = 3  # that a call is made; the last one counts
_SETTLED_SECONDS = 0.02  # after which what a call leaves behind is done
PLENTY = dict.fromkeys(SURFACE_WINDOWS, ((10**9, 60),))

_HEAD = """# Store cost

What one REST call sends to the database and to Redis. One run of the script
`docs/generators/store_cost.py` measures it on the accounts of the demo, in a gateway that has
answered the same call before, with rate limits counted in Redis. Periodic tasks do not run
meanwhile.

The statements of SQLite are those on the gateway's file, without those that begin and end
transactions, and with the `PRAGMA data_version` that tells whether anything was committed. A round
trip is one wait for the server, and transactions count with their BEGIN and COMMIT. Calls that
change something are made once, and those with an `Idempotency-Key` three times with new keys.

Commands to Redis whose number depends on the speed of the machine are not counted: those that begin
a connection, and questions for slots of an account that are not free.

Each call also leaves a row of the decision log. Rows are stored half a second later, in batches of
at most 200; a batch takes {batch} round trips to PostgreSQL. Not in the table either are the times
of last uses (a batch in five seconds), the renewal of leases of running calls with an
`Idempotency-Key` (one statement in three seconds for all), and the refresh of credentials (once an
hour for a connection). With that batch, no call of this page takes more than
{most} round trips to PostgreSQL: the first pull of a feed of changes does, a reply with an
`Idempotency-Key` takes two less.
"""
_COLUMNS = (
    "| Call | SQLite: statements | PostgreSQL: statements | round trips | Redis: commands "
    "| round trips |\n|---|---:|---:|---:|---:|---:|\n"
)


@dataclass(slots=True, kw_only=True)
class Stores:
    """
    Counters of what a gateway sends: to its database, and to Redis on `PostgreSQL`.

    Attributes:
        slots: Of the gateway; None until it asked Redis for one.
    """

    database: Counter = field(default_factory=Counter)
    redis: Counter = field(default_factory=Counter)
    slots: RedisSlots | None = None

    async def settle(self) -> None:
        """Wait until what a call leaves behind is done."""
        await asyncio.sleep(_SETTLED_SECONDS)
        if self.slots is not None:
            await self.slots.aclose()

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Leave out the questions for slots that are not free: their number depends on speed."""
        ask = RedisSlots.ask

        async def ask_counted(slots: RedisSlots, *arguments: Any) -> bool | None:
            self.slots = slots
            granted = await ask(slots, *arguments)
            if granted is False:
                self.redis.statements -= 1
                self.redis.round_trips -= 1
            return granted

        with patch.object(RedisSlots, "ask", ask_counted):
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCost:
    """The commands that one call sent."""

    database: Counter
    redis: Counter
    status: int


# By the title of a row.
Costs = Mapping[str, StoreCost]


@asynccontextmanager
async def measured_gateway(
    store: str, postgresql: str, redis: str
) -> AsyncIterator[tuple[MeasuredWorld, Gateway, Stores, Mapping[str, str]]]:
    """Open the demo world on a store, with a gateway without periodic tasks, and the ids."""
    stores, changed = Stores(), dict[str, Any](rate_limits="on", rate_limit_windows=PLENTY)
    async with AsyncExitStack() as stack:
        if store == "SQLite":
            stack.enter_context(counted_sqlite("gateway.db", stores.database))
        else:
            for name, url, counter in (
                ("database_url", postgresql, stores.database),
                ("redis_url", redis, stores.redis),
            ):
                proxy = await stack.enter_async_context(counted_server(url, counter))
                changed[name] = SecretStr(proxy)
        stack.enter_context(patch.object(PeriodicTask, "run", _never))
        stack.enter_context(stores.without_waiting())
        world, _ = await stack.enter_async_context(opened(volume=False, **changed))
        ids = await find_ids(world, None)
        gateway = world.gateway()
        await stack.enter_async_context(gateway.running())
        yield world, gateway, stores, ids


async def _never(_task: PeriodicTask) -> None:
    await asyncio.Event().wait()


async def measure_store(
    store: str, postgresql: str, redis: str, rows: Sequence[Row] = ROWS
) -> tuple[Costs, Counter]:
    """Return the costs of *rows*, and that of a batch of the decision log with one row."""
    logging.disable(logging.ERROR)
    costs: dict[str, StoreCost] = {}
    async with measured_gateway(store, postgresql, redis) as (world, gateway, stores, ids):
        for row in rows:
            async with world.client_of(gateway, f"full {row.resource}".strip()) as client:
                call = _caller(client, row, ids)
                warm_up = _TIMES - 1 if row.method == "GET" else 0
                costs[row.title] = await _cost_of(call, stores, warm_up=warm_up)
        keys = map(str, itertools.count())
        async with world.client_of(gateway, "full") as client:
            for row in (*[REPLY] * _TIMES, *[SEND] * _TIMES):
                call = _caller(client, row, ids, {"Idempotency-Key": next(keys)})
                costs[f"{row.title} (Idempotency-Key)"] = await _cost_of(call, stores)
                await gateway.services.decisions.flush()
            batch = stores.database.taken()
            replayed = await _cost_of(call, stores, warm_up=_TIMES - 1)
            costs[f"{SEND.title} (replayed)"] = replayed
    logging.disable(logging.NOTSET)
    return costs, batch


def _caller(
    client: Any, row: Row, ids: Mapping[str, str], headers: Mapping[str, str] | None = None
) -> Callable[[], Awaitable[int]]:
    """Return what makes the call of a row and returns its status."""

    async def call() -> int:
        query = {name: value.format(**ids) for name, value in row.query.items()}
        body = row.body and {
            name: value.format(**ids) if isinstance(value, str) else value
            for name, value in row.body.items()
        }
        path = ACCESS + row.path.format(**ids)
        answer = await client.request(row.method, path, params=query, json=body, headers=headers)
        status: int = answer.status_code
        return status

    return call


async def _cost_of(
    call: Callable[[], Awaitable[int]], stores: Stores, *, warm_up: int = 0
) -> StoreCost:
    for _ in range(warm_up):
        await call()
    await stores.settle()
    stores.database.taken()
    stores.redis.taken()
    status = await call()
    await stores.settle()
    return StoreCost(database=stores.database.taken(), redis=stores.redis.taken(), status=status)


def page(sqlite: Costs, postgresql: Costs, batch: Counter) -> str:
    """Write the page."""
    text, surface = _HEAD.format(batch=batch.round_trips, most=MOST_ROUND_TRIPS), ""
    surfaces = list(dict.fromkeys(map(_surface_of, postgresql)))
    by_surface = sorted(postgresql, key=lambda title: surfaces.index(_surface_of(title)))
    for title in by_surface:
        cost = postgresql[title]
        if _surface_of(title) != surface:
            surface = _surface_of(title)
            text += f"\n## {surface.title()}\n\n{_COLUMNS}"
        counts = (
            sqlite[title].database.statements,
            cost.database.statements,
            cost.database.round_trips,
            cost.redis.statements,
            cost.redis.round_trips,
        )
        text += f"| `{title}` | {' | '.join(map(str, counts))} |\n"
    return text


def _surface_of(title: str) -> str:
    return title.split("/")[1].partition(" ")[0].partition("?")[0]


def violations(postgresql: Costs, batch: Counter) -> list[str]:
    """Return the calls that take more round trips to PostgreSQL than is promised."""
    return [
        title
        for title, cost in postgresql.items()
        if cost.database.round_trips + batch.round_trips > MOST_ROUND_TRIPS
    ]


def main(arguments: Sequence[str]) -> int:
    """Write the page; return the exit status."""
    postgresql, redis = arguments or (POSTGRESQL, REDIS)
    (sqlite, _), (measured, batch) = [
        asyncio.run(measure_store(store, postgresql, redis)) for store in STORES
    ]
    PAGE.write_text(page(sqlite, measured, batch), "utf-8")
    broken = violations(measured, batch)
    for title in broken:
        print(f"breaks a bound: {title}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
