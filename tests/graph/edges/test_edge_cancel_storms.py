"""
Cancelled documents with edges leave nothing open, and everything healthy is answered afterwards.

Generated documents over all surfaces run ten at a time, on both event loops, until 10 of
them were cancelled at random moments; the upstreams are called over sockets. 1,000:
`TIMES=100 pytest -n 0 -s -m slow -o faulthandler_timeout=7200 PATH`.
"""

import asyncio
import gc
import importlib
from contextlib import asynccontextmanager
from random import Random

import edge_world
import generated_edges
import httpx
import pytest
import whole_world
import world as worlds
from guarded_server import serve
from run_sizes import times

from providers.http.transport import PooledTransport

pytestmark = [
    pytest.mark.slow,
    # Reads that are cancelled before they begin.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]

STORMS = times(10)
AT_ONCE = 10
HEALTHY = 4  # documents that are answered before and after
SETTLED = 5.0  # seconds until what was cancelled must have ended
LOOPS = {
    "asyncio": lambda: asyncio.new_event_loop,
    "uvloop": lambda: importlib.import_module("uvloop").new_event_loop,
}


@pytest.mark.parametrize("loop", LOOPS)
def test_cancelled_documents_leave_nothing_open(world_template, tmp_path, loop):
    with whole_world.opened(world_template, tmp_path / "storm", LOOPS[loop]()) as world:
        ids = edge_world.fill(world)
        cancelled, answered = world.runner.run(storm(world, Random("storm"), ids))
        gc.collect()  # unawaited coroutines belong to this test, not to a later one

    print(f"{loop}: {cancelled} were cancelled, {answered} answered before")  # noqa: T201


async def storm(world, random, ids):
    """Run the documents; return how many were cancelled, and how many answered before."""
    async with over_sockets(world) as transport:
        healthy = await healthy_documents(world, random, ids)
        before = [await ask(world, document) for document in healthy]
        own = len(await settled(transport, 0))
        cancelled = answered = 0
        while cancelled < STORMS:
            documents = [generated_edges.document(random, ids) for _ in range(AT_ONCE)]
            requests = [asyncio.create_task(ask(world, document)) for document in documents]
            if random.random() < 0.5:
                for _ in range(random.randint(1, 200)):
                    await asyncio.sleep(0)
            else:
                await asyncio.sleep(random.random() * 0.15)
            for request in requests:
                request.cancel()
            ended = await asyncio.gather(*requests, return_exceptions=True)
            cancelled += sum(isinstance(end, asyncio.CancelledError) for end in ended)
            answered += sum(isinstance(end, tuple) for end in ended)
            assert all(isinstance(end, asyncio.CancelledError | tuple) for end in ended), ended
            left = await settled(transport, own)
            assert list(map(name_of, left[own:])) == []
            assert transport.busy == 0

        assert [await ask(world, document) for document in healthy] == before
        together = await asyncio.gather(*(ask(world, document) for document in healthy))
        assert together == before
    await settled(transport, own)
    assert transport.open == 0
    return cancelled, answered


async def healthy_documents(world, random, ids):
    """Return documents that are answered, which are not too costly."""
    documents = []
    while len(documents) < HEALTHY:
        document = generated_edges.document(random, ids)
        status, body = await ask(world, document)
        if status == 200 and b'"errors"' not in body:
            documents.append(document)
    return documents


async def settled(transport, most):
    """Wait until nothing is under way; return the tasks that are left, the oldest first."""
    ends = asyncio.get_running_loop().time() + SETTLED
    while True:
        tasks = sorted(
            (task for task in asyncio.all_tasks() if _is_work(task)),
            key=lambda task: int(task.get_name().rpartition("-")[2]),
        )
        late = asyncio.get_running_loop().time() > ends
        if late or (transport.busy == 0 and (not most or len(tasks) <= most)):
            return tasks
        await asyncio.sleep(0.01)


def _is_work(task):
    """Leave out the tasks of the server, which keeps connections open for more requests."""
    return "RequestResponseCycle" not in name_of(task)


def name_of(task):
    """Return what a task runs."""
    running = task.get_coro()
    return getattr(running, "__qualname__", None) or repr(running)


@asynccontextmanager
async def over_sockets(world):
    """Serve the upstreams of *world* on a port, and lead all calls there; yield the transport."""
    origins = world.world.gateway.services.accounts.origins
    async with serve(origins._apps[worlds.ORIGIN]) as port:
        transport = PooledTransport()
        origins._transports[worlds.ORIGIN] = _Redirected(transport, port)
        try:
            yield transport
        finally:
            origins._transports.pop(worlds.ORIGIN)
            await transport.aclose()


class _Redirected(httpx.AsyncBaseTransport):
    """Sends every request to a port of this machine."""

    def __init__(self, transport, port):
        self._transport = transport
        self._port = port

    async def handle_async_request(self, request):
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return await self._transport.handle_async_request(request)


async def ask(world, document):
    """Run a document; return status and bytes."""
    headers = {"x-request-id": "same"}
    response = await world.client.post("/graphql", json={"query": document}, headers=headers)
    return response.status_code, response.content
