"""
Gateways that are killed at each statement of each background task, one after another.

    python tests/faults/killed_tasks.py DATABASE-URL SECONDS

Each gateway runs its periodic tasks without pauses over the same PostgreSQL, with work for all of
them, and dies (SIGKILL) before the n-th statement or commit of one of them. Then an unharmed one
must finish every task, and the decision log must be whole. Writes one JSON document: how often each
task was killed, which tasks the last gateway finished, and the faults of the decision log.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from msgspec import structs
from sqlalchemy import Engine, event, text

from gateway import feed_polls
from gateway.app import Gateway, assemble
from gateway.connections import rows as connection_rows
from gateway.connections.health import LastSuccess
from gateway.operations import decisions
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store.background import PeriodicTask
from gateway.store.database import Database
from gateway.store.tables import AccessToken, ConnectionRow, Operator, Resource
from gateway.store.timestamps import now_ms
from gateway.webhooks import sender
from policy.vocabulary import RuleType
from providers.content.fingerprints import FileFingerprint
from providers.http.failed_responses import FailedResponse
from rest_compat.ledger import Intent

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from decision_rows import decision_row

SECRET = "a secret key of the tests"
KEYS = Keyring([SECRET])
PAUSE_SECONDS = 0.02  # between two runs of a task
POINTS = 12  # statements and commits, of several runs of a task
RUNS = 3  # of every task, in a gateway that survives
task_name: ContextVar[str] = ContextVar("task_name", default="")
runs: Counter[str] = Counter()
names: set[str] = set()


class Killer:
    """Kills the process before the *point*-th statement or commit of *task*."""

    def __init__(self, task: str = "", point: int = 0) -> None:
        self._task = task
        self._left = point

    def pass_point(self, *_: object) -> None:
        if self._task and task_name.get() == self._task:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def hurry() -> None:
    """Let every periodic task run without pauses, and count its runs."""
    feed_polls.REST_SECONDS = sender.REST_SECONDS = PAUSE_SECONDS  # they pause within their work
    run = PeriodicTask.run

    async def run_at_once(self: PeriodicTask) -> None:
        async def work() -> None:
            task_name.set(self.name)
            await self.work()
            runs[self.name] += 1

        names.add(self.name)
        await run(
            structs.replace(
                self,
                work=work,
                pause_seconds=PAUSE_SECONDS,
                retry_seconds=PAUSE_SECONDS,
                first_pause_seconds=PAUSE_SECONDS,
            )
        )

    PeriodicTask.run = run_at_once  # type: ignore[method-assign]


async def prepare(url: str) -> None:
    """Store an operator with a connection that does not answer, and a token."""
    database = Database.open(url)
    await database.migrate()
    async with database.writing() as session:
        session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
        resource = Resource(name="r", created_at=0)
        session.add(resource)
        await session.flush()
        row = ConnectionRow(
            resource_id=resource.id, operator_id="o", kind="email", provider="PROVIDER_B",
            account_email="o@example.org", granted_scopes=[], status="error",
            selected_site_ids=[], created_at=0, updated_at=0, can_write=False,
        )  # fmt: skip
        session.add(row)
        await session.flush()
        connection_rows.replace(row, {"accessToken": "a", "refreshToken": "r"}, KEYS)
        session.add(row)
        session.add(
            AccessToken(
                id=1, name="t", key_id="k", digest=b"d" * 32, operator_id="o", settings={},
                created_at=0,
            )
        )  # fmt: skip
    await database.close()


async def give_work(gateway: Gateway, database: Database) -> None:
    """Leave something to do to every task."""
    services = gateway.services
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    services.decisions.write(decision_row(mark, at=now_ms()), change=True)
    refused = FailedResponse(upstream="PROVIDER_B", connection=1, status=403, text=mark)
    services.provider_errors.write(mark, "PROVIDER_ERROR", [refused])
    intent = Intent(token_id=1, method="POST", path="/s", key=mark, fingerprint=b"f" * 32)
    await services.idempotency.begin(intent)
    trace = FileFingerprint(drive="1", folder="2", name=mark)
    await services.rule_intents.intend(1, RuleType.FILE_ID, trace)
    stored = await services.credentials.read(1)
    version = stored.get("version", 0)
    newer = {"accessToken": mark, "refreshToken": mark, "version": version + 1}
    services.credentials._unsaved[1] = (newer, version)
    services.last_uses.record(1, now_ms())
    for worker in gateway.lifecycle.workers:
        if isinstance(worker, LastSuccess):
            worker._answered_at[1] = now_ms()
    old = (
        "DELETE FROM leases",
        "INSERT INTO leases (name, holder, until) VALUES ('old', 'h', 0) ON CONFLICT DO NOTHING",
        "UPDATE rule_intents SET lease_until = 0, look_at = 0 WHERE id % 2 = 0",
        "UPDATE connections SET status = 'error', updated_at = 0, last_ok_at = 0",
    )
    async with database.writing() as session:
        for statement in old:
            await (await session.connection()).execute(text(statement))


async def serve(url: str) -> None:
    """Run a gateway until every task ran `RUNS` times."""
    settings = Settings(
        _env_file=None,
        database_url=url,
        admin_token="the-admin-token-of-the-tests",
        secret_keys=SECRET,
        rate_limits="off",
        provider_b_url="http://127.0.0.1:9/provider-b",
        oauth_b_url="http://127.0.0.1:9/oauth",
        decision_days=30,
    )
    database = Database.open(url)
    async with asyncio.timeout(240), assemble(settings).running() as gateway:
        while not names or min(runs[name] for name in names) < RUNS:
            await give_work(gateway, database)
            await asyncio.sleep(2 * PAUSE_SECONDS)
    await database.close()


def in_child(work: Any) -> int:
    """Run *work* in a child of this process; return its wait status."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(work)
        except BaseException:  # noqa: BLE001 - the parent gets it as the status
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    work.close()
    return os.waitpid(child, 0)[1]


def listed_tasks(url: str) -> list[str]:
    """Return the names of all periodic tasks, as a gateway that survives starts them."""
    reading, writing = os.pipe()

    async def tell() -> None:
        await serve(url)
        os.write(writing, json.dumps(sorted(names)).encode())

    assert in_child(tell()) == 0
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        return list(json.loads(answers.read()))


async def faults_of_log(url: str) -> list[Any]:
    database = Database.open(url)
    verified = await decisions.verify(database, KEYS)
    await database.close()
    return list(verified["faults"])


def main(url: str, seconds: float) -> int:
    """Kill until *seconds* are over, and every task at least once; then look what is left."""
    hurry()
    assert in_child(prepare(url)) == 0
    tasks, kills = listed_tasks(url), Counter[str]()
    end, point = time.monotonic() + seconds, 0
    while point == 0 or time.monotonic() < end:
        point += 1
        for task in tasks:
            if point > 1 and time.monotonic() > end:
                break
            killer = Killer(task, (point - 1) % POINTS + 1)
            event.listen(Engine, "before_cursor_execute", killer.pass_point)
            event.listen(Engine, "commit", killer.pass_point)
            status = in_child(serve(url))
            event.remove(Engine, "before_cursor_execute", killer.pass_point)
            event.remove(Engine, "commit", killer.pass_point)
            if os.WIFSIGNALED(status):
                kills[task] += 1
            else:
                assert status == 0, f"{task}: ended by itself"
    finished = listed_tasks(url)
    faults = asyncio.run(faults_of_log(url))
    print(json.dumps({"kills": kills, "tasks": tasks, "finished": finished, "faults": faults}))  # noqa: T201
    return 0 if finished == tasks and not faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
