"""
A gateway over the demo world, with or without volume accounts, whose upstream calls are counted.

The world's time stands still and deadlines are ten times as long, so that the same code costs the
same on a busy machine.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from gateway.app import Gateway, assemble
from gateway.demo import launcher
from gateway.demo.profiles import profiles
from gateway.demo.world import register_client
from gateway.http.sandbox_mount import PATH
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store.database import Database
from providers.http.resilience import SystemClock
from sandbox import quota_units
from sandbox.app import Sandbox
from sandbox.collab import resource_units
from sandbox.http import Request
from sandbox.state import SandboxState, open_state
from sandbox.volume import accounts
from sandbox.world.calendar import events
from sandbox.world.collab import sites
from sandbox.world.mail import mailboxes
from sandbox.world.tasks import boards, projects

ADMIN = "admin"
ORIGIN = "http://127.0.0.1:8000"
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
SLOWNESS = 10  # of the clock by which deadlines are kept
_SECRETS = ("demo-admin-of-the-measurement", "a secret key of the measurement and of nothing else")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """
    The cost of one call of the gateway upstream.

    Attributes:
        calls: HTTP requests; a batch is one.
        parts: Requests, with the parts of batches one by one.
        units: Gmail quota units and SharePoint resource units.
        bytes: Size of the upstreams' answers.
    """

    calls: int
    parts: int
    units: int
    bytes: int


_answering: ContextVar["CountingSandbox | None"] = ContextVar("answering", default=None)


def _make_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
    """Make a task; those that the sandbox begins are timed as the answer is."""
    sandbox = _answering.get()
    return asyncio.Task(work if sandbox is None else _timed(work, sandbox), loop=loop, **options)


async def _timed(work: Any, sandbox: "CountingSandbox") -> Any:
    return await _Timed(work, sandbox)


class _Timed:
    """An awaitable whose steps are timed, so that what runs while it waits does not count."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], sandbox: "CountingSandbox") -> None:
        self._coroutine = coroutine
        self._sandbox = sandbox

    def __await__(self) -> Generator[Any, Any, Any]:
        step = partial(self._coroutine.send, None)
        while True:
            began = time.thread_time()
            try:
                awaited = step()
            except StopIteration as done:
                return done.value
            finally:
                self._sandbox.seconds += time.thread_time() - began
            try:
                step = partial(self._coroutine.send, (yield awaited))
            except BaseException as failure:  # noqa: BLE001 - raised where it belongs
                step = partial(self._coroutine.throw, failure)


class CountingSandbox(Sandbox):
    """The sandbox, counting the bytes of its answers and the processor time that they take."""

    received = 0
    seconds = 0.0

    async def _answer(self, scope: Any, receive: Any) -> Any:
        mark = _answering.set(self)
        try:
            answer = await _Timed(super()._answer(scope, receive), self)
        finally:
            _answering.reset(mark)
        if not scope["path"].startswith((f"{PATH}/calls", f"{PATH}/faults", f"{PATH}/oauth")):
            self.received += len(answer.body)
        return answer


@dataclass(slots=True, kw_only=True)
class MeasuredWorld:
    """
    The gateway and what tokens and ids there are.

    Attributes:
        tokens: The demo's profiles, also as ``full secondTasks`` and ``masked selectedSites``
            for accounts of further resources, and `ADMIN`.
        changed_settings: Those that differ from the demo's.
    """

    folder: Path
    sandbox: CountingSandbox
    tokens: Mapping[str, str]
    changed_settings: Mapping[str, Any]

    @asynccontextmanager
    async def client(self, token: str) -> AsyncIterator[httpx.AsyncClient]:
        """Open a gateway that has read nothing yet, and a client of a token."""
        gateway = self.gateway()
        async with gateway.running(), self.client_of(gateway, token) as client:
            yield client

    def gateway(self) -> Gateway:
        """Return a gateway that has read nothing yet."""
        return assemble(self.settings(), sandbox=self.sandbox, clock=NOW.timestamp)

    def settings(self) -> Settings:
        """Return the settings of a gateway."""
        return _settings(self.folder, self.changed_settings)

    def processor_seconds(self) -> float:
        """Return the processor time of all threads of this process without the upstreams'."""
        return time.process_time() - self.sandbox.seconds

    def client_of(self, gateway: Gateway, token: str) -> httpx.AsyncClient:
        """Return a client with a token, by its name."""
        headers = {"authorization": f"Bearer {self.tokens[token]}"}
        transport = httpx.ASGITransport(gateway, client=("127.0.0.1", 50000))
        return httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers, timeout=300)

    def forget(self) -> None:
        """Begin to count anew."""
        for upstream in self.sandbox.upstreams.values():
            upstream.calls.clear()
        self.sandbox.received = 0

    def cost(self) -> Cost:
        """Return what was spent since `forget`; calls for credentials do not count."""
        calls = [
            (name, call)
            for name, upstream in self.sandbox.upstreams.items()
            if name != "oauth"
            for call in upstream.calls
        ]
        on_wire = [call for _, call in calls if not call["batch"]]
        inner = [(name, call) for name, call in calls if not _is_batch(call)]
        return Cost(
            calls=len(on_wire),
            parts=len(inner),
            units=sum(_units(name, call) for name, call in inner),
            bytes=self.sandbox.received,
        )


def _is_batch(call: Mapping[str, Any]) -> bool:
    path: str = call["path"]
    return path.startswith("/batch") or path.lower().endswith(("/$batch", "/%24batch"))


def _units(upstream: str, call: Mapping[str, Any]) -> int:
    query = tuple((name, value) for name, values in call["query"].items() for value in values)
    segments = tuple(filter(None, call["path"].split("/")))
    request = Request(method=call["method"], segments=segments, query=query)
    if upstream == "collab":
        return resource_units.units(request)
    return quota_units.price(request) if upstream == "providerA" else 0


def open_sandbox_state(*, volume: bool) -> tuple[SandboxState, accounts.VolumeAccounts | None]:
    """Make the demo world of `NOW` in memory, with the volume accounts on request."""
    state = open_state(None, clock=NOW.timestamp)
    with state.database.transaction():
        mailboxes.seed(state.database, state.mails, NOW)
        events.seed(state.database, state.calendars, NOW)
        boards.seed(state.database, NOW)
        projects.seed(state.database, NOW)
        sites.seed(state.database, state.content, NOW)
    return state, accounts.fill(state, NOW) if volume else None


@contextmanager
def slowed_deadlines() -> Iterator[None]:
    """Slow down the clock of the event loop and of deadlines inside the context."""
    real_clock, began = time.monotonic, time.monotonic()

    def slow_clock() -> float:
        return began + (real_clock() - began) / SLOWNESS

    of_deadlines = patch.object(SystemClock, "monotonic", staticmethod(slow_clock))
    with patch("time.monotonic", slow_clock), of_deadlines:
        yield


def _settings(folder: Path, changed: Mapping[str, Any]) -> Settings:
    demo = launcher.settings(folder, _SECRETS, ORIGIN)
    return demo.model_copy(update={"rate_limits": "off", "not_found_step_ms": 0, **changed})


@asynccontextmanager
async def opened(
    *, volume: bool, **changed_settings: Any
) -> AsyncIterator[tuple[MeasuredWorld, accounts.VolumeAccounts | None]]:
    """Open the demo world, or this world with volume accounts, and return these."""
    asyncio.get_running_loop().set_task_factory(_make_task)
    state, made = open_sandbox_state(volume=volume)
    with (
        slowed_deadlines(),
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        suppress(GeneratorExit),
    ):
        folder = Path(name)
        sandbox = CountingSandbox(state, public_base=f"{ORIGIN}{PATH}")
        register_client(sandbox, ORIGIN)
        # More is measured in a minute than one user may spend.
        sandbox.upstreams["providerA"].quota = None
        state.content.settings.units = None
        database = Database.open(_settings(folder, changed_settings).database)
        await database.migrate()
        filled = await launcher.fill(database, Keyring([_SECRETS[1]]), sandbox)
        await database.close()
        tokens = {**filled.tokens, ADMIN: _SECRETS[0]}
        world = MeasuredWorld(
            folder=folder, sandbox=sandbox, tokens=tokens, changed_settings=changed_settings
        )
        async with world.client(ADMIN) as admin:
            for resource in ("secondTasks", "selectedSites"):
                for profile in ("full", "masked"):
                    new = {
                        "name": resource,
                        "operatorId": filled.operator_id,
                        "resourceIds": [filled.resources[resource]],
                        "settings": dict(profiles()[profile]),
                    }
                    token = (await admin.post("/api/access-tokens", json=new)).json()["token"]
                    tokens[f"{profile} {resource}"] = token
        yield world, made
