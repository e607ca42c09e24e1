"""
Writes that wait for a person, while the gateways are killed: each runs once, as shown, or not.

    python tests/faults/held_once.py --holds 1000 --kills 100

Two processes share a PostgreSQL and a Redis of the run's own; the sandbox upstreams live in a
process that survives, and lose answers, throttle and fail. Tokens with `writes: approve` ask for
messages, half of them by GraphQL; two approvers decide, each at the other process. A plan for each
hold:

    race      both approvers release it at once
    quarrel   one releases, the other one rejects
    reject    it is rejected
    expire    it is released about when its time is over
    revoke    its token is revoked while it is released
    kin       released only after every access token tried

Before each decision the token that asked and its kin try to release it: its parent, a child, a
child of the same parent, another token of the same person. Each hold has to end, and the messages
in the mailboxes have to agree with its end: one that is `done`, none that is `failed`, `rejected`
or `expired`, at most one that is `unknown`, to the recipient and with the text that was shown. Exit
status 0 says so.
"""

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.utils import getaddresses
from functools import partial
from pathlib import Path
from typing import Any

import exactly_once
import httpx
from exactly_once import ADMIN, MARK, SCOPES, Run, answering, recover, say
from fault_schedule import LEASE, Faults, Schedule, Server, Stores, own_stores
from ports import free_port

from sandbox.state import open_state

PLANS = ("race", "quarrel", "expire", "revoke", "reject", "kin")
PROCESSES = 2
AT_ONCE = 8  # holds
END_SECONDS = 240.0  # in which a released hold has to end: leases of several dead runs
PAUSE = 0.25
UPSTREAM_FAULTS = (
    {"kind": "lostAnswer", "count": 1, "method": "POST"},
    {"kind": "503", "count": 1, "method": "POST", "retryAfter": 1},
)


@dataclass
class Observations:
    """
    What was seen of the holds.

    Attributes:
        ends: The state that each hold ended in.
        reasons: How many holds ended with each reason.
        faults: What must not be, in words.
    """

    ends: dict[int, str] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    refused_kin: int = 0


@dataclass(kw_only=True)
class Deciders:
    """Bearer headers of those who take part, and the token that may be revoked."""

    approvers: list[dict[str, str]]
    asking: dict[str, str]
    kin: list[dict[str, str]]
    parent: dict[str, str]


def main() -> int:
    """Run; print the figures; 0 when every hold ended as the mailboxes say."""
    wanted = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    wanted.add_argument("--holds", type=int, default=1000)
    wanted.add_argument("--kills", type=int, default=100)
    wanted.add_argument("--seed", type=int, default=1)
    wanted.add_argument("--lease", type=float, default=LEASE, help="Seconds.")
    args = wanted.parse_args()
    with tempfile.TemporaryDirectory(prefix="held-once-") as folder:
        run = Run(
            keys=args.holds,
            folder=Path(folder),
            seed=args.seed,
            concurrency=AT_ONCE,
            is_patient=False,
            is_pooled=False,
            lease=args.lease,
            send_mode="direct",
            is_stored=False,
        )
        return asyncio.run(held_once(run, Faults(kills=args.kills)))


async def held_once(run: Run, faults: Faults) -> int:
    """Start everything, ask, decide, count."""
    started = time.monotonic()
    upstream, *ports = (free_port() for _ in range(PROCESSES + 1))
    run.upstream = f"http://127.0.0.1:{upstream}"
    (run.folder / "sandbox").mkdir()
    tokens = exactly_once.issue(run)
    async with AsyncExitStack() as stack:
        sandbox = await asyncio.create_subprocess_exec(
            sys.executable,
            exactly_once.__file__,
            "--sandbox",
            str(upstream),
            str(run.folder / "sandbox"),
        )
        stack.push_async_callback(sandbox.wait)
        stack.callback(sandbox.terminate)
        stores = await stack.enter_async_context(own_stores(run.folder, PROCESSES))
        servers = []
        for number, port in enumerate(ports):
            settings = {**exactly_once.settings(run), **stores.settings(number)}
            server = Server(run.folder, port, settings, run.observed, lease=run.lease)
            stack.push_async_callback(server.end)
            servers.append(server)
        run.bases = [server.base for server in servers]
        await answering(f"{run.upstream}/")
        await asyncio.gather(*(server.start() for server in servers))
        await exactly_once.prepare(run, tokens)
        schedule = Schedule(
            faults, servers, stores=stores, seed=run.seed, observed=run.observed, lease=run.lease
        )
        observed = Observations()
        async with httpx.AsyncClient(timeout=60) as client:
            deciders = await prepare(run, client)
            async with asyncio.TaskGroup() as running:
                failing = running.create_task(schedule.run(partial(exactly_once.reach, run)))
                new_hold = partial(Hold, run, client, deciders, stores, observed)
                holding = running.create_task(hold_all(run, schedule, new_hold))
                running.create_task(disturb(run, failing, holding))
    lines = sum((server.errors() for server in servers), Counter[str]())
    for line, count in lines.most_common(8):
        say(f"  {count} x {line}")
    return report(run, observed, time.monotonic() - started)


async def disturb(run: Run, *tasks: asyncio.Task[None]) -> None:
    """Lose an answer of an upstream now and then, or let it fail, until *tasks* are done."""
    chance = random.Random(run.seed)
    async with httpx.AsyncClient(base_url=run.upstream, timeout=10) as control:
        while not all(task.done() for task in tasks):
            upstream = chance.choice(("provider-a", "provider-b"))
            with contextlib.suppress(httpx.HTTPError):  # of a machine that is too busy
                await control.put(f"/faults/{upstream}", json=chance.choice(UPSTREAM_FAULTS))
                run.faults += 1
            await asyncio.wait(tasks, timeout=chance.uniform(1, 4))
    for upstream in ("provider-a", "provider-b"):
        await recover(run, upstream)


# -- requests, which are made again until a process answers them


async def ask(
    run: Run,
    client: httpx.AsyncClient,
    headers: Mapping[str, str],
    method: str,
    path: str,
    *,
    body: Any = None,
    first: int = 0,
) -> httpx.Response:
    """Make a request at one process after another until it is answered by less than 500."""
    number = first
    async with asyncio.timeout(END_SECONDS):
        while True:
            url = f"{run.bases[number % PROCESSES]}{path}"
            number += 1
            with contextlib.suppress(httpx.HTTPError):
                response = await client.request(method, url, headers=headers, json=body)
                if response.status_code < 500 and response.status_code not in {408, 429}:
                    return response
            await asyncio.sleep(PAUSE)


def bearer(text: str) -> dict[str, str]:
    """Return the header of a credential."""
    return {"authorization": f"Bearer {text}"}


async def prepare(run: Run, client: httpx.AsyncClient) -> Deciders:
    """Add approvers, and the token that asks with its kin."""
    admin, parent = bearer(ADMIN), bearer(run.token)

    async def made(headers: Mapping[str, str], path: str, body: Any) -> Any:
        response = await ask(run, client, headers, "POST", path, body=body)
        response.raise_for_status()
        return response.json()

    approvers = [
        bearer((await made(admin, "/api/approvers", {"name": name}))["credential"])
        for name in ("Ada", "Bo")
    ]
    own = (await ask(run, client, parent, "GET", "/api/access/token")).json()
    allowed = {"settings": {"allowChildren": True}}
    path = f"/api/access-tokens/{own['id']}"
    stored = await ask(run, client, admin, "PATCH", path, body=allowed)
    stored.raise_for_status()
    asking = await child_of(run, client, parent)
    kin = [asking, parent, await child_of(run, client, parent), await child_of(run, client, asking)]
    same = {name: stored.json()[name] for name in ("operatorId", "resourceIds")}
    other = {"name": "other", **same, "settings": {"emailAccessEnabled": True}}
    kin.append(bearer((await made(admin, "/api/access-tokens", other))["token"]))
    return Deciders(approvers=approvers, asking=asking, kin=kin, parent=parent)


async def child_of(
    run: Run, client: httpx.AsyncClient, parent: Mapping[str, str]
) -> dict[str, str]:
    """Make a child token whose writes are held."""
    body = {
        "name": f"child {random.random()}",
        "settings": {"writes": "approve", "allowChildren": True},
    }
    path = "/api/access/token/children"
    response = await ask(run, client, parent, "POST", path, body=body)
    response.raise_for_status()
    return bearer(response.json()["token"])


# -- one hold after another


async def hold_all(run: Run, schedule: Schedule, new_hold: Callable[[int], "Hold"]) -> None:
    """Ask for every message, some at a time, decide, and wait for the end of each."""
    places, faults = asyncio.Semaphore(AT_ONCE), len(schedule.faults) + 1

    async def one_hold(key: int) -> None:
        async with run.advanced:  # the holds do not run ahead of the kills
            await run.advanced.wait_for(
                lambda: key <= run.keys * (schedule.begun + 1) / faults + run.concurrency
            )
        async with places:
            await new_hold(key).live()

    await asyncio.gather(*(one_hold(key) for key in range(run.keys)))


def plan_of(key: int) -> str:
    """Return the plan of a hold: each one at both providers."""
    return PLANS[key // 2 % len(PLANS)]


@dataclass
class Hold:
    """One message that is asked for."""

    run: Run
    client: httpx.AsyncClient
    deciders: Deciders
    stores: Stores
    observed: Observations
    key: int
    id: str = ""
    asking: dict[str, str] = field(default_factory=dict)

    async def live(self) -> None:
        """Ask for it, decide, and wait for its end."""
        plan = plan_of(self.key)
        self.asking = self.deciders.asking
        if plan == "revoke":
            self.asking = await child_of(self.run, self.client, self.deciders.parent)
        await self._ask()
        await self._try_as_kin()
        answers = await getattr(self, f"_{plan}")()
        self.run.reached.add(self.key)
        async with self.run.advanced:
            self.run.advanced.notify_all()
        state = await self._end()
        self.observed.ends[self.key] = state
        self.run.answered.add(self.key)
        self._judge(plan, answers, state)

    def fault(self, sentence: str) -> None:
        """Note what must not be."""
        self.observed.faults.append(f"hold {self.key}: {sentence}")

    async def _ask(self) -> None:
        _, path, body = exactly_once.request(self.run, self.key)
        message = body["variables"]["input"] if "variables" in body else body
        message["body"] = f"Text of {self.key}."
        headers = {**self.asking, "idempotency-key": f"key-{self.key}"}
        async with asyncio.timeout(END_SECONDS):
            while True:
                response = await ask(
                    self.run, self.client, headers, "POST", path, body=body, first=self.key
                )
                answer = response.json()
                errors = answer.get("errors") or [{"extensions": {"held": answer}}]
                held = errors[0]["extensions"].get("held") or {}
                if held.get("state"):
                    self.id = held["id"]
                    return
                if response.status_code not in {200, 409}:
                    self.fault(f"was answered {response.status_code} {response.text}")
                    raise RuntimeError(response.text)
                await asyncio.sleep(PAUSE)

    async def _try_as_kin(self) -> None:
        for number, headers in enumerate([self.asking, *self.deciders.kin]):
            verb = ("release", "reject")[(self.key + number) % 2]
            response = await self._decide(verb, headers, first=number)
            if response.status_code != 403:
                self.fault(f"an access token's {verb} was answered {response.status_code}")
            self.observed.refused_kin += 1

    async def _decide(
        self, verb: str, headers: Mapping[str, str], *, first: int = 0
    ) -> httpx.Response:
        path = f"/api/held-writes/{self.id}/{verb}"
        return await ask(self.run, self.client, headers, "POST", path, first=first)

    async def _both(self, *verbs: str) -> list[tuple[str, int]]:
        """Let each approver do one thing, at the same time, at the other process."""
        responses = await asyncio.gather(
            *(
                self._decide(verb, headers, first=number)
                for number, (verb, headers) in enumerate(
                    zip(verbs, self.deciders.approvers, strict=False)
                )
            )
        )
        return [(verb, each.status_code) for verb, each in zip(verbs, responses, strict=True)]

    async def _race(self) -> list[tuple[str, int]]:
        return await self._both("release", "release")

    async def _quarrel(self) -> list[tuple[str, int]]:
        return await self._both("release", "reject")

    async def _reject(self) -> list[tuple[str, int]]:
        return await self._both("reject")

    async def _kin(self) -> list[tuple[str, int]]:
        return await self._both("release")

    async def _expire(self) -> list[tuple[str, int]]:
        until = int(time.time() * 1000) + random.randrange(0, 1500)
        statement = f"UPDATE held_writes SET expires_at = {until} WHERE id = '{self.id}'"
        await self.stores.postgres.run([statement], database="store")
        await asyncio.sleep(random.uniform(0, 1.0))
        return await self._both("release", "release")

    async def _revoke(self) -> list[tuple[str, int]]:
        own = await ask(self.run, self.client, self.asking, "GET", "/api/access/token")
        path = f"/api/access-tokens/{own.json()['id']}"

        async def revoke() -> None:
            await asyncio.sleep(random.uniform(0, 1.2))
            await ask(self.run, self.client, bearer(ADMIN), "DELETE", path, first=self.key)

        answers, _ = await asyncio.gather(self._both("release"), revoke())
        return answers

    async def _end(self) -> str:
        """Wait for the end; return the state."""
        path = f"/api/held-writes/{self.id}"
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end:
            response = await ask(
                self.run, self.client, self.deciders.approvers[0], "GET", path, first=self.key
            )
            shown = response.json()
            if shown["state"] not in {"held", "releasing"}:
                self.observed.reasons[f"{shown['state']}: {shown['reason']}"] += 1
                return str(shown["state"])
            await asyncio.sleep(PAUSE)
        self.fault("did not end")
        return "none"

    def _judge(self, plan: str, answers: list[tuple[str, int]], state: str) -> None:
        """Compare the end with the answers to those who decided; a lost answer may be a 412."""
        accepted = [verb for verb, status in answers if status == 200]
        if len(accepted) > 1:
            self.fault(f"{accepted} were both accepted")
        if not {status for _, status in answers} <= {200, 412}:
            self.fault(f"was decided with {answers}")
        if accepted == ["reject"] and state != "rejected":
            self.fault(f"was rejected and ended as {state}")
        if (accepted == ["release"] or plan in {"race", "kin", "revoke"}) and state == "rejected":
            self.fault("was released and ended as rejected")
        if plan in {"race", "kin"} and state == "expired":
            self.fault("expired before its time")


# -- what was delivered


def report(run: Run, observed: Observations, seconds: float) -> int:
    """Compare the mailboxes with the ends, print the figures; 0 if all agree."""
    mails = open_state(run.folder / "sandbox").mails
    copies: dict[str, Counter[int]] = {"sent": Counter(), "inbox": Counter()}
    differing = set()
    for _, mailbox, _ in SCOPES.values():
        for mail in mails.all(mailbox):
            mark = MARK.search(mail.raw)
            if mark is None or mail.folder not in copies:
                continue
            key = int(mark[1])
            copies[mail.folder][key] += 1
            message = message_from_bytes(mail.raw, policy=policy.default)
            part = message.get_body()
            body = part.get_content() if part is not None else ""
            recipients = getaddresses([str(message["To"])])
            if f"Text of {key}." not in body or [address for _, address in recipients] != [
                f"me@provider-{'ab'[1 - key % 2]}.example"
            ]:
                differing.add(key)
    twice = {key for counts in copies.values() for key in counts if counts[key] > 1}
    sent = {key for counts in copies.values() for key in counts}
    of_state = {
        state: {key for key, end in observed.ends.items() if end == state}
        for state in set(observed.ends.values())
    }
    done = of_state.get("done", set())
    undone = set().union(*(of_state.get(name, set()) for name in ("failed", "rejected", "expired")))
    lost = (set(range(run.keys)) - set(observed.ends)) | of_state.get("none", set())
    lost |= {key for key in done if not all(counts[key] for counts in copies.values())}
    say(
        f"{run.keys} holds, {dict(run.observed.done)}, {run.faults} faults of upstream,"
        f" {seconds:.0f} s: { {state: len(keys) for state, keys in sorted(of_state.items())} };"
        f" {len(twice)} run twice, {len(lost)} lost, {len(sent & undone)} run and said not to be,"
        f" {len(differing)} run otherwise than shown,"
        f" {observed.refused_kin} releases of access tokens refused,"
        f" {len(observed.faults)} faults"
    )
    for reason, count in observed.reasons.most_common(12):
        say(f"  {count} x {reason}")
    for sentence in observed.faults[:20]:
        say(f"  {sentence}")
    for key in sorted(twice | lost | differing | (sent & undone)):
        plan, counts = plan_of(key), {name: each[key] for name, each in copies.items()}
        say(f"  hold {key} ({plan}): {observed.ends.get(key)}, {counts}")
    return 1 if twice or lost or differing or sent & undone or observed.faults else 0


if __name__ == "__main__":
    sys.exit(main())
