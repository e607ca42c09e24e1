"""
Sends under idempotency keys while the server is killed and answers are lost: each exactly once.

    python tests/faults/exactly_once.py --keys 1000 --kills 30
    python tests/faults/exactly_once.py --processes 2 --database-url … --redis-url …

The sandbox upstreams run in a process of their own, so they survive the kills, and are told to
lose answers, to throttle and to fail. The gateway is killed (SIGKILL) and started again; every key
is tried until it is answered 200, or 504 `OUTCOME_UNKNOWN`: whether it went out could not be found
out while upstream failed. Then the messages in the senders' and in the recipients'
mailboxes are counted by the key in their subject: 0 duplicates, 0 missing. Exit status 0 says so.
Half of the keys go through REST, half through GraphQL.
Of several processes one at a time is killed, and every retry goes to the next one.

A try whose process died is held by its lease (35 seconds, see `gateway.store.idempotency`), so the
run ends about that long after the last kill.
"""

import argparse
import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from gateway.server import bind, run_app
from sandbox.app import create
from sandbox.state import open_state

ADMIN = "an-admin-token-of-this-run"
SCOPES = {
    "PROVIDER_A": ("providerA", "provider-a", ["https://www.googleapis.com/auth/gmail.modify"]),
    "PROVIDER_B": ("providerB", "provider-b", ["Mail.ReadWrite", "Mail.Send"]),
}
FAULTS = (
    {"kind": "lostAnswer", "count": 3, "method": "POST"},
    {"kind": "429", "count": 2, "method": "POST", "retryAfter": 1},
    {"kind": "503", "count": 3, "method": "POST", "retryAfter": 1},
)
SEND = "mutation ($input: SendEmailInput!) { sendEmail(input: $input) { success } }"
MOST_TRIES = 1000  # of one key; a lease of a dead try takes 40 of them
MARK = re.compile(rb"(?im)^Subject: (?:.*)key-(\d+)-end")


@dataclass
class Run:
    """
    One run: its settings and its observations.

    Attributes:
        shared: Settings of what several processes share.
        tries: How often each key was tried.
        reached: The keys that came to an end, or met their own earlier try.
    """

    keys: int
    kills: int
    folder: Path
    seed: int
    concurrency: int
    shared: dict[str, str]
    upstream: str = ""
    bases: list[str] = field(default_factory=list)
    token: str = ""
    tries: Counter[int] = field(default_factory=Counter)
    connections: list[int] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)
    advanced: asyncio.Event = field(default_factory=asyncio.Event)
    answered: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)
    statuses: Counter[str] = field(default_factory=Counter)
    killed: int = 0
    faults: int = 0


def main() -> int:
    """Run; print the figures; 0 when nothing was doubled, lost or left unanswered."""
    wanted = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    wanted.add_argument("--keys", type=int, default=1000)
    wanted.add_argument("--kills", type=int, default=30)
    wanted.add_argument("--concurrency", type=int, default=16)
    wanted.add_argument("--seed", type=int, default=1)
    wanted.add_argument("--processes", type=int, default=1)
    wanted.add_argument("--database-url", default="", help="PostgreSQL, of several processes.")
    wanted.add_argument("--redis-url", default="", help="Redis, of several processes.")
    wanted.add_argument("--sandbox", nargs=2, metavar=("PORT", "FOLDER"), help=argparse.SUPPRESS)
    args = wanted.parse_args()
    if args.sandbox:
        serve_sandbox(int(args.sandbox[0]), Path(args.sandbox[1]))
        return 0
    with tempfile.TemporaryDirectory(prefix="exactly-once-") as folder:
        shared = {
            "AGW_DATABASE_URL": args.database_url,
            "AGW_REDIS_URL": args.redis_url,
            "AGW_PROCESSES": str(args.processes),
        }
        run = Run(args.keys, args.kills, Path(folder), args.seed, args.concurrency, shared)
        return asyncio.run(exactly_once(run, args.processes))


def serve_sandbox(port: int, folder: Path) -> None:
    """Serve the upstreams over the store in *folder*."""
    listener, base = bind("127.0.0.1", port)
    run_app(create(folder, public_base=base), listener)


async def exactly_once(run: Run, processes: int) -> int:
    """Start everything, send, count."""
    started = time.monotonic()
    upstream, *ports = (free_port() for _ in range(processes + 1))
    run.upstream = f"http://127.0.0.1:{upstream}"
    run.bases = [f"http://127.0.0.1:{port}" for port in ports]
    (run.folder / "sandbox").mkdir()
    tokens = issue(run)
    own_store = (str(upstream), str(run.folder / "sandbox"))
    sandbox = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--sandbox", *own_store
    )
    servers = [Server(run, port) for port in ports]
    try:
        await answering(f"{run.upstream}/")
        await asyncio.gather(*(server.start() for server in servers))
        await prepare(run, tokens)
        await asyncio.gather(send_all(run), kill(run, servers), disturb(run))
    finally:
        await asyncio.gather(*(server.end() for server in servers))
        sandbox.terminate()
        await sandbox.wait()
    return report(run, time.monotonic() - started)


def issue(run: Run) -> dict[str, str]:
    """Make the upstreams' access tokens in their store."""
    state = open_state(run.folder / "sandbox")
    return {
        provider: state.tokens.issue(upstream, state.mails.account(mailbox).email, scopes)
        for provider, (upstream, mailbox, scopes) in SCOPES.items()
    }


class Server:
    """The gateway's process."""

    def __init__(self, run: Run, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._arguments = [sys.executable, "-m", "gateway", "serve", "--port", str(port)]
        self._environment = {
            **os.environ,
            "AGW_DATA_DIR": str(run.folder / "gateway"),
            "AGW_ADMIN_TOKEN": ADMIN,
            "AGW_SECRET_KEYS": "a secret key of this run, not used elsewhere",
            "AGW_PROVIDER_A_URL": f"{run.upstream}/provider-a",
            "AGW_PROVIDER_B_URL": f"{run.upstream}/provider-b",
            "AGW_RATE_LIMITS": "off",
            "AGW_LOG_LEVEL": "error",
            **run.shared,
        }
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start, and wait until it answers."""
        self._process = await asyncio.create_subprocess_exec(
            *self._arguments, env=self._environment, stdout=subprocess.DEVNULL
        )
        await answering(f"{self._base}/healthz")

    async def kill(self) -> None:
        """End it without a chance to clean up."""
        await self.end(signal.SIGKILL)

    async def end(self, by: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(by)
            await self._process.wait()
            self._process = None


async def answering(url: str) -> None:
    """Wait until *url* is answered, at most a minute."""
    async with asyncio.timeout(60), httpx.AsyncClient() as client:
        while True:
            try:
                await client.get(url)
            except httpx.HTTPError:
                await asyncio.sleep(0.05)
            else:
                return


async def prepare(run: Run, tokens: dict[str, str]) -> None:
    """Make operator, resource, connections and the access token by the management API."""
    headers = {"authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(base_url=f"{run.bases[0]}/api", headers=headers) as admin:

        async def made(kind: str, body: dict[str, Any]) -> Any:
            answer = await admin.post(f"/{kind}", json=body)
            answer.raise_for_status()
            return answer.json()

        operator = (await made("operators", {"email": "o@x.example", "displayName": "O"}))["id"]
        resource = (await made("resources", {"name": "main", "operatorIds": [operator]}))["id"]
        for provider, token in tokens.items():
            connection = {
                "resourceId": resource,
                "operatorId": operator,
                "kind": "email",
                "provider": provider,
                "accountEmail": f"me@{SCOPES[provider][1]}.example",
                "grantedScopes": SCOPES[provider][2],
                "credentials": {"accessToken": token},
            }
            run.connections.append((await made("connections", connection))["id"])
        token = {
            "name": "run",
            "operatorId": operator,
            "resourceIds": [resource],
            "settings": {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]},
        }
        run.token = (await made("access-tokens", token))["token"]


async def send_all(run: Run) -> None:
    """Send every key's message, some at a time, each until it is answered 200."""
    headers = {"authorization": f"Bearer {run.token}"}
    places = asyncio.Semaphore(run.concurrency)  # a key that waits for a lease takes none
    async with httpx.AsyncClient(headers=headers, timeout=60) as client:

        async def attempt(key: int) -> float | None:
            async with places:
                return await send(run, client, key)

        async def until_answered(key: int) -> None:
            pause: float | None = 0.0
            while pause is not None:
                await asyncio.sleep(pause)
                pause = await attempt(key)

        await asyncio.gather(*(until_answered(key) for key in range(run.keys)))


async def send(run: Run, client: httpx.AsyncClient, key: int) -> float | None:
    """Try to send one message under its key; return the seconds to wait, None at the end."""
    own = key % 2
    message = {
        "to": [{"email": f"me@provider-{'ab'[1 - own]}.example"}],
        "subject": f"key-{key}-end",
        "body": "Once.",
        "connectionId": run.connections[own],
    }
    door, path, body = "rest", "/api/access/email/messages/send", message
    if key % 4 > 1:  # of each mailbox every other key
        door, path, body = "graphql", "/graphql", {"query": SEND, "variables": {"input": message}}
    base = run.bases[(key + run.tries[key]) % len(run.bases)]
    run.tries[key] += 1
    try:
        answer = await client.post(
            f"{base}{path}", json=body, headers={"idempotency-key": f"key-{key}"}
        )
    except httpx.HTTPError:
        run.statuses[f"{door}: none"] += 1
        return 0.5
    status = outcome(answer)
    run.statuses[f"{door}: {status}"] += 1
    if status in {200, 409, 504}:
        run.reached.add(key)
        run.advanced.set()
    if status == 200:
        run.answered.add(key)
        return None
    if status == 504:
        run.unknown.add(key)
        return None
    if status not in {409, 429, 500, 502, 503} or run.tries[key] > MOST_TRIES:
        say(f"key {key}: {status} {answer.text}")
        return None
    return 1.0 if status == 409 else 0.2


def outcome(answer: httpx.Response) -> int:
    """Return the outcome of the send: GraphQL reports failures under 200."""
    errors = answer.json().get("errors")
    return int(errors[0]["extensions"]["httpStatus"]) if errors else answer.status_code


async def kill(run: Run, servers: list[Server]) -> None:
    """Kill and restart a server, spread evenly over the sends."""
    for number in range(run.kills):
        server = servers[number % len(servers)]
        due = (number + 1) * run.keys // (run.kills + 1)
        while len(run.reached) < due:
            run.advanced.clear()
            await run.advanced.wait()
        await asyncio.sleep(random.Random(run.seed + number).uniform(0.0, 0.1))
        await server.kill()
        run.killed += 1
        await server.start()


async def disturb(run: Run) -> None:
    """Set one fault after another until every kill has happened and nearly all is answered."""
    chance = random.Random(run.seed)
    async with httpx.AsyncClient(base_url=run.upstream, timeout=10) as control:
        while run.killed < run.kills or len(run.answered | run.unknown) < run.keys * 0.95:
            upstream = chance.choice(("provider-a", "provider-b"))
            await control.put(f"/faults/{upstream}", json=chance.choice(FAULTS))
            run.faults += 1
            await asyncio.sleep(chance.uniform(0.2, 0.6))
        for upstream in ("provider-a", "provider-b"):
            await control.delete(f"/faults/{upstream}")


def report(run: Run, seconds: float) -> int:
    """Count what was delivered, print the figures, and say whether each key was sent once."""
    mails = open_state(run.folder / "sandbox").mails
    copies = {"sent": Counter[int](), "inbox": Counter[int]()}
    for _, mailbox, _ in SCOPES.values():
        for mail in mails.all(mailbox):
            mark = MARK.search(mail.raw)
            if mark and mail.folder in copies:
                copies[mail.folder][int(mark[1])] += 1
    doubled = {key for counts in copies.values() for key, count in counts.items() if count > 1}
    missing = {key for key in run.answered if not copies["inbox"][key]}
    say(
        f"{run.keys} keys, {run.killed} kills, {run.faults} faults, {seconds:.0f} s: "
        f"{len(run.answered)} answered 200, {len(doubled)} duplicates, {len(missing)} missing, "
        f"{len(run.unknown)} unknown; answers {dict(sorted(run.statuses.items()))}"
    )
    clean = not doubled and not missing and len(run.answered | run.unknown) == run.keys
    return 0 if clean else 1


def say(line: str) -> None:
    """Write a line of the report."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
