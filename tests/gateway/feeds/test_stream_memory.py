"""Memory of an open stream of changes."""

import asyncio
import gc
import os
from contextlib import AsyncExitStack
from pathlib import Path

import calendar_world
import pytest
from change_stream import pull, reading

from gateway.feeds import streams as shared
from rest_compat.responses import RestResponse

STREAMS = 1_000
WARMING = 20
MOST_BYTES = 25_000  # of a stream
CLIENT_BYTES = 3_000  # of the client of the test: its task, two events, what it was sent

pytestmark = pytest.mark.slow


def resident():
    """Return the bytes that this process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def quiet(_call, _context):
    return RestResponse(status=200, body=b'{"changes":[],"more":false}')


async def test_a_thousand_streams_hold_little(world_template, tmp_path, monkeypatch):
    monkeypatch.setattr(shared, "MAX_OF_TOKEN", STREAMS)
    async with (
        calendar_world.empty(world_template, tmp_path) as agendas,
        AsyncExitStack() as opened,
    ):
        token = await agendas.token()
        begun = (await pull(agendas, token))["cursor"]
        monkeypatch.setattr("gateway.feeds.stream._Look.run", quiet)  # the providers' part is short
        for _ in range(WARMING):
            async with reading(agendas, token, since=begun):
                await asyncio.sleep(0)
        before = resident()
        readers = []
        for _ in range(STREAMS):
            reader = await opened.enter_async_context(reading(agendas, token, since=begun))
            assert reader.status == 200
            readers.append(reader)
        assert agendas.world.gateway.services.streams.count == STREAMS
        each = (resident() - before) / STREAMS
        for reader in readers:
            reader.hangs_up.set()  # all at once: each is noticed at the next look

    assert each < MOST_BYTES + CLIENT_BYTES, f"{each:,.0f} bytes"
