"""An application behind the outermost middleware whose responses wait until they are released."""

import asyncio

from gateway.errors import Overloaded
from rest_compat.responses import RestResponse

READ = {"type": "http", "method": "GET", "path": "/api/access/email/messages", "headers": []}


class Slow:
    """An application whose responses wait until they are released."""

    def __init__(self):
        self.running = 0
        self.most = 0
        self.go = asyncio.Event()

    async def __call__(self, scope, receive, send):
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    def refuse(self, _scope, failure):
        assert isinstance(failure, Overloaded)
        return RestResponse(status=503)


async def call(middleware, **scope):
    """Return the status and the body of the answer."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    await middleware({**READ, **scope}, receive, send)
    return sent[0]["status"], sent[1]["body"]


async def settled():
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)
