"""
Serve a sandbox on a free loopback port, filled by a seed script, in the project's environment.

usage: serve.py SEED.py

``SEED.py`` defines ``fill(sandbox) -> dict``. The dict and ``url`` are printed to standard output
as one line of JSON before serving starts. The server ends when its standard input ends.
"""

import asyncio
import json
import runpy
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import uvicorn

from sandbox.app import create


async def serve(seed: str, data: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sandbox = create(data, public_base=url)
    facts = runpy.run_path(seed)["fill"](sandbox)
    server = uvicorn.Server(uvicorn.Config(sandbox, log_level="warning", lifespan="off"))
    print(json.dumps({"url": url, **facts}), flush=True)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        asyncio.run(serve(sys.argv[1], Path(folder)))
