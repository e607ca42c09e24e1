"""A hanging mailbox delays only the requests that read it."""

import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest
from gateway_processes import ADMIN, MESSAGES, prepare, serving, token_of, upstreams
from raw_http import Line, request

from gateway.http.admission_control import SLOT_SECONDS

pytestmark = pytest.mark.slow

HANGING = 100  # three times as many as a worker has places for
HONEST = 20


@asynccontextmanager
async def silence():
    """Listen, and answer nothing until it is over; give the URL, and what to set then."""
    over = asyncio.Event()

    async def keep(_, writer):
        await over.wait()
        writer.close()

    server = await asyncio.start_server(keep, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", over
        over.set()


async def test_a_hanging_mailbox_does_not_shed_other_requests(tmp_path):
    async with silence() as (nobody, over):
        with (
            upstreams(tmp_path, latency=0.05) as upstream,
            serving(
                tmp_path,
                AGW_RATE_LIMITS="off",
                **{**upstream.settings, "AGW_PROVIDER_A_URL": nobody},
            ) as gateway,
        ):
            made = prepare(gateway.base, upstream.tokens)
            hangs, works = (
                only(gateway.base, made, made.connections[name]) for name in upstream.tokens
            )
            stuck = [
                asyncio.create_task(status_of_call(gateway.port, f"{MESSAGES}?limit=1", hangs))
                for _ in range(HANGING)
            ]
            await asyncio.sleep(2 * SLOT_SECONDS)
            answers = await asyncio.gather(
                *(status_of_call(gateway.port, f"{MESSAGES}?limit=1", works) for _ in range(HONEST))
            )
            over.set()
            await asyncio.gather(*stuck)

    assert answers == [200] * HONEST


def only(base, made, connection):
    """Make a token for one of the mailboxes; return its headers."""
    body = token_of(made.operator, made.resource)
    body["settings"]["allowedConnectionIds"] = [connection]
    answer = httpx.post(f"{base}/api/access-tokens", json=body, headers=ADMIN)
    answer.raise_for_status()
    return {"Authorization": f"Bearer {answer.json()['token']}"}


async def status_of_call(port, path, headers):
    """Ask on a connection of its own; return the status."""
    line = await Line.open(port)
    try:
        status, _ = await line.ask(request(path, headers))
    finally:
        line.close()
    return status
