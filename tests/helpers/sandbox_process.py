"""
The sandbox in a process of its own: `python sandbox_process.py PORT FOLDER LATENCY [MANY]`.

With a latency (seconds) every answer to a GET is worked out once, kept, and told after that time,
so that an upstream of real slowness takes next to nothing of the machine. "many": its mailbox of
provider B stands for many, each of which would have a limit of its own for calls at once.
"""

import asyncio
import sys
from pathlib import Path

from gateway.server import bind, run_app
from sandbox.app import create


class Repeating:
    """A replay of the responses of *app*, *latency* seconds after each request."""

    def __init__(self, app, latency):
        self._app = app
        self._latency = latency
        self._told = {}

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        request = scope["path"], scope["query_string"]
        if request not in self._told:
            self._told[request] = []

            async def noting(message):
                self._told[request].append(message)

            await self._app(scope, receive, noting)
        await asyncio.sleep(self._latency)
        for message in self._told[request]:
            await send(message)


def main(port, folder, latency, many=""):
    listener, base = bind("127.0.0.1", int(port))
    sandbox = create(Path(folder), public_base=base, content_base=base)
    sandbox.upstreams["providerA"].quota.allowance = None  # the load is larger than a person's
    sandbox.state.content.settings.units = None  # as well
    if many:
        sandbox.upstreams["providerB"].concurrency = None
    run_app(Repeating(sandbox, float(latency)) if float(latency) else sandbox, listener)


if __name__ == "__main__":
    main(*sys.argv[1:])
