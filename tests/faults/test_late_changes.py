"""
A change of what a token may do holds at once in every process while the database fails.

Two processes on a PostgreSQL and a Redis of their own, or on one SQLite file. Each round changes a
token by one process, while callers use it at both. From the response to the change on, no request
that begins is answered by what was allowed before. Meanwhile the connections to PostgreSQL are cut
and held, and the server is frozen and restarted; on SQLite the file is locked; and in both the
processes stand still in turn.

`TIMES=250 ./run slow -s tests/faults/test_late_changes.py` is the long run.
"""

import asyncio
import contextlib
import json
import random
import signal
import sqlite3
import time
from collections import Counter
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
from database_servers import postgres_server, redis_server
from gateway_processes import ADMIN, MESSAGES, prepare, serving, tell, token_of, upstreams
from network_faults import Link
from raw_http import Line, request
from run_sizes import times

pytestmark = pytest.mark.slow

ROUNDS = times(2)
CALLERS = 2  # per process
AFTER = 2  # responses of each caller by the new state
FAULT_SECONDS = (0.2, 1.5)
PAUSE_SECONDS = (0.5, 2.0)  # between two faults
ROUND_SECONDS = 120
MAIL = f"{MESSAGES}?limit=1"
FOLDER = "/api/access/collab/files?folderId=collab:drive:b!x:item:i&limit=1"
ALLOW = {"ruleType": "drive_id", "pattern": "b!x", "action": "allow"}


@dataclass
class Site:
    """
    Two gateways over one store.

    Attributes:
        faults: What fails meanwhile, by name: context managers that last as long as the fault.
        done: How often each fault was there.
    """

    gateways: list
    operator: str
    resource: int
    faults: dict
    done: Counter = field(default_factory=Counter)

    @property
    def ports(self):
        return [gateway.port for gateway in self.gateways]

    async def fail(self):
        """Bring about one fault after another, until cancelled."""
        chance = random.Random(29)
        while True:
            await asyncio.sleep(chance.uniform(*PAUSE_SECONDS))
            name = chance.choice(sorted(self.faults))
            async with self.faults[name](chance):
                self.done[name] += 1
                await asyncio.sleep(chance.uniform(*FAULT_SECONDS))


@asynccontextmanager
async def frozen(process):
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def process_faults(gateways):
    return {"process frozen": lambda chance: frozen(chance.choice(gateways).process)}


def sqlite_faults(file):
    @asynccontextmanager
    async def locked(_):
        connection = sqlite3.connect(file, timeout=30)
        with contextlib.closing(connection):
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.rollback()

    return {"file locked": locked}


def postgres_faults(postgres, links):
    @asynccontextmanager
    async def parted(chance, manner):
        link = chance.choice(links)
        getattr(link, manner)()
        try:
            yield
        finally:
            link.restore()

    @asynccontextmanager
    async def away(_, begin, end):
        await asyncio.to_thread(begin)
        try:
            yield
        finally:
            await asyncio.to_thread(end)

    return {
        "link cut": lambda chance: parted(chance, "cut"),
        "link held": lambda chance: parted(chance, "hold"),
        "server frozen": lambda chance: away(chance, postgres.freeze, postgres.thaw),
        "server restarted": lambda chance: away(chance, postgres.stop, postgres.start),
    }


@pytest.fixture(params=["postgresql", "sqlite"])
async def site(request, tmp_path):
    """The gateways, which read mail and collab of a sandbox of their own."""
    with ExitStack() as stack:
        upstream = stack.enter_context(upstreams(tmp_path, latency=0.001))
        settings = {
            **upstream.settings,
            "AGW_COLLAB_URL": f"{upstream.process.base}/collab",
            "AGW_RATE_LIMITS": "off",
        }
        links, faults = [], {}
        if request.param == "postgresql":
            postgres = stack.enter_context(postgres_server())
            settings["AGW_REDIS_URL"] = stack.enter_context(redis_server(tmp_path)).url
            links = [Link(postgres.port) for _ in range(2)]
            for link in links:
                await link.start()
            faults = postgres_faults(postgres, links)
            urls = [postgres.url.replace(str(postgres.port), str(link.port)) for link in links]
        else:
            urls = [f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"] * 2
            faults = sqlite_faults(tmp_path / "gateway.db")
        gateways = []
        for url in urls:
            more = {"AGW_DATABASE_URL": url, "AGW_PROCESSES": "2"}
            process = serving(tmp_path, **settings, **more)
            gateways.append(await asyncio.to_thread(stack.enter_context, process))
        tokens = {"PROVIDER_B": upstream.tokens["PROVIDER_B"]}
        made = await asyncio.to_thread(prepare, gateways[0].base, tokens)
        collab = upstream.state.tokens.issue("collab", "o@x.example", ["Files.ReadWrite.All"])
        connection = {
            "resourceId": made.resource,
            "operatorId": made.operator,
            "kind": "collab",
            "provider": "COLLAB",
            "mode": "delegated",
            "accountEmail": "o@x.example",
            "grantedScopes": ["Files.ReadWrite.All"],
            "credentials": {"accessToken": collab},
        }
        async with admin(gateways[0].port) as line:
            assert (await line("POST", "/connections", connection))[0] == 201
        faults |= process_faults(gateways)
        try:
            yield Site(gateways, made.operator, made.resource, faults)
        finally:
            for link in links:
                await link.close()


@asynccontextmanager
async def admin(port):
    """Yield what asks the management API of one process."""
    line = await Line.open(port)

    async def ask(method, path, body=None):
        written = b"" if body is None else json.dumps(body).encode()
        return await line.ask(request(f"/api{path}", ADMIN, method=method, body=written))

    try:
        yield ask
    finally:
        line.close()


async def change(site, turn, method, path, body=None, *, done=(200, 201, 204)):
    """Change by one process after the other until the change is answered; return the response."""
    async with asyncio.timeout(ROUND_SECONDS):
        while True:
            turn += 1
            with suppress(OSError):
                async with admin(site.ports[turn % 2]) as ask:
                    status, answer = await ask(method, path, body)
                if status in done:
                    return json.loads(answer) if answer else None
                assert status in {500, 503, 504}, (status, answer)
            await asyncio.sleep(0.1)


@dataclass
class Use:
    """
    The use of a token by a caller.

    Attributes:
        seen: Moment at which each call began, status and code.
        changed: Set when the change was answered.
        old, new: The statuses and codes of the state before the change, and after it.
        begun: Set when a call was answered by the old state.
    """

    path: str
    bearer: dict
    old: set
    new: set
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    seen: list = field(default_factory=list)

    async def keep(self, port):
        """Use the token until it was answered a few times by the new state after the change."""
        line, after = None, 0
        try:
            while after < AFTER:
                began, was_changed = time.monotonic(), self.changed.is_set()
                try:
                    line = line or await Line.open(port)
                    status, body = await line.ask(request(self.path, self.bearer))
                except OSError:
                    line = None
                    continue
                answer = outcome(status, body)
                self.seen.append((began, answer))
                assert answer is None or answer in self.old | self.new, (status, body)
                if answer in self.old:
                    self.begun.set()
                after += was_changed and answer in self.new
        finally:
            if line is not None:
                line.close()


def outcome(status, body):
    """Return status and code; a response of a frozen or lost database or upstream is None."""
    code = json.loads(body).get("error") if status >= 400 else None
    return None if status in {502, 503, 504} else (status, code)


async def change_round(site, turn, path, bearer, act, *, old, new):
    """Change while callers use a token; return the calls before, after, and the late ones."""
    use = Use(path, bearer, old, new)
    callers = [asyncio.create_task(use.keep(port)) for port in site.ports * CALLERS]
    try:
        async with asyncio.timeout(ROUND_SECONDS):
            begun = asyncio.create_task(use.begun.wait())
            await asyncio.wait([begun, *callers], return_when=asyncio.FIRST_COMPLETED)
            assert begun.done(), [caller.result() for caller in callers if caller.done()]
            await act(turn)
            changed = time.monotonic()
            use.changed.set()
            await asyncio.gather(*callers)
    finally:
        for caller in callers:
            caller.cancel()
    before = sum(began < changed for began, _ in use.seen)
    late = sum(began >= changed and answer in old for began, answer in use.seen)
    return before, len(use.seen) - before, late


async def made(site, turn, **settings):
    """Make a token; return its path in the management API and its header."""
    body = token_of(site.operator, site.resource)
    token = await change(
        site, turn, "POST", "/access-tokens", {**body, "settings": {**body["settings"], **settings}}
    )
    return f"/access-tokens/{token['id']}", {"Authorization": f"Bearer {token['token']}"}


class Revocation:
    """Each round has a token of its own."""

    async def rounds(self, site):
        for turn in range(ROUNDS):
            path, bearer = await made(site, turn)

            async def act(turn, path=path):
                await change(site, turn, "DELETE", path, done=(204, 404))

            yield turn, MAIL, bearer, act, {(200, None)}, {(401, None)}


class Switched:
    """One token, whose settings are switched to and fro."""

    path = MAIL
    allowed = ((200, None),)

    def __init__(self, on, off, refused):
        self._settings = (on, off)
        self._refused = refused

    async def rounds(self, site):
        path, bearer = await made(site, 0, **self._settings[0])
        states = [set(self.allowed), {self._refused}]
        for turn in range(ROUNDS):
            new = (turn + 1) % 2

            async def act(turn, new=new):
                await change(site, turn, "PATCH", path, {"settings": self._settings[new]})

            yield turn, self.path, bearer, act, states[1 - new], states[new]


class Rules:
    """One token in block-all mode, whose only allow rule is made and deleted in turn."""

    async def rounds(self, site):
        settings = {
            "collabAccessEnabled": True,
            "allowedCollabOperations": ["all"],
            "collabAllowAllDefault": False,
        }
        path, bearer = await made(site, 0, **settings)
        states = [{(404, "BLOCKED")}, {(404, None)}]  # nothing has that id
        for turn in range(ROUNDS):
            new = (turn + 1) % 2

            async def act(turn, new=new):
                rules = {"rules": [ALLOW] if new else []}
                await change(site, turn, "PUT", f"{path}/collab-rules", rules)

            yield turn, FOLDER, bearer, act, states[1 - new], states[new]


CHANGES = {
    "revocation": Revocation(),
    "narrowing": Switched(
        {"emailAccessEnabled": True}, {"emailAccessEnabled": False}, (422, "EMAIL_NOT_ENABLED")
    ),
    "operations": Switched(
        {"allowedEmailOperations": ["all"]},
        {"allowedEmailOperations": ["send_email"]},
        (403, "OPERATION_NOT_ALLOWED"),
    ),
    "rules": Rules(),
}


async def run_rounds(site, name):
    """Change again and again; return how many rounds, and calls before, after and late."""
    totals = Counter()
    async for turn, path, bearer, act, old, new in CHANGES[name].rounds(site):
        before, after, late = await change_round(site, turn, path, bearer, act, old=old, new=new)
        totals.update(rounds=1, before=before, after=after, late=late)
        if totals["rounds"] % 50 == 0:
            tell(change=name, **totals)
    return totals


async def test_no_request_after_a_change_is_answered_by_what_was_before(site):
    """The four kinds of changes run side by side, each with a token of its own."""
    failing, began = asyncio.create_task(site.fail()), time.monotonic()
    try:
        async with asyncio.TaskGroup() as running:
            runs = {name: running.create_task(run_rounds(site, name)) for name in CHANGES}
    finally:
        failing.cancel()
        await asyncio.gather(failing, return_exceptions=True)
    counts = {name: run.result() for name, run in runs.items()}
    tell(seconds=round(time.monotonic() - began), faults=site.done, **counts)

    assert [totals["late"] for totals in counts.values()] == [0] * len(CHANGES)
    assert [totals["rounds"] for totals in counts.values()] == [ROUNDS] * len(CHANGES)
