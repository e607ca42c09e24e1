"""Two processes find a token expired at the same time: it is renewed once, and both go on."""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

import pytest
import uvicorn
from run_sizes import times

from gateway.connections import rows as connection_rows
from gateway.secrets.keyring import Keyring
from gateway.store.tables import ConnectionRow
from sandbox.app import create
from sandbox.oauth.clients import ClientRegistry

WORKER = Path(__file__).with_name("refreshing_process.py")
pytestmark = pytest.mark.slow  # two processes
ROUNDS = times(2)


@pytest.fixture
async def served():
    """A sandbox on a socket, and its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sandbox = create(None, public_base=url)
    ClientRegistry(sandbox.state.database).register("provider-b", "gateway", "its secret", [])
    server = uvicorn.Server(uvicorn.Config(sandbox, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    yield sandbox, url
    server.should_exit = True
    await serving


@pytest.fixture
async def processes(store, served, connection):
    """Two workers that are ready."""
    command = (sys.executable, str(WORKER), store, f"{served[1]}/oauth/provider-b")
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = asyncio.subprocess.PIPE
    made = [
        await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, env={**os.environ, **path}
        )
        for _ in range(2)
    ]
    for process in made:
        assert await process.stdout.readline() == b"ready\n"
    yield made
    for process in made:
        process.stdin.close()
        await process.wait()


@pytest.fixture
async def connection(connected):
    return await connected(provider="PROVIDER_B")


async def expire(database, sandbox):
    """Give the connection a token that has ended, and what renews it once."""
    keyring = Keyring(["a secret key of the tests"])
    renew = sandbox.state.tokens.issue_refresh("providerB", "o@example.org", ["Mail.Read"])
    async with database.writing() as session:
        row = await session.get(ConnectionRow, 1)
        old = {"accessToken": "old", "refreshToken": renew, "expiresAt": 1}
        connection_rows.replace(row, old, keyring)
        session.add(row)


async def test_a_token_is_renewed_once_by_many_processes(database, served, processes):
    sandbox, _ = served
    calls = sandbox.upstreams["oauth"].calls
    for _ in range(ROUNDS):
        await expire(database, sandbox)
        calls.clear()
        for process in processes:
            process.stdin.write(b"go\n")
        got = [json.loads(await process.stdout.readline()) for process in processes]

        assert got[0] == got[1]
        (token,) = got[0]
        assert sandbox.state.tokens.read("providerB", token) is not None
        assert len(calls) == 1
    async with database.reading() as session:
        row = await session.get(ConnectionRow, 1)
    assert row.status == "active"
