"""
Sends under idempotency keys while the gateways and what they share fail: each exactly once.

    python tests/faults/exactly_once.py --keys 1000 --kills 30
    python tests/faults/exactly_once.py --keys 1000 --freezes 60 --processes 4
    python tests/faults/exactly_once.py --keys 2000 --mixed 20 --processes 4
    python tests/faults/exactly_once.py --keys 300 --kills 10 --drafts
    python tests/faults/exactly_once.py --keys 300 --kills 20 --stored

The sandbox upstreams run in a process of their own, so they survive the kills, and are told to
lose answers, to throttle and to fail. One gateway has an SQLite file; several share a PostgreSQL
and a Redis of the run's own, each by links of its own. Every key is tried until it is answered 200,
or 504 (`OUTCOME_UNKNOWN`, `PROVIDER_TIMEOUT`): whether it went out could not be found out while
upstream failed. Then the messages in the senders' and in the recipients' mailboxes are counted by
the key in their subject: 0 duplicates, 0 missing. Exit status 0 says so.
Half of the keys go through REST, half through GraphQL, half to each provider; every fifth is a
reply, the others are new messages. Every retry goes to the next process. With `--drafts` the token
is in draft mode, and half of the new messages are made as drafts: the drafts are counted, one per
key, and nothing may be delivered. With `--stored`
each key sends a draft that a person left: it is a draft or a sent message, and never both or none.

The faults (`fault_schedule.py`): a process is killed (SIGKILL) and started again; it is frozen
(SIGSTOP) for up to three leases, and then goes on (SIGCONT); its clock is set wrong (libfaketime);
PostgreSQL refuses in every way that it has; the link of one process to PostgreSQL or Redis is held
or cut, or Redis is killed or frozen for all. `--mixed N` is N of each kind.

A try that gets no answer for a while is not given up: its key is tried at the next process
meanwhile, and both must come to an end. A try whose process died is held by its lease (`--lease`;
35 seconds, see `gateway.store.idempotency.leases`), so the run ends about that long after the last
kill.
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from fault_schedule import LEASE, Faults, Observed, Schedule, Server, own_stores
from ports import free_port

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
REPLY = """mutation ($id: String!, $input: ReplyEmailInput!) {
  replyToEmail(emailId: $id, input: $input) { success }
}"""
CREATE = "mutation ($input: CreateDraftInput!) { createDraft(input: $input) { success } }"
SEND_DRAFT = "mutation ($id: String!) { sendDraft(draftId: $id) { success } }"
MESSAGES, DRAFTS = "/api/access/email/messages", "/api/access/email/drafts"
FILE = "once.txt"
PATIENCE_SECONDS = 8.0  # until a key is tried elsewhere
ANSWER_SECONDS = 150.0  # that one answer may take: processes freeze, and the machine may be busy
LONGEST_PAUSE = 1.0  # seconds between two tries of a key; longer ones miss the good moments
AGAIN = {408, 409, 429, 500, 502, 503}  # 408: the process stood still while it read the request
SHOWN_TRIES = 40  # of a key that was doubled, lost, left unknown or not finished
MOST_TRIES = 1000  # of one key; a lease of a dead try takes 40 of them
KINDS = {
    "kills": "Of processes.",
    "freezes": "Of processes, for up to three leases.",
    "clocks": "Wrong for a while.",
    "database-errors": "Of every class.",
    "partitions": "Of a process from a server, or of Redis.",
}
MARK = re.compile(rb"(?im)^Subject: (?:.*)key-(\d+)-end")


@dataclass
class Run:
    """
    One run: its settings and its observations.

    Attributes:
        advanced: Notified when more keys may begin or were reached.
        originals: The id of the message that a key replies to, or of the draft that it sends.
        late: Tries whose key was tried elsewhere meanwhile.
        tries: How often each key was tried.
        history: The outcomes of each key's tries.
        reached: The keys that came to an end, or met their own earlier try.
    """

    keys: int
    folder: Path
    seed: int
    concurrency: int
    is_patient: bool
    is_pooled: bool
    lease: float
    send_mode: str
    is_stored: bool
    originals: dict[int, str] = field(default_factory=dict)
    late: set[asyncio.Task[None]] = field(default_factory=set)
    upstream: str = ""
    bases: list[str] = field(default_factory=list)
    token: str = ""
    tries: Counter[int] = field(default_factory=Counter)
    connections: list[int] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)
    history: dict[int, list[str]] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    advanced: asyncio.Condition = field(default_factory=asyncio.Condition)
    observed: Observed = field(default_factory=Observed)
    answered: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)
    statuses: Counter[str] = field(default_factory=Counter)
    faults: int = 0

    def note(self, key: int, outcome: str) -> None:
        """Add the *outcome* of a try to the history of *key*."""
        seconds = time.monotonic() - self.began
        self.history.setdefault(key, []).append(f"{seconds:.1f} s: {outcome}")


def main() -> int:
    """Run; print the figures; 0 when nothing was doubled, lost or left unanswered."""
    wanted = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    wanted.add_argument("--keys", type=int, default=1000)
    for kind, help_text in KINDS.items():
        wanted.add_argument(f"--{kind}", type=int, default=0, help=help_text)
    wanted.add_argument("--mixed", type=int, default=0, help="So many of each kind.")
    wanted.add_argument("--concurrency", type=int, default=16)
    wanted.add_argument("--seed", type=int, default=1)
    wanted.add_argument("--processes", type=int, default=1)
    wanted.add_argument("--drafts", action="store_true", help="Hold the messages as drafts.")
    wanted.add_argument("--stored", action="store_true", help="Send drafts of a person.")
    wanted.add_argument("--pgbouncer", action="store_true", help="In transaction mode.")
    wanted.add_argument("--lease", type=float, default=LEASE, help="Seconds.")
    wanted.add_argument("--sandbox", nargs=2, metavar=("PORT", "FOLDER"), help=argparse.SUPPRESS)
    args = wanted.parse_args()
    if args.sandbox:
        serve_sandbox(int(args.sandbox[0]), Path(args.sandbox[1]))
        return 0
    with tempfile.TemporaryDirectory(prefix="exactly-once-") as folder:
        counts = {
            kind.replace("-", "_"): args.mixed or getattr(args, kind.replace("-", "_"))
            for kind in KINDS
        }
        patient = args.processes == 1
        run = Run(
            keys=args.keys,
            folder=Path(folder),
            seed=args.seed,
            concurrency=args.concurrency,
            is_patient=patient,
            is_pooled=args.pgbouncer,
            lease=args.lease,
            send_mode="draft" if args.drafts else "direct",
            is_stored=args.stored,
        )
        return asyncio.run(exactly_once(run, Faults(**counts), args.processes))


def serve_sandbox(port: int, folder: Path) -> None:
    """Serve the upstreams over the store in *folder*."""
    listener, base = bind("127.0.0.1", port)
    sandbox = create(folder, public_base=base)
    sandbox.upstreams["providerA"].quota.allowance = None  # the run sends more than a person may
    run_app(sandbox, listener)


async def exactly_once(run: Run, faults: Faults, processes: int) -> int:
    """Start everything, send, count."""
    started = time.monotonic()
    upstream, *ports = (free_port() for _ in range(processes + 1))
    run.upstream = f"http://127.0.0.1:{upstream}"
    (run.folder / "sandbox").mkdir()
    tokens = issue(run)
    own_store = (str(upstream), str(run.folder / "sandbox"))
    async with AsyncExitStack() as stack:
        sandbox = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--sandbox", *own_store
        )
        stack.push_async_callback(sandbox.wait)
        stack.callback(sandbox.terminate)
        stores = None
        if processes > 1:
            stores = await stack.enter_async_context(
                own_stores(run.folder, processes, pooled=run.is_pooled)
            )
        servers = []
        for number, port in enumerate(ports):
            shared = stores.settings(number) if stores else {}
            server = Server(
                run.folder, port, {**settings(run), **shared}, run.observed, lease=run.lease
            )
            stack.push_async_callback(server.end)
            if faults.clocks:
                server.fake_clock()
            servers.append(server)
        run.bases = [server.base for server in servers]
        await answering(f"{run.upstream}/")
        await asyncio.gather(*(server.start() for server in servers))
        await prepare(run, tokens)
        schedule = Schedule(
            faults, servers, stores=stores, seed=run.seed, observed=run.observed, lease=run.lease
        )
        async with asyncio.TaskGroup() as running:
            failing = running.create_task(schedule.run(partial(reach, run)))
            sending = running.create_task(send_all(run, schedule))
            running.create_task(disturb(run, failing))
            running.create_task(show_progress(run, schedule, sending))
    lines = sum((server.errors() for server in servers), Counter[str]())
    for line, count in lines.most_common(8):
        say(f"  {count} x {line}")
    return report(run, time.monotonic() - started)


def settings(run: Run) -> dict[str, str]:
    """Return the settings of every process."""
    windows = {name: [[1_000_000, 60]] for name in ("email", "graphql", "management")}
    return {
        "AGW_DATA_DIR": str(run.folder / "gateway"),
        "AGW_ADMIN_TOKEN": ADMIN,
        "AGW_SECRET_KEYS": "a secret key of this run, not used elsewhere",
        "AGW_PROVIDER_A_URL": f"{run.upstream}/provider-a",
        "AGW_PROVIDER_B_URL": f"{run.upstream}/provider-b",
        "AGW_RATE_LIMIT_WINDOWS": json.dumps(windows),
        "AGW_LOG_LEVEL": "error",
    }


async def reach(run: Run, part: float) -> None:
    """Wait until *part* of the keys came to an end, or met their own earlier try."""
    async with run.advanced:
        run.advanced.notify_all()
        await run.advanced.wait_for(lambda: len(run.reached) >= int(part * run.keys))


def issue(run: Run) -> dict[str, str]:
    """Make the upstreams' access tokens and the messages to reply to in their store."""
    state = open_state(run.folder / "sandbox")
    for key in range(run.keys) if run.is_stored else ():
        own, other = "ab"[key % 2], "ba"[key % 2]
        draft = (
            f"From: me@provider-{own}.example\r\nTo: me@provider-{other}.example\r\n"
            f"Subject: key-{key}-end\r\nMessage-ID: <{key}@x.example>\r\n\r\n"
            f"{FILE if has_file(key) else 'Once.'}\r\n"
        )
        mail = state.mails.add(f"provider-{own}", draft.encode(), folder="drafts")
        run.originals[key] = f"provider{own.upper()}:{mail.immutable_id}"
    for key in () if run.is_stored else range(0, run.keys, 5):
        letter = "ab"[key % 2]
        original = (
            f"From: me@provider-{'ba'[key % 2]}.example\r\nTo: me@provider-{letter}.example\r\n"
            f"Subject: key-{key}-end\r\nMessage-ID: <{key}@x.example>\r\n\r\nWell?\r\n"
        )
        mail = state.mails.add(f"provider-{letter}", original.encode(), folder="archive")
        run.originals[key] = f"provider{letter.upper()}:{mail.immutable_id}"
    return {
        provider: state.tokens.issue(upstream, state.mails.account(mailbox).email, scopes)
        for provider, (upstream, mailbox, scopes) in SCOPES.items()
    }


async def answering(url: str) -> None:
    """Wait until *url* is answered; a frozen process may hold what a starting one waits for."""
    async with asyncio.timeout(180), httpx.AsyncClient(timeout=60) as client:
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
    url = f"{run.bases[0]}/api"
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=ANSWER_SECONDS) as admin:

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
            "settings": {
                "emailAccessEnabled": True,
                "allowedEmailOperations": ["all"],
                "sendMode": run.send_mode,
            },
        }
        run.token = (await made("access-tokens", token))["token"]


async def send_all(run: Run, schedule: Schedule) -> None:
    """Send every key's message, some at a time, each until it is answered 200."""
    headers = {"authorization": f"Bearer {run.token}"}
    places = asyncio.Semaphore(run.concurrency)  # a key that waits for a lease takes none
    limits = httpx.Limits(max_connections=None)
    faults = len(schedule.faults) + 1
    async with httpx.AsyncClient(headers=headers, timeout=ANSWER_SECONDS, limits=limits) as client:

        async def attempt(key: int) -> float | None:
            async with places:
                return await send(run, client, key)

        async def until_answered(key: int) -> None:
            async with run.advanced:  # the sends do not run ahead of the faults
                await run.advanced.wait_for(
                    lambda: key <= run.keys * (schedule.begun + 1) / faults + run.concurrency
                )
            pause: float | None = 0.0
            while pause is not None:
                await asyncio.sleep(pause)
                pause = await attempt(key)

        await asyncio.gather(*(until_answered(key) for key in range(run.keys)))
        await asyncio.gather(*run.late)


async def send(run: Run, client: httpx.AsyncClient, key: int) -> float | None:
    """Try to send one message under its key; return the seconds to wait, None at the end."""
    api, path, body = request(run, key)
    process = (key + run.tries[key]) % len(run.bases)
    base, where = run.bases[process], f"{api} at {process}"
    run.tries[key] += 1
    call = asyncio.create_task(
        client.post(f"{base}{path}", json=body, headers={"idempotency-key": f"key-{key}"})
    )
    await asyncio.wait([call], timeout=None if run.is_patient else PATIENCE_SECONDS)
    if not call.done():
        run.note(key, f"{where}: no answer yet")
        run.late.add(asyncio.create_task(note_late(run, key, api, call)))
        return 0.0
    try:
        answer = call.result()
    except httpx.HTTPError as failure:
        run.statuses[f"{api}: none"] += 1
        run.note(key, f"{where}: {type(failure).__name__}")
        return pause_after(run.tries[key])
    status = outcome(answer)
    text = "" if status in {200, 202, 409} else f" {answer.text[:200]}"
    run.note(key, f"{where}: {status}{text}")
    run.statuses[f"{api}: {status}"] += 1
    if status in {200, 202, 409, 504}:
        run.reached.add(key)
        async with run.advanced:
            run.advanced.notify_all()
    if status in {200, 202}:
        run.answered.add(key)
        return None
    if status == 504:
        run.unknown.add(key)
        return None
    if status not in AGAIN or run.tries[key] > MOST_TRIES:
        say(f"key {key}: {status} {answer.text}")
        return None
    return pause_after(run.tries[key])


def pause_after(tries: int) -> float:
    """Return the seconds until a key is tried again: 0.2 doubled with every try, and jitter."""
    return min(LONGEST_PAUSE, 0.1 * 2.0 ** min(tries, 10)) * random.uniform(0.7, 1.0)


def request(run: Run, key: int) -> tuple[str, str, dict[str, Any]]:
    """Return the API, the path and the body of a key's message."""
    own = key % 2
    original = run.originals.get(key)
    if run.is_stored:
        if key % 4 > 1:
            return "graphql", "/graphql", {"query": SEND_DRAFT, "variables": {"id": original}}
        return "rest", f"{DRAFTS}/{original}/send", {}
    message: dict[str, Any] = {"body": "Once."}
    if has_file(key):
        message["attachments"] = [{"name": FILE, "contentBase64": "T25jZS4="}]
    path, query, variables = f"{MESSAGES}/{original}/reply", REPLY, {"id": original}
    if original is None:
        message |= {
            "to": [{"email": f"me@provider-{'ab'[1 - own]}.example"}],
            "subject": f"key-{key}-end",
            "connectionId": run.connections[own],
        }
        path, query, variables = f"{MESSAGES}/send", SEND, {}
        if run.send_mode == "draft" and key % 8 > 3:
            path, query = DRAFTS, CREATE
    if key % 4 > 1:  # of each mailbox every other key
        return "graphql", "/graphql", {"query": query, "variables": {**variables, "input": message}}
    return "rest", path, message


def has_file(key: int) -> bool:
    """Return whether the message of *key* has a file, which takes a call of its own."""
    return key % 3 == 0


async def note_late(run: Run, key: int, api: str, call: asyncio.Task[httpx.Response]) -> None:
    """Wait for the answer of a try whose key was tried elsewhere meanwhile."""
    try:
        status: int | str = outcome(await call)
    except httpx.HTTPError:
        status = "none"
    run.statuses[f"{api}: late {status}"] += 1
    run.note(key, f"{api}: late {status}")


def outcome(answer: httpx.Response) -> int:
    """Return the outcome of the send: GraphQL reports failures under 200."""
    errors = answer.json().get("errors")
    return int(errors[0]["extensions"]["httpStatus"]) if errors else answer.status_code


async def show_progress(run: Run, schedule: Schedule, sending: asyncio.Task[None]) -> None:
    """Write a line a minute until every key came to an end."""
    while not sending.done():
        await asyncio.wait([sending], timeout=60)
        say(
            f"{time.monotonic() - run.began:.0f} s: {schedule.begun} of {len(schedule.faults)}"
            f" faults, {len(run.answered)} answered, {len(run.unknown)} unknown"
        )


async def disturb(run: Run, failing: asyncio.Task[None]) -> None:
    """Set one fault after another until all of *failing* is over and nearly all is answered."""
    chance = random.Random(run.seed)
    async with httpx.AsyncClient(base_url=run.upstream, timeout=10) as control:
        while not failing.done() or len(run.answered | run.unknown) < run.keys * 0.95:
            upstream = chance.choice(("provider-a", "provider-b"))
            with contextlib.suppress(httpx.HTTPError):  # of a machine that is too busy
                await control.put(f"/faults/{upstream}", json=chance.choice(FAULTS))
                run.faults += 1
            await asyncio.sleep(chance.uniform(0.2, 0.6))
    for upstream in ("provider-a", "provider-b"):
        await recover(run, upstream)


async def recover(run: Run, upstream: str) -> None:
    """End the faults of *upstream*."""
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=run.upstream, timeout=60) as control:
        while True:
            with contextlib.suppress(httpx.HTTPError):
                await control.delete(f"/faults/{upstream}")
                return
            await asyncio.sleep(0.5)


def report(run: Run, seconds: float) -> int:
    """Count what was delivered, print the figures, and say whether each key was sent once."""
    mails = open_state(run.folder / "sandbox").mails
    is_held = run.send_mode == "draft"
    most = {"sent": 0, "inbox": 0, "drafts": 1} if is_held else {"sent": 1, "inbox": 1}
    unfinished = set(range(run.keys)) - run.answered - run.unknown
    incomplete: set[int] = set()
    copies = {folder: Counter[int]() for folder in ("sent", "inbox", "drafts")}
    for _, mailbox, _ in SCOPES.values():
        for mail in mails.all(mailbox):
            mark = MARK.search(mail.raw)
            if mark and mail.folder in copies:
                copies[mail.folder][int(mark[1])] += 1
                if mail.folder in most and has_file(int(mark[1])) != (FILE.encode() in mail.raw):
                    incomplete.add(int(mark[1]))
    # The draft of an unknown outcome may lack its file: nobody was told that it is held.
    unfinished |= incomplete - run.unknown
    doubled = {
        key
        for folder, limit in most.items()
        for key in copies[folder]
        if copies[folder][key] > limit
    }
    missing = {key for key in run.answered if not copies["drafts" if is_held else "inbox"][key]}
    if run.is_stored:
        held_or_sent = copies["sent"] + copies["drafts"]
        missing |= {key for key in range(run.keys) if held_or_sent[key] != 1}
    say(
        f"{run.keys} keys, {dict(run.observed.done)}, {run.faults} faults of upstream,"
        f" {seconds:.0f} s: "
        f"{len(run.answered)} answered {202 if is_held else 200}, {len(doubled)} duplicates, "
        f"{len(missing)} missing, "
        f"{len(run.unknown)} unknown, {len(unfinished)} unfinished; "
        f"answers {dict(sorted(run.statuses.items()))}"
    )
    totals = ", ".join(f"{counts.total()} in {folder}" for folder, counts in copies.items())
    say(f"messages: {totals}")
    say(
        f"slowest start {run.observed.slowest_start:.1f} s, failed starts "
        f"{dict(run.observed.failed_starts)}, skipped {dict(run.observed.skipped)}"
    )
    for key in sorted(doubled | missing | run.unknown | unfinished):
        counted = ", ".join(f"{counts[key]} in {folder}" for folder, counts in copies.items())
        say(f"key {key}: {counted}; its tries:")
        for line in run.history.get(key, [])[-SHOWN_TRIES:]:
            say(f"    {line}")
    internal = sum(count for status, count in run.statuses.items() if status.endswith(" 500"))
    return 1 if doubled or missing or internal or unfinished else 0


def say(line: str) -> None:
    """Write a line of the report."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
