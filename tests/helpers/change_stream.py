"""Clients of the stream of changes, over the gateway of `calendar_world`."""

import asyncio
import json
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from itertools import count
from urllib.parse import urlencode

from agent_client import modern
from calendar_world import at, meeting
from world import ADMIN

from gateway.feeds.streams import MAX_OF_TOKEN

CHANGES = "/api/access/changes"
STREAM = f"{CHANGES}/stream"
_opens = count(MAX_OF_TOKEN)


class Reader:
    """A client that reads a stream."""

    def __init__(self, body=b""):
        self._body = body
        self.head, self.sent, self.has_ended = None, b"", False
        self._more, self.hangs_up = asyncio.Event(), asyncio.Event()

    async def receive(self):
        if (body := self._body) is not None:
            self._body = None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.hangs_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if message["type"] == "http.response.start":
            self.head = message
        self.sent += message.get("body", b"")
        self.has_ended = message["type"] == "http.response.body" and not message.get("more_body")
        self._more.set()

    @property
    def status(self):
        return self.head["status"]

    @property
    def headers(self):
        return {name.decode(): value.decode() for name, value in self.head["headers"]}

    @property
    def events(self):
        blocks = [block for block in self.sent.decode().split("\n\n") if block.startswith("id:")]
        return [json.loads(block.split("data: ")[1])["cursor"] for block in blocks]

    @property
    def messages(self):
        """The messages of an agent's stream."""
        blocks = [each for each in self.sent.decode().split("\n\n") if each.startswith("data:")]
        return [json.loads(block.removeprefix("data: ")) for block in blocks]

    async def until(self, is_met, seconds=10):
        async with asyncio.timeout(seconds):
            while not is_met(self):
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def reading(agendas, token, *, method="GET", headers=(), **query):
    """Open a stream, as a server of HTTP would."""
    scope = {"method": method, "path": STREAM, "query_string": urlencode(query).encode()}
    async with _opened(agendas, token, scope, headers) as reader:
        yield reader


@asynccontextmanager
async def listening(agendas, token, **wanted):
    """Open the stream of an agent, whose filter is *wanted*."""
    body, headers = modern("subscriptions/listen", {"notifications": wanted})
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"method": "POST", "path": "/mcp", "query_string": b""}
    async with _opened(agendas, token, scope, sent, json.dumps(body).encode()) as reader:
        yield reader


@asynccontextmanager
async def _opened(agendas, token, scope, headers, body=b""):
    reader = Reader(body)
    address = 10 << 24 | next(_opens) // MAX_OF_TOKEN  # each has its own windows of requests
    scope |= {
        "type": "http",
        "http_version": "1.1",
        "raw_path": scope["path"].encode(),
        "headers": [(b"host", b"gateway.test"), *headers],
        "client": (str(IPv4Address(address)), 50_000),
    }
    if token is not None:
        scope["headers"].append((b"authorization", f"Bearer {token}".encode()))
    serving = asyncio.create_task(agendas.world.gateway(scope, reader.receive, reader.send))
    await reader.until(lambda it: it.sent or it.has_ended)
    try:
        yield reader
    finally:
        reader.hangs_up.set()
        await asyncio.wait_for(serving, 5)


async def pull(agendas, token, since=None):
    """Return the answer of the feed."""
    async with agendas.client(token) as client:
        response = await client.get(CHANGES, params={"since": since} if since else {})
    assert response.status_code == 200, response.text
    return response.json()


async def manage(agendas, method, path, **more):
    async with agendas.client(ADMIN) as admin:
        response = await admin.request(method, path, **more)
    assert response.status_code < 300, response.text


def plant(agendas, name, **members):
    agendas.plant("work", name, meeting(at(1, "09:00"), at(1, "10:00"), name, **members))


async def polled(agendas, times=2):
    """Wait until the calendars were read for *times* more polls."""
    wanted = len(agendas.calls()) + 5 * times
    async with asyncio.timeout(10):
        while len(agendas.calls()) < wanted:  # noqa: ASYNC110 - the upstream tells nobody
            await asyncio.sleep(0.01)
