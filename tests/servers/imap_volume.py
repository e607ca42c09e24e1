"""
The cost of a large mailbox on Dovecot beside the same one at the providers A and B.

    python tests/servers/imap_volume.py --messages 100000 --requests 5000

Each mailbox has the same messages. A gateway, a process of its own, reads pages of 50; the figures
are the commands or requests of one page (parts of batches one by one), the octets that the server
sent, and the gateway's CPU time. Then it answers many requests on the mailbox of Dovecot, and its
memory is looked at.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

import imap_account
from dovecot import DOMAIN, Dovecot, dovecot_server
from gateway_processes import ADMIN, MAIL, MESSAGES, Process, prepare, serving, token_of, upstreams

from sandbox.state import SandboxState
from sandbox.volume import mail as volume

AT_ONCE = 500  # messages in one APPEND
REPEATS = 50  # of a page, for its CPU time
WARM_UP = 500  # requests before memory is looked at
FIRST, WARM, NEXT = "first page", "page again", "second page"


@dataclass(frozen=True, slots=True)
class Page:
    """Commands or requests of a page, octets that the server sent, and the gateway's CPU time."""

    commands: int
    octets: int
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Memory:
    """
    Memory of the gateway while it answers requests.

    Attributes:
        before, after: Bytes after `WARM_UP` requests, or half of fewer, and after all.
        series: Bytes after each tenth of the requests.
    """

    requests: int
    before: int
    after: int
    series: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """By provider and kind of page; *fill_seconds* of Dovecot's mailbox."""

    fill_seconds: float
    pages: dict[tuple[str, str], Page]
    memory: Memory


def main() -> int:
    """Measure; print the figures."""
    wanted = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    wanted.add_argument("--messages", type=int, default=100_000)
    wanted.add_argument("--requests", type=int, default=5000)
    args = wanted.parse_args()
    figures = measure(args.messages, args.requests)
    sys.stdout.write(f"filled in {figures.fill_seconds:.0f} s\n")
    for (provider, kind), page in figures.pages.items():
        sys.stdout.write(
            f"{provider:10} {kind:12} {page.commands:4} commands {page.octets:10,} octets "
            f"{page.cpu_ms:8.1f} ms\n"
        )
    memory = figures.memory
    sys.stdout.write(
        f"memory after {WARM_UP} requests {memory.before / 1e6:.1f} MB, "
        f"after {memory.requests} {memory.after / 1e6:.1f} MB; after each tenth: "
        f"{', '.join(f'{octets / 1e6:.1f}' for octets in memory.series)}\n"
    )
    return 0


def measure(messages: int, requests: int, *, repeats: int = REPEATS) -> Figures:
    """Fill the three mailboxes and measure; see the module's first lines."""

    def fill(state: SandboxState) -> None:
        for mailbox in ("provider-a", "provider-b"):
            for mail in state.mails.all(mailbox):  # the demo's
                state.mails.delete(mailbox, mail.id)
            volume.fill(state.mails, mailbox, datetime.now(UTC).date(), messages=messages)

    with tempfile.TemporaryDirectory(prefix="imap-volume-") as name, dovecot_server() as dovecot:
        folder = Path(name)
        with upstreams(folder, fill=fill) as known, relay(known.process.port) as passing:
            began = time.monotonic()
            asyncio.run(fill_dovecot(dovecot, known.state))
            seconds = time.monotonic() - began
            settings = {
                setting: url.replace(f":{known.process.port}/", f":{passing.port}/")
                for setting, url in known.settings.items()
            }
            settings["SSL_CERT_FILE"] = str(dovecot.certificate)
            settings["AGW_RATE_LIMIT_WINDOWS"] = json.dumps(
                {kind: [[1_000_000, 60]] for kind in ("email", "graphql", "management")}
            )
            with serving(folder, **settings) as gateway:
                tokens = {
                    provider: prepare(gateway.base, {provider: known.tokens[provider]}).token
                    for provider in MAIL
                }
                tokens["IMAP"] = connect(gateway.base, dovecot)
                pages = {}
                for provider, token in tokens.items():
                    count = passing.count
                    if provider == "IMAP":
                        count = lambda: sent(dovecot)  # noqa: E731
                    pages |= measure_pages(gateway, provider, token, count, repeats)
                return Figures(seconds, pages, run(gateway, tokens["IMAP"], requests))


async def fill_dovecot(dovecot: Dovecot, state: SandboxState) -> None:
    """Append the messages of provider A's mailbox to the inbox, oldest first, many at once."""
    raw = dovecot.folder / "raw" / "ada"
    owner = raw.stat()
    shutil.rmtree(raw)  # else it holds all messages again
    async with imap_account.opened(dovecot) as account:
        mails = state.mails.all("provider-a")[::-1]
        for start in range(0, len(mails), AT_ONCE):
            parts: list[str | bytes] = []
            for mail in mails[start : start + AT_ONCE]:
                received = datetime.fromtimestamp(mail.received_ms / 1000, UTC)
                parts += [
                    "(\\Seen)" if mail.is_read else "()",
                    received.strftime('"%d-%b-%Y %H:%M:%S +0000"'),
                    mail.raw.replace(b"\n", b"\r\n"),
                ]
            await account.session.command("APPEND INBOX", *parts, seconds=120)
    raw.mkdir()
    os.chown(raw, owner.st_uid, owner.st_gid)


def connect(base: str, dovecot: Dovecot) -> str:
    """Connect the mailbox of Dovecot; return an access token for it alone."""
    with httpx.Client(base_url=f"{base}/api", headers=ADMIN, timeout=30) as admin:

        def made(kind: str, body: dict[str, Any]) -> Any:
            answer = admin.post(f"/{kind}", json=body)
            answer.raise_for_status()
            return answer.json()

        operator = made("operators", {"email": "i@x.example", "displayName": "I"})["id"]
        resource = made("resources", {"name": "imap", "operatorIds": [operator]})["id"]
        made(
            "connections",
            {
                "resourceId": resource,
                "operatorId": operator,
                "kind": "email",
                "provider": "IMAP",
                "accountEmail": f"ada@{DOMAIN}",
                "baseUrl": dovecot.url(),
                "credentials": {"username": f"ada@{DOMAIN}", "password": "ada-secret"},
            },
        )
        return str(made("access-tokens", token_of(operator, resource))["token"])


# -- pages


def measure_pages(
    gateway: Process, provider: str, token: str, count: Callable[[], tuple[int, int]], repeats: int
) -> dict[tuple[str, str], Page]:
    """Read pages of 50; *count* tells the commands and octets so far."""
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=gateway.base, headers=headers, timeout=120) as client:

        def page(times: int = 1, **params: Any) -> tuple[Page, Any]:
            commands, octets = count()
            cpu = cpu_seconds(gateway.process.pid)
            for _ in range(times):
                answer = client.get(MESSAGES, params={"limit": 50, **params})
                assert answer.status_code == 200, answer.text
            spent = cpu_seconds(gateway.process.pid) - cpu
            after, received = count()
            made = Page(
                (after - commands) // times, (received - octets) // times, spent * 1000 / times
            )
            assert len(answer.json()["emails"]) == 50
            return made, answer.json()

        if provider != "IMAP":  # the sandbox reads its mailboxes at the first call
            while client.get(MESSAGES, params={"limit": 50}).status_code != 200:
                time.sleep(1)
        first, shown = page()
        warm, _ = page(repeats)
        second, _ = page(repeats, pageToken=shown["nextPageToken"])
    return {(provider, FIRST): first, (provider, WARM): warm, (provider, NEXT): second}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sent(dovecot: Dovecot) -> tuple[int, int]:
    """Return commands and octets of the user's sessions; logins are not in the record."""
    commands = re.findall(rb"(?m)^(?:\d+\.\d+ )?[0-9a-f]{8}\d+ [A-Z]", dovecot.commands("ada"))
    return len(commands), len(dovecot.sent_to_clients("ada"))


class Relay:
    """A relay to the sandbox that counts requests and what comes back."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self._target = target
        self._requests = self._octets = 0
        self.loop = asyncio.new_event_loop()

    def count(self) -> tuple[int, int]:
        return self._requests, self._octets

    async def serve(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target, sender = await asyncio.open_connection("127.0.0.1", self._target)
            await asyncio.gather(self._forth(reader, sender), self._back(target, writer))
        except (OSError, asyncio.CancelledError):
            writer.close()

    async def _forth(self, reader: asyncio.StreamReader, sender: asyncio.StreamWriter) -> None:
        while piece := await reader.read(1 << 16):
            self._requests += len(re.findall(rb"(?m)^(?:GET|POST) /\S* HTTP/1.1\r$", piece))
            sender.write(piece)
            await sender.drain()
        sender.close()

    async def _back(self, target: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await target.read(1 << 16):
            self._octets += len(piece)
            writer.write(piece)
            await writer.drain()
        writer.close()


@contextmanager
def relay(target: int) -> Iterator[Relay]:
    """Run a relay in a thread."""
    made = Relay(target)
    thread = threading.Thread(target=made.loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(made.serve(), made.loop).result(10)
    yield made
    asyncio.run_coroutine_threadsafe(made.stop(), made.loop).result(10)
    made.loop.call_soon_threadsafe(made.loop.stop)
    thread.join(10)
    made.loop.close()


# -- memory


def run(gateway: Process, token: str, requests: int) -> Memory:
    """Make listings, searches and reads; return the gateway's memory."""
    headers = {"authorization": f"Bearer {token}"}
    before, series = 0, []
    with httpx.Client(base_url=gateway.base, headers=headers, timeout=120) as client:
        page_token: str | None = None
        for number in range(requests):
            if number == min(WARM_UP, requests // 2):
                before = gateway.resident()
            params = {"limit": 50, **({"pageToken": page_token} if page_token else {})}
            page = client.get(MESSAGES, params=params)
            assert page.status_code == 200, page.text
            body = page.json()
            page_token = body["nextPageToken"]
            if number % 10 == 0:
                email = client.get(f"{MESSAGES}/{body['emails'][0]['id']}")
                assert email.status_code == 200, email.text
            if (number + 1) % max(1, requests // 10) == 0:
                series.append(gateway.resident())
    return Memory(requests, before, gateway.resident(), tuple(series))


if __name__ == "__main__":
    raise SystemExit(main())
