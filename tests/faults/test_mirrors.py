"""The clients of the guide mirror a mailbox by the feed alone, over a process, with kills."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread

import demo_process
import httpx
import pytest
from paths import REPOSITORY
from run_sizes import times

pytestmark = pytest.mark.slow

CHANGES = {"mirror.py": times(60), "mirror.sh": times(24)}  # `TIMES=167` makes 10,000
CLIENTS = {
    "mirror.py": [sys.executable, str(REPOSITORY / "examples/feed/mirror.py")],
    "mirror.sh": ["bash", str(REPOSITORY / "examples/feed/mirror.sh")],
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with demo_process.running(tmp_path_factory.mktemp("mirrors"), AGW_RATE_LIMITS="off") as demo:
        yield demo


@pytest.fixture
def gateway(demo):
    headers = {"authorization": f"Bearer {demo['tokens']['full']}"}
    with httpx.Client(base_url=f"{demo['baseUrl']}/api/access/email", headers=headers) as client:
        client.timeout = 60
        yield client


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_killed_now_and_then_ends_with_the_listing(
    demo, gateway, tmp_path, client
):
    rng = random.Random(client)
    environment = {**os.environ, "AGW_TOKEN": demo["tokens"]["full"]}

    def start(base):
        command = [*CLIENTS[client], base, str(tmp_path / "mirror")]
        return subprocess.Popen(command, env=environment)

    assert start(demo["baseUrl"]).wait(300) == 0
    killed = 0
    for number in range(CHANGES[client] // 6):
        for _ in range(6):
            happen(gateway, rng)
        if number % 3 == 0:  # the first round always kills
            with fatal_at(number // 3 % 5, demo["baseUrl"]) as (base, victim):
                mirror = start(base)
                victim.set_result(mirror)
                killed += mirror.wait(300) == -signal.SIGKILL
        elif number % 3 == 1:
            mirror = start(demo["baseUrl"])
            time.sleep(rng.random() * 0.6)  # at any moment, maybe after its end
            mirror.kill()
            mirror.wait()
        else:
            assert start(demo["baseUrl"]).wait(300) == 0
    assert start(demo["baseUrl"]).wait(300) == 0

    assert killed > 0
    assert mirrored(tmp_path / "mirror") == listing(gateway)


@pytest.mark.parametrize("status", [404, 429, 503])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_message_is_dropped_only_when_it_is_not_there(tmp_path, client, status):
    message = {"id": "providerA:1", "subject": "Hello", "from": None, "isRead": False, "labels": []}
    row = {"kind": "changed", "objectId": "providerA:1"}
    answers = {
        "/api/access/email/messages": {"emails": [message], "nextPageToken": None},
        "/api/access/changes?surfaces=email": {"changes": [], "cursor": "first", "more": False},
        "/api/access/changes?since=first": {"changes": [row], "cursor": "second", "more": False},
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer = answers.get(self.path, answers.get(self.path.partition("?")[0]))
            self.send_response(200 if answer else status)
            self.end_headers()
            self.wfile.write(json.dumps(answer or {}).encode())

        def log_message(self, *_):
            pass

    with served(Handler) as base:
        command = [*CLIENTS[client], base, str(tmp_path / "mirror")]
        ends = [
            subprocess.run(command, env={**os.environ, "AGW_TOKEN": "t"}, check=False).returncode
            for _ in range(2)
        ]

    is_gone = status == 404
    assert (ends[0], ends[1] == 0) == (0, is_gone)
    assert mirrored(tmp_path / "mirror") == ({} if is_gone else {"providerA:1": (False, [])})


@contextmanager
def served(handler):
    """Yield the URL of a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def fatal_at(fatal, target):
    """
    Yield the URL of a proxy of *target*, and a future of the process that uses it.

    Request *fatal*, counted from 0, kills the process and is not passed on.
    """
    victim, numbers = Future(), count()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if next(numbers) == fatal:
                victim.result().kill()
                return
            onward = HTTPConnection(target.removeprefix("http://"), timeout=60)
            onward.request(
                "GET", self.path, headers={"authorization": self.headers["authorization"]}
            )
            answer = onward.getresponse()
            self.send_response(answer.status)
            self.end_headers()
            self.wfile.write(answer.read())
            onward.close()

        def log_message(self, *_):
            pass

    with served(Handler) as base:
        yield base, victim


def happen(gateway, rng):
    """Change something in the newest mail, as a person does."""
    messages = gateway.get("/messages", params={"limit": 50}).raise_for_status().json()["emails"]
    message = rng.choice(messages)
    path = f"/messages/{message['id']}"
    what = rng.random()
    if what < 0.6:
        gateway.patch(path, json={"markAsRead": not message["isRead"]}).raise_for_status()
    elif what < 0.8:
        gateway.delete(path).raise_for_status()
    else:
        mail = {"to": [{"email": "ana@example.com"}], "subject": "Hello", "body": "Words."}
        gateway.post("/messages/send", json=mail).raise_for_status()


def listing(gateway):
    """Return what `GET /messages` lists: id -> whether it is read, and its labels."""
    messages, page = {}, {"nextPageToken": ""}
    while (token := page["nextPageToken"]) is not None:
        params = {"limit": 50, **({"pageToken": token} if token else {})}
        page = gateway.get("/messages", params=params).raise_for_status().json()
        messages |= {each["id"]: (each["isRead"], each["labels"]) for each in page["emails"]}
    return messages


def mirrored(path):
    """Return the same of what a client stored, in a file or in a folder."""
    if path.is_dir():
        stored = {}
        for file in path.glob("*.json"):
            message = json.loads(file.read_text())
            stored[message["id"]] = message
    else:
        stored = json.loads(path.read_text())["messages"]
    return {name: (each["isRead"], each["labels"]) for name, each in stored.items()}
