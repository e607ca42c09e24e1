"""
A call costs as much with many active tokens, accounts and rows as with few, and so does a start.

`SCALE_TOKENS=100000 SCALE_ROWS=1000000 SCALE_OWNERS=10000 pytest -m slow -s` is the long run. Few
and many are called in turn over one mailbox that stays as it is. What counts is processor time, of
this process and of PostgreSQL's processes that serve it, which a busy machine hardly changes.
"""

import asyncio
import itertools
import logging
import os
import sys
import time
from contextlib import AsyncExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import filled_store
import orjson
import pytest
from database_servers import postgres_server
from expired_rows import execute
from gateway_processes import tell
from paths import REPOSITORY
from run_sizes import times
from time_bounds import FACTOR

from gateway.app import assemble
from gateway.settings import Settings
from providers.http.origins import Origins

sys.path.insert(0, str(REPOSITORY))

from benchmarks import asgi, inside
from benchmarks.corpus import Corpus, id_b
from benchmarks.memory import Arrived, FromMemory

pytestmark = pytest.mark.slow

FEW = 10  # tokens, operators and accounts
FEW_DECISIONS = 1000
# Below some thousand accounts PostgreSQL scans their tables, which costs more than it does later.
TOKENS = int(os.environ.get("SCALE_TOKENS", "20000"))
ROWS = int(os.environ.get("SCALE_ROWS", "30000"))  # decisions, and idempotency rows
OWNERS = int(os.environ.get("SCALE_OWNERS", "5000"))  # operators, each with an account
CALLERS = times(500)  # of the many tokens, of as many operators
ROUNDS, MOST_ROUNDS = 10, 60
CALLS, LISTED = 30, 10  # of a round
# Beside other work caches are cold: processor time is then less exact.
MOST_GROWTH = 1.2 if FACTOR == 1 else 1.5
ADMIN = "an-admin-token-of-tests"
MESSAGES = "/api/access/email/messages"
SENT = orjson.dumps({"to": [{"email": "a@x.example"}], "subject": "s", "body": "b"})
CALLED = {
    "token": ("GET", "/api/access/token", b""),
    "mail": ("GET", f"{MESSAGES}/providerB:{id_b(7)}", b""),
    "page": ("GET", f"{MESSAGES}?limit=10", b""),
    "keyed send": ("POST", f"{MESSAGES}/send", SENT),
}
LISTS = ("operators", "resources", "connections", "access-tokens", "decisions")


class Mailbox(FromMemory):
    """A mailbox that stays as it is; what is sent is accepted."""

    def __init__(self):
        self._corpus = Corpus()
        super().__init__(self._corpus)

    async def send(self, request):
        if request.method == "GET":
            return await super().send(request)
        arrived = Arrived(self._corpus.reply(f"/v1.0/me/messages/{id_b(7)}"))
        arrived.status = 202 if request.url.path.endswith("/send") else 201
        return arrived


class Meter:
    """Processor time, also of the processes of *server* that serve connections."""

    def __init__(self, server):
        self._server = server

    def _server_seconds(self):
        """Return the seconds of each process by its id."""
        seconds = {}
        for process in self._server.children() if self._server else ():
            with suppress(FileNotFoundError):  # it has ended
                folder = Path(f"/proc/{process}")
                if b"127.0.0.1" in (folder / "cmdline").read_bytes():
                    seconds[process] = int((folder / "schedstat").read_text().split()[0]) / 1e9
        return seconds

    @contextmanager
    def served(self, seconds):
        """Append the processor time of the server's processes in the block to *seconds*."""
        began = self._server_seconds()
        yield
        ended = self._server_seconds().items()
        seconds.append(sum(end - began.get(process, 0.0) for process, end in ended))

    async def start(self, new_gateway, text):
        """Return what a start and its first call take."""
        served = []
        async with AsyncExitStack() as stack:
            with self.served(served):
                began = time.process_time()
                gateway = await stack.enter_async_context(new_gateway().running())
                await asgi.call(gateway, *CALLED["token"][:2], text)()
                own = time.process_time() - began
        return Spent([own], served, [0.0])


@dataclass(frozen=True)
class Spent:
    """
    Processor seconds of calls.

    Attributes:
        own: Of this process, of each call.
        served: Of PostgreSQL per call, of each round.
        behind: Of this process per call, of each round, for what is written later.
    """

    own: list[float]
    served: list[float]
    behind: list[float]

    def add(self, other):
        self.own.extend(other.own)
        self.served.extend(other.served)
        self.behind.extend(other.behind)

    def per_call(self):
        """Return the seconds of a call: low ones, to which a busy machine has added little."""
        return sorted(self.own)[len(self.own) // 4] + min(self.served) + min(self.behind)


class Callers:
    """Tokens of a gateway that call in turn."""

    def __init__(self, meter, gateway, texts):
        self._meter, self._gateway = meter, gateway
        self._texts, self._keys = itertools.cycle(texts), itertools.count()

    async def make(self, name, count):
        """Make *count* calls; return what they take."""
        method, target, body = CALLED[name]
        calls = []
        for text in itertools.islice(self._texts, count):
            key = f"{id(self)}-{next(self._keys)}".encode()
            more = {b"idempotency-key": key} if body else {}
            calls.append(asgi.call(self._gateway, method, target, text, body, more_headers=more))
        return await self._measure(calls)

    async def list(self, name):
        """Read a page of a list of the management API a few times; return what that takes."""
        target = f"/api/{name}?limit={FEW // 2}"  # there is another page on both sides
        return await self._measure([asgi.call(self._gateway, "GET", target, ADMIN)] * LISTED)

    async def _measure(self, calls):
        own, served = [], []
        with self._meter.served(served):
            for call in calls:
                began = time.process_time()
                await call()
                own.append(time.process_time() - began)
                await asyncio.sleep(0)  # SQLite is read without a pause, beside which nothing runs
            began = time.process_time()
            await self._gateway.services.decisions.flush()
            await self._gateway.services.last_uses.write()
            behind = time.process_time() - began
        return Spent(own, [served[0] / len(calls)], [behind / len(calls)])


@pytest.fixture(autouse=True)
def _no_log():
    """Pytest keeps what is logged."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request):
    """PostgreSQL, or None."""
    with postgres_server() if request.param == "postgresql" else nullcontext() as server:
        yield server


async def opened(server, folder, name, *, tokens, owners, rows):
    """Fill a store; return what opens a gateway over it, and the texts of its tokens."""
    url = await filled_store.new_database(server, folder, name)
    texts = await filled_store.fill(url, tokens=tokens, owners=owners, settings=inside.settings())
    for kind, count in rows.items():
        await filled_store.fill_rows(url, kind, count)
    if server is not None:
        await execute(url, "VACUUM ANALYZE")
    settings = Settings(
        _env_file=None,
        data_dir=folder / name,
        database_url=url,
        admin_token=ADMIN,
        secret_keys="a secret key of the tests",
        provider_b_url="http://upstream.invalid",
        rate_limits="off",
    )
    return lambda: assemble(settings, origins=Origins(transport=Mailbox())), texts


async def compared(**sides):
    """
    Call all *sides* in turn, and return what each takes: the first is the one with few.

    They are called more often while one seems to take more than `MOST_GROWTH` of the first.
    """
    spent = {}
    for at in range(MOST_ROUNDS):
        for name, measure in sides.items():
            round_ = await measure()
            if at == 1:  # the first round warmed up
                spent[name] = round_
            elif at:
                spent[name].add(round_)
        if at >= ROUNDS and max(growth(spent).values()) <= MOST_GROWTH:
            break
    return spent


def growth(spent):
    """Return the ratio of each to the first."""
    (_, few), *others = spent.items()
    return {name: round(many.per_call() / few.per_call(), 2) for name, many in others}


async def test_calls_and_starts_cost_the_same_with_many_tokens_accounts_and_rows(
    server, tmp_path, request
):
    rows = {"decisions": ROWS, "idempotency keys": ROWS}
    few, few_texts = await opened(
        server, tmp_path, "few", tokens=FEW, owners=FEW, rows={"decisions": FEW_DECISIONS}
    )
    many, many_texts = await opened(
        server, tmp_path, "many", tokens=TOKENS, owners=OWNERS, rows=rows
    )
    meter, costs = Meter(server), {}
    async with few().running() as small_gateway, many().running() as large_gateway:
        small = Callers(meter, small_gateway, few_texts)
        some = Callers(meter, large_gateway, many_texts[:FEW])
        called = many_texts[:: TOKENS // CALLERS + 1]
        all_ = Callers(meter, large_gateway, called)
        for name in ("page", "mail"):  # folders of mailboxes are read once
            await all_.make(name, len(called))
        for name in CALLED:
            costs[name] = await compared(
                few=partial(small.make, name, CALLS),
                many_rows=partial(some.make, name, CALLS),
                many_tokens=partial(all_.make, name, CALLS),
            )
        for name in LISTS:
            costs[name] = await compared(
                few=partial(small.list, name), many_rows=partial(some.list, name)
            )
    costs["start"] = await compared(
        few=partial(meter.start, few, few_texts[0]),
        many_rows=partial(meter.start, many, many_texts[0]),
    )

    request.getfixturevalue("_canaries").forget()  # it would look for each of very many texts
    ratios = {name: growth(spent) for name, spent in costs.items()}
    tell(
        store="postgresql" if server else "sqlite",
        tokens=TOKENS,
        rows=ROWS,
        owners=OWNERS,
        milliseconds={
            name: {side: round(1e3 * each.per_call(), 3) for side, each in spent.items()}
            for name, spent in costs.items()
        },
        ratios=ratios,
        load=os.getloadavg()[0],
    )
    assert {
        name: grown for name, grown in ratios.items() if max(grown.values()) > MOST_GROWTH
    } == {}
