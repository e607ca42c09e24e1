"""
The faults of a run of `exactly_once.py`: gateways that are killed, frozen, given a wrong clock or
cut off, and the servers that they share.

The faults of all kinds are shuffled and spread evenly over the sends; several last at once, but no
two of the database, and one process is never frozen.
"""

import asyncio
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parents[2] / "docs/generators"))

from database_servers import RedisServer, pgbouncer, redis_server
from fake_clock import faked_clock
from network_faults import Link
from postgres_faults import EVERY, FaultyPostgres, faulty_postgres

LEASE = 35.0  # seconds, of the product
FREEZES = (0.3, 3.0)  # in leases
CLOCK_OFFSETS = (-60.0, 40.0)  # seconds
WRONG_CLOCKS = (0.6, 2.5)  # in leases
DATABASE_SECONDS = (2.0, 6.0)
PARTED = (0.15, 1.7)  # in leases
STORE_SECONDS = (2.0, 8.0)  # that a shared server is away for
PARTITIONS = ("postgres held", "postgres cut", "redis held", "redis killed", "redis frozen")
SHORT_LEASES = Path(__file__).with_name("short_leases.py")
REFUSED_CLOCK = "The clock of this machine"


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The number of faults of each kind."""

    kills: int = 0
    freezes: int = 0
    clocks: int = 0
    database_errors: int = 0
    partitions: int = 0

    def shuffled(self, chance: random.Random) -> list[tuple[str, int]]:
        """Return (kind, number within the kind) in random order."""
        counts = {
            "kill": self.kills,
            "freeze": self.freezes,
            "clock": self.clocks,
            "database": self.database_errors,
            "partition": self.partitions,
        }
        faults = [(kind, number) for kind, count in counts.items() for number in range(count)]
        chance.shuffle(faults)
        return faults


@dataclass
class Stores:
    """
    The servers that the gateways share.

    Attributes:
        links: Of each gateway, to "postgres" and to "redis".
    """

    postgres: FaultyPostgres
    redis: RedisServer
    links: list[dict[str, Link]]
    pooled: bool

    def settings(self, number: int) -> dict[str, str]:
        """Return the settings that lead gateway *number* to the servers by its own links."""
        links, database = self.links[number], self.postgres.url
        return {
            "AGW_DATABASE_URL": database.replace(
                f":{urlsplit(database).port}", f":{links['postgres'].port}"
            ),
            "AGW_REDIS_URL": f"redis://127.0.0.1:{links['redis'].port}/0",
            "AGW_DATABASE_POOLER": "transaction" if self.pooled else "session",
            "AGW_PROCESSES": str(len(self.links)),
        }


@asynccontextmanager
async def own_stores(
    folder: Path, processes: int, *, pooled: bool = False
) -> AsyncIterator[Stores]:
    """
    Start PostgreSQL and Redis, with links of each process to them.

    *pooled*: PgBouncer in transaction mode is in front of PostgreSQL.
    """
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(faulty_postgres())
        redis = stack.enter_context(redis_server(folder))
        port = postgres.port
        if pooled:
            port = stack.enter_context(pgbouncer(postgres.postgres, database="store", user="app"))
        links = []
        for _ in range(processes):
            pair = {"postgres": Link(port), "redis": Link(redis.port)}
            for link in pair.values():
                await link.start()
                stack.push_async_callback(link.close)
            links.append(pair)
        yield Stores(postgres, redis, links, pooled=pooled)


@dataclass
class Observed:
    """The faults of a run, and the events of its processes."""

    done: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failed_starts: Counter[str] = field(default_factory=Counter)
    slowest_start: float = 0.0


class Server:
    """The gateway's process, which is started again until it answers."""

    def __init__(
        self,
        folder: Path,
        port: int,
        settings: Mapping[str, str],
        observed: Observed,
        *,
        lease: float = LEASE,
    ) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.log = folder / f"{port}.log"
        self.is_frozen = False
        self._observed = observed
        self._clock = folder / f"{port}.clock"
        gateway = [SHORT_LEASES, str(lease)] if lease < LEASE else ["-m", "gateway"]
        self._arguments = [sys.executable, *gateway, "serve", "--port", str(port)]
        self._environment = {**os.environ, **settings}
        self._process: asyncio.subprocess.Process | None = None
        self._thawed_at = 0.0

    def fake_clock(self) -> None:
        """Start with a clock that `set_clock` moves; it is read again every second."""
        self.set_clock(0)
        self._environment |= faked_clock(file=self._clock)

    def set_clock(self, offset: float) -> None:
        """Set its clock *offset* seconds ahead."""
        self._clock.write_text(f"{offset:+.1f}\n")

    async def start(self) -> None:
        """Start, again and again as a supervisor would, until it answers."""
        began = time.monotonic()
        while not await self._try_to_start():  # noqa: ASYNC110 - as a supervisor does
            await asyncio.sleep(0.5)
        seconds = time.monotonic() - max(began, self._thawed_at)
        self._observed.slowest_start = max(self._observed.slowest_start, seconds)

    async def _try_to_start(self) -> bool:
        with self.log.open("ab") as log:
            at = log.tell()
            process = await asyncio.create_subprocess_exec(
                *self._arguments, env=self._environment, stdout=subprocess.DEVNULL, stderr=log
            )
        self._process = process
        async with asyncio.timeout(300), httpx.AsyncClient(timeout=2) as client:
            while process.returncode is None:
                try:
                    await client.get(f"{self.base}/healthz")
                except httpx.HTTPError:
                    await asyncio.sleep(0.05)
                else:
                    return True
        lines = self.log.read_bytes()[at:].decode().splitlines() or ["no line"]
        reason = next((line for line in reversed(lines) if line.strip()), "no line")
        if reason.startswith(REFUSED_CLOCK):
            self.set_clock(0)
            reason = REFUSED_CLOCK
        self._observed.failed_starts[reason[:160]] += 1
        return False

    async def kill(self) -> None:
        """End it without a chance to clean up."""
        await self.end(signal.SIGKILL)

    async def freeze(self, seconds: float) -> None:
        """Let it stand still, and then go on, unless it was killed meanwhile."""
        process = self._process
        if process is None:
            return
        self.is_frozen = True
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGSTOP)
            try:
                await asyncio.wait([asyncio.create_task(process.wait())], timeout=seconds)
            finally:
                self.is_frozen, self._thawed_at = False, time.monotonic()
                process.send_signal(signal.SIGCONT)

    async def end(self, by: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(by)
            await self._process.wait()
            self._process = None

    def errors(self) -> Counter[str]:
        """Return how often each line of its log was written."""
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return Counter(re.sub(r"\d+", "N", line)[:160] for line in lines if line.strip())


class Schedule:
    """Runs the faults of one run."""

    def __init__(
        self,
        faults: Faults,
        servers: list[Server],
        *,
        stores: Stores | None,
        seed: int,
        observed: Observed,
        lease: float = LEASE,
    ) -> None:
        self._lease = lease
        self._chance = random.Random(seed)
        self.faults = faults.shuffled(self._chance)
        self.begun = 0
        self._servers = servers
        self._stores = stores
        self._observed = observed
        self._database = asyncio.Lock()
        self._freezing = asyncio.Semaphore(max(1, len(servers) - 1))
        self._restarting = {server: asyncio.Lock() for server in servers}

    async def run(self, reached: Callable[[float], Awaitable[None]]) -> None:
        """
        Begin each fault once *reached* returns for its part of the sends; end with the last one.

        At most four last at once.
        """
        places = asyncio.Semaphore(4)
        acts = {
            "kill": self._kill,
            "freeze": self._freeze,
            "clock": self._set_clock,
            "database": self._fail_database,
            "partition": self._part,
        }

        async def act(kind: str, number: int) -> None:
            try:
                await acts[kind](number)
            finally:
                places.release()

        async with asyncio.TaskGroup() as running:
            for kind, number in self.faults:
                await reached((self.begun + 1) / (len(self.faults) + 1))
                await asyncio.sleep(self._chance.uniform(0.0, 0.1))
                await places.acquire()
                self.begun += 1
                running.create_task(act(kind, number))
                await reached(0.0)  # more sends may begin

    async def _kill(self, number: int) -> None:
        server = self._servers[number % len(self._servers)]
        async with self._restarting[server]:
            await server.kill()
            self._observed.done["kills"] += 1
            await server.start()

    async def _freeze(self, number: int) -> None:
        async with self._freezing:
            order = self._servers[number % len(self._servers) :] + self._servers
            server = next(server for server in order if not server.is_frozen)
            self._observed.done["freezes"] += 1
            await server.freeze(self._leases(FREEZES))

    async def _set_clock(self, number: int) -> None:
        server = self._servers[number % len(self._servers)]
        server.set_clock(self._chance.uniform(*CLOCK_OFFSETS))
        self._observed.done["clocks"] += 1
        await asyncio.sleep(self._leases(WRONG_CLOCKS))
        server.set_clock(0)

    async def _fail_database(self, number: int) -> None:
        fault = EVERY[number % len(EVERY)]
        postgres = self._shared.postgres
        async with self._database:
            try:
                await postgres.begin(fault)
                self._observed.done["database errors"] += 1
                await asyncio.sleep(self._chance.uniform(*DATABASE_SECONDS))
            except (asyncpg.PostgresError, OSError, TimeoutError) as failure:
                self._observed.skipped[f"{fault}: {type(failure).__name__}"] += 1
            finally:
                await _until_done(lambda: postgres.end(fault))

    async def _part(self, number: int) -> None:
        """Part one process from a server, or all from Redis."""
        kind, manner = PARTITIONS[number % len(PARTITIONS)].split()
        redis = self._shared.redis
        self._observed.done["partitions"] += 1
        if manner in {"held", "cut"}:
            link = self._shared.links[number % len(self._servers)][kind]
            (link.hold if manner == "held" else link.cut)()
            await asyncio.sleep(self._leases(PARTED))
            link.restore()
            return
        begin, end = (redis.kill, redis.start) if manner == "killed" else (redis.freeze, redis.thaw)
        begin()
        await asyncio.sleep(self._chance.uniform(*STORE_SECONDS))
        await asyncio.to_thread(end)

    def _leases(self, counts: tuple[float, float]) -> float:
        return self._chance.uniform(*counts) * self._lease

    @property
    def _shared(self) -> Stores:
        if self._stores is None:
            raise ValueError("database errors and partitions need servers of the run's own")
        return self._stores


async def _until_done(act: Callable[[], Awaitable[None]]) -> None:
    """Act again until the server accepts it: what it does may be refused by another fault."""
    async with asyncio.timeout(120):
        while True:
            try:
                await act()
            except (asyncpg.PostgresError, OSError, TimeoutError):
                await asyncio.sleep(0.5)
            else:
                return
