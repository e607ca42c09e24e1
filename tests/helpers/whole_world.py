"""
The world of the tests with every surface connected, driven from ordinary functions.

A runner of its own drives the gateway, so that one world serves all examples of a property.
"""

import asyncio
import gc
import time
import types
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import calendar_world
import content_world
import drafts
import httpx
import pytest
import task_world
import world as worlds

from sandbox.app import Sandbox

JSON = {"Content-Type": "application/json"}
SETTINGS = {
    **calendar_world.EVERYTHING,
    **content_world.EVERYTHING,
    "allowedTaskOperations": ["all"],
    "allowChildren": True,
    "subscriptionsEnabled": True,
}


class CpuTime:
    """
    The CPU time of some coroutines, without what ran while they waited.

    Attributes:
        seconds: The time so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    @types.coroutine
    def add(self, work: Awaitable[Any]) -> Generator[Any, None, Any]:
        """Await *work* and add its time."""
        steps, error = work.__await__(), None
        while True:
            started = time.thread_time()
            try:
                future = steps.send(None) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self.seconds += time.thread_time() - started
            try:
                yield future
                error = None
            except BaseException as raised:  # noqa: BLE001 - the coroutine's own matter
                error = raised


@dataclass(frozen=True)
class WholeWorld:
    """
    A gateway over all its upstreams.

    Attributes:
        agendas: The calendars, which are empty.
        tasks: The boards, which are connected, and the project, which is not.
        parameters: Values of path parameters that name something that is there.
        token_id: The id of another token, which may be changed.
        sandbox_time: The CPU time of the sandbox, which is in the same process.
        client, admin: Clients of a token with every operation, and of the admin token.
    """

    runner: asyncio.Runner
    world: worlds.World
    agendas: calendar_world.Agendas
    tasks: task_world.TaskWorld
    parameters: dict[str, str]
    token_id: int
    sandbox_time: CpuTime
    client: httpx.AsyncClient
    admin: httpx.AsyncClient

    def call(self, method: str, url: str, **content: Any) -> tuple[httpx.Response, float]:
        """Make a call; return the response and the CPU seconds of all but the sandbox."""
        client = self.client if "/api/access/" in url or url == "/graphql" else self.admin
        before = self.sandbox_time.seconds
        if url == "/graphql":
            content = as_json(content)
        response, seconds = self.runner.run(_timed(client, method, url, content))
        return response, seconds - (self.sandbox_time.seconds - before)

    def upstream_calls(self) -> int:
        """Return how many calls the upstreams have received."""
        return sum(len(wire.calls) for wire in self.world.sandbox.upstreams.values())

    def url(self, path: str, **ids: str) -> str:
        """Fill the parameters of a row's path with *ids*, or with ids of what is there."""
        return path.format(**{**self.ids(path), **ids})

    def ids(self, path: str) -> dict[str, str]:
        """Return values of the parameters of a row's path that name something that is there."""
        if "/lists/" in path:
            return {**self.parameters, "itemId": f"{self.parameters['listId']}:item:1"}
        return self.parameters


def as_json(content: dict[str, Any]) -> dict[str, Any]:
    """Declare the content of a request as JSON."""
    return {**content, "headers": {**JSON, **content.get("headers", {})}}


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
def opened(
    template, folder, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> Iterator[WholeWorld]:
    """
    Open a copy of the tests' world with calendars, boards and content, without rate limits.

    *loop_factory* makes its event loop; None: asyncio's own.
    """
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        making = _made(template, folder, runner)
        try:
            yield runner.run(making.__aenter__())
        finally:
            runner.run(making.__aexit__(None, None, None))


def without_upstream_limits(world: worlds.World) -> None:
    """Let properties make more calls a minute than the upstreams allow a person."""
    world.sandbox.upstreams["providerA"].quota.allowance = None
    world.sandbox.state.content.settings.units = None


@asynccontextmanager
async def _made(template, folder, runner):
    async with worlds.opened(*template, folder, rate_limits="off") as world:
        without_upstream_limits(world)
        agendas = await calendar_world.opened(world)
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
            "draftId": drafts.draft_id("PROVIDER_A", drafts.leave(world, "PROVIDER_A")),
            "emailId": world.id("lease"),
            "threadId": world.thread_id("lease"),
            "eventId": "00000000-0000-0000-0000-000000000000",
            "boardId": tasks["kitchen"],
            "fileId": content.id("sketch"),
            "folderId": content.id("boats"),
            "siteId": content.id("yard"),
            "listId": content.id("berths"),
            "itemId": tasks["door"],
        }
        async with _client(world, token) as client, _client(world, worlds.ADMIN) as admin:
            email = await client.get(f"/api/access/email/messages/{parameters['emailId']}")
            parameters["attachmentId"] = email.json()["attachments"][0]["id"]
            upload = "/api/access/email/attachments?fileName=oars.txt"
            uploaded = await client.post(upload, content=b"oars")
            parameters["handle"] = uploaded.json()["handle"]
            child = await client.post("/api/access/token/children", json={"name": "oars"})
            parameters["childId"] = str(child.json()["id"])
            parameters["id"] = "of-no-held-write"
            path = f"/api/access/collab/files/{parameters['fileId']}/permissions"
            permissions = (await client.get(path)).json()["permissions"]
            parameters["permissionId"] = next(
                permission["id"] for permission in permissions if permission["role"] != "owner"
            )
            with _sandbox_time(world.sandbox) as sandbox_time:
                yield WholeWorld(
                    runner, world, agendas, tasks, parameters, token_id, sandbox_time, client, admin
                )


@contextmanager
def _sandbox_time(sandbox: Sandbox) -> Iterator[CpuTime]:
    answer, cpu_time = sandbox._answer, CpuTime()

    async def timed(*arguments: Any) -> Any:
        return await cpu_time.add(answer(*arguments))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_answer", timed)
        yield cpu_time


def _client(world: worlds.World, token: str) -> httpx.AsyncClient:
    """Return a client whose bodies nobody but the gateway reads: the canaries would."""
    transport = httpx.ASGITransport(world.gateway.middleware, client=("127.0.0.1", 50000))
    headers = {"authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=transport, base_url=worlds.ORIGIN, headers=headers)
