"""
The world of the tests with every surface connected, driven from ordinary functions.

A runner of its own drives the gateway, so that one world serves all examples of a property.
"""

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import calendar_world
import content_world
import httpx
import task_world
import world as worlds

SETTINGS = {
    **calendar_world.EVERYTHING,
    **content_world.EVERYTHING,
    "allowedTaskOperations": ["all"],
}


@dataclass(frozen=True)
class WholeWorld:
    """
    A gateway over all its upstreams.

    Attributes:
        parameters: Values of path parameters that name something that is there.
        token_id: The id of another token, which may be changed.
        client, admin: Clients of a token with every operation, and of the admin token.
    """

    runner: asyncio.Runner
    world: worlds.World
    parameters: dict[str, str]
    token_id: int
    client: httpx.AsyncClient
    admin: httpx.AsyncClient

    def call(self, method: str, url: str, **content: Any) -> tuple[httpx.Response, float]:
        """Make a call; return the response and the CPU seconds of this process."""
        client = self.client if "/api/access/" in url or url == "/graphql" else self.admin
        return self.runner.run(_timed(client, method, url, content))

    def upstream_calls(self) -> int:
        """Return how many calls the upstreams have received."""
        return sum(len(wire.calls) for wire in self.world.sandbox.upstreams.values())

    def url(self, path: str, **ids: str) -> str:
        """Fill the parameters of a row's path with *ids*, or with ids of what is there."""
        parameters = self.parameters
        if "/lists/" in path:
            parameters = {**parameters, "itemId": f"{parameters['listId']}:item:1"}
        return path.format(**{**parameters, **ids})


async def _timed(
    client: httpx.AsyncClient, method: str, url: str, content: dict[str, Any]
) -> tuple[httpx.Response, float]:
    gc.disable()  # the heap of the tests is not the gateway's
    try:
        started = time.process_time()
        response = await client.request(method, url, **content)
        return response, time.process_time() - started
    finally:
        gc.enable()


@contextmanager
def opened(template, folder) -> Iterator[WholeWorld]:
    """Open a copy of the tests' world with calendars, boards and content, without rate limits."""
    with asyncio.Runner() as runner:
        making = _made(template, folder, runner)
        try:
            yield runner.run(making.__aenter__())
        finally:
            runner.run(making.__aexit__(None, None, None))


@asynccontextmanager
async def _made(template, folder, runner):
    async with worlds.opened(*template, folder, rate_limits="off") as world:
        await calendar_world.opened(world)
        tasks = task_world.fill(world.sandbox)
        await task_world.connect(world, tasks, "BOARDS", resource=worlds.MAIN)
        content = content_world._fill_world(world)
        content.make.save()
        await content_world.connect(
            world, resource=worlds.MAIN, scopes=content_world.WRITE, account=content_world.ANN
        )
        token = await world.token(SETTINGS)
        await world.token(SETTINGS)
        listed = await world.admin.get("/api/access-tokens")
        token_id = listed.json()["tokens"][-1]["id"]
        parameters = {
            "emailId": world.id("lease"),
            "threadId": world.thread_id("lease"),
            "eventId": "00000000-0000-0000-0000-000000000000",
            "boardId": tasks["kitchen"],
            "fileId": content.id("sketch"),
            "permissionId": "1",
            "siteId": content.id("yard"),
            "listId": content.id("berths"),
            "itemId": tasks["door"],
        }
        async with _client(world, token) as client, _client(world, worlds.ADMIN) as admin:
            email = await client.get(f"/api/access/email/messages/{parameters['emailId']}")
            parameters["attachmentId"] = email.json()["attachments"][0]["id"]
            yield WholeWorld(runner, world, parameters, token_id, client, admin)


def _client(world: worlds.World, token: str) -> httpx.AsyncClient:
    """Return a client whose bodies nobody but the gateway reads: the canaries would."""
    transport = httpx.ASGITransport(world.gateway.middleware, client=("127.0.0.1", 50000))
    headers = {"authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=transport, base_url=worlds.ORIGIN, headers=headers)
