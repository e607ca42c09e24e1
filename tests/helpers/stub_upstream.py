"""
An HTTP server that answers by rules, for services that a sandbox cannot be made to imitate.

A rule has `match`, a pattern of the path and query; `method`, `bodymatch`, `times`, `drop` and
`location` are optional. The first rule that fits answers. `{stub}` in a body is the own address.
"""

import json
import re
import shutil
import socket
import threading
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import world as worlds

from gateway.app import assemble
from gateway.settings import Settings

_PART = re.compile(rb"Content-ID:\s*<([^>]+)>.*?\r\n\r\nGET (\S+)", re.DOTALL | re.IGNORECASE)


class Stub:
    """
    The server.

    Attributes:
        url: Its address.
        calls: (method, path and query, body) of each call, in order.
    """

    def __init__(self):
        self.calls, self._rules = [], []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for the head's acknowledgement

            def log_message(self, *arguments):
                pass

            def do_any(self):
                stub.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def play(self, *rules):
        """Answer by *rules* from now on, and forget the calls."""
        self._rules = [dict(rule) for rule in rules]
        self.calls.clear()

    def paths(self, method):
        return [path for used, path, _ in self.calls if used == method]

    def answer(self, handler):
        body = _body(handler)
        self.calls.append((handler.command, handler.path, body))
        if handler.path.startswith("/batch/"):
            return self._multipart_batch(handler, body)
        if handler.path.endswith("batch"):
            return self._batch(handler, json.loads(body)["requests"])
        rule = self._rule(handler.command, handler.path, body.decode("utf-8", "replace"))
        if rule is None:
            return _send(handler, 404, {"error": {"code": "itemNotFound"}}, {})
        if rule.get("drop"):
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return None
        return _send(handler, *self._response(rule))

    def _rule(self, method, path, body):
        for rule in self._rules:
            if rule.get("method", method) != method or not re.search(rule["match"], path):
                continue
            if not re.search(rule.get("bodymatch", ""), body) or rule.get("times", 1) <= 0:
                continue
            if "times" in rule:
                rule["times"] -= 1
            return rule
        return None

    def _response(self, rule):
        text = json.dumps(rule.get("body", {})).replace("{stub}", self.url)
        return rule.get("status", 200), json.loads(text), rule.get("headers", {})

    def _batch(self, handler, requests):
        responses = []
        for request in requests:
            rule = self._rule(request["method"], "/v1.0" + request["url"], "")
            missing = (404, {"error": {"code": "itemNotFound"}}, {})
            status, body, headers = missing if rule is None else self._response(rule)
            responses.append(
                {"id": request["id"], "status": status, "headers": headers, "body": body}
            )
        return _send(handler, 200, {"responses": responses}, {})

    def _multipart_batch(self, handler, body):
        """Answer a batch of Google's, in its order."""
        content = b""
        for request in _PART.finditer(body):
            rule = self._rule("GET", request[2].decode(), "")
            missing = (404, {"error": {"code": 404}}, {})
            status, answer, _ = missing if rule is None else self._response(rule)
            text = json.dumps(answer).encode()
            content += (
                b"--B\r\nContent-Type: application/http\r\nContent-ID: <response-"
                + request[1]
                + b">\r\n\r\nHTTP/1.1 %d X\r\nContent-Type: application/json\r\n" % status
                + b"Content-Length: %d\r\n\r\n" % len(text)
                + text
                + b"\r\n"
            )
        headers = {"content-type": "multipart/mixed; boundary=B"}
        return _send(handler, 200, (content + b"--B--\r\n").decode(), headers)

    def run(self):
        self._server.serve_forever(poll_interval=0.05)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def _body(handler):
    if handler.headers.get("transfer-encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("content-length") or 0))
    body = b""
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return body


def _send(handler, status, body, headers):
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"content-type": "application/json", **headers}.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(0 if status == 204 else len(content)))
    handler.end_headers()
    if status != 204:
        handler.wfile.write(content)


@contextmanager
def stub_upstream():
    """Serve on a free port."""
    stub = Stub()
    thread = threading.Thread(target=stub.run, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.close()
        thread.join()


@asynccontextmanager
async def world_at(stub, template, folder):
    """Open a copy of the world whose services are all at *stub*, without a sandbox."""
    folder_of_template, known = template
    shutil.copytree(folder_of_template, folder, dirs_exist_ok=True)
    names = ("provider_a", "provider_a_calendar", "provider_b", "collab", "tasks", "projects")
    urls = {f"{name}_url": stub.url for name in names}
    settings = Settings(
        _env_file=None,
        admin_token=worlds.ADMIN,
        secret_keys="a secret key of the tests, not used elsewhere",
        public_url=worlds.ORIGIN,
        data_dir=folder,
        not_found_step_ms=0,
        rate_limits="off",
        **urls,
    )
    gateway = assemble(settings)
    headers = {"authorization": f"Bearer {worlds.ADMIN}"}
    async with gateway.running():
        transport = httpx.ASGITransport(gateway, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(
            transport=transport, base_url=worlds.ORIGIN, headers=headers
        ) as admin:
            yield worlds.World(
                gateway=gateway,
                sandbox=None,
                operator_id=known["operator_id"],
                stranger_id=known["stranger_id"],
                mails={},
                connections=known["connections"],
                admin=admin,
            )
