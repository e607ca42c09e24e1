"""
Two versions of the program serve at once over one migration of the schema, under live requests.

The newer program is this one with one migration more, which expands as migrations must (see
`test_rolling_upgrade.py`) and holds its locks for a second. `OLDER_SOURCE=/folder/src` runs the
program of a checkout instead, and this one beside it, over all migrations between them.
"""

import asyncio
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx
import pytest
from database_servers import postgres_server
from gateway_processes import ADMIN, MESSAGES, prepare, serving, tell, upstreams
from paths import REPOSITORY

from gateway.store import schema_version

pytestmark = pytest.mark.slow

SOURCE = REPOSITORY / "src"
OLDER = os.environ.get("OLDER_SOURCE")
REUSED = "IDEMPOTENCY_KEY_REUSED"
MARK = re.compile(rb"(?m)^Subject: (key-\d+)\r?$")
MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "9999", {head!r}, None, None


def upgrade():
    op.add_column("deliveries", sa.Column("added", sa.Text(), nullable=True))
    op.add_column("operators", sa.Column("added", sa.Integer(), nullable=False, server_default="7"))
    op.create_table("added", sa.Column("id", sa.Integer(), primary_key=True))
    op.create_index("ix_decisions_added", "decisions", ["status"])
    op.execute("SELECT pg_sleep(1)")  # as long as a large table takes
"""


@pytest.fixture
def sources(tmp_path):
    """The folders of both programs, and the revision that the newer one migrates to."""
    if OLDER:
        return Path(OLDER), SOURCE, schema_version.known()[0]
    newer = tmp_path / "newer"
    newer.mkdir()
    for package in SOURCE.iterdir():
        if package.name != "gateway":
            (newer / package.name).symlink_to(package)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "gateway", newer / "gateway", ignore=ignored)
    versions = newer / "gateway/store/migrations/versions"
    (versions / "9999_next.py").write_text(MIGRATION.format(head=schema_version.known()[0]))
    return SOURCE, newer, "9999"


class Load:
    """Keyed sends, reads and writes of the management API, at processes that come and go."""

    def __init__(self, made):
        self.outcomes = Counter()
        self.sends = {}  # key -> the body and the response
        self.stopped = asyncio.Event()
        self._made = made
        self._numbers = itertools.count()

    async def run(self, name, base):
        async with httpx.AsyncClient(base_url=base, timeout=60) as client:
            while not self.stopped.is_set():
                kind, call = self._request(client, next(self._numbers))
                response = await call
                self.outcomes[name, kind, response.status_code] += 1
                if response.status_code == 429:
                    await asyncio.sleep(int(response.headers["retry-after"]))

    def _request(self, client, number):
        if number % 3 == 0:
            return "send", self.send(client, f"key-{number}")
        if number % 3 == 1:
            return "read", client.get(f"{MESSAGES}?limit=1", headers=self._made.bearer)
        path, change = f"/api/operators/{self._made.operator}", {"displayName": f"O{number}"}
        return "write", client.patch(path, json=change, headers=ADMIN)

    async def send(self, client, key):
        body = {
            "to": [{"email": "friend@x.example"}], "subject": key, "body": "Once.",
            "connectionId": self._made.connections["PROVIDER_B"],
        }  # fmt: skip
        headers = {**self._made.bearer, "idempotency-key": key}
        while True:
            response = await client.post(f"{MESSAGES}/send", json=body, headers=headers)
            if response.status_code not in WAITING:
                break
            self.outcomes["any", "send", response.status_code] += 1
            await asyncio.sleep(int(response.headers.get("retry-after", 0)) or 0.2)
        self.sends.setdefault(key, response.json())
        return response

    async def until(self, name, count):
        """Wait until each kind of request was answered *count* times more by process *name*."""
        wanted = {(name, kind): self._answers(name, kind) + count for kind in KINDS}
        async with asyncio.timeout(120):
            while any(  # noqa: ASYNC110 - the callers count
                self._answers(*key) < least for key, least in wanted.items()
            ):
                await asyncio.sleep(0.02)

    def _answers(self, name, kind):
        return self.outcomes[name, kind, 200]


KINDS = ("send", "read", "write")
# A client waits and tries again: Outlook takes four requests of a mailbox at once, which two
# processes together exceed, or the database did not answer in time.
WAITING = (429, 503)


async def current_revision(postgres):
    connection = await asyncpg.connect(
        host="127.0.0.1", port=postgres.port, user="postgres", database="postgres", ssl=False
    )
    try:
        return await connection.fetchval("SELECT version_num FROM alembic_version")
    finally:
        await connection.close()


async def test_an_older_program_serves_while_a_newer_one_migrates(tmp_path, sources):
    older_source, newer_source, newest = sources
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        upstream = stack.enter_context(upstreams(tmp_path))
        settings = {**upstream.settings, "AGW_DATABASE_URL": postgres.url, "AGW_RATE_LIMITS": "off"}
        old_settings = {**settings, "PYTHONPATH": str(older_source)}
        older = stack.enter_context(serving(tmp_path, **old_settings))
        made = prepare(older.base, {"PROVIDER_B": upstream.tokens["PROVIDER_B"]})
        before = await current_revision(postgres)
        load = Load(made)
        callers = [asyncio.create_task(load.run("older", older.base)) for _ in range(4)]
        await load.until("older", 3)
        starting = serving(tmp_path, **settings, PYTHONPATH=str(newer_source))
        newer = await asyncio.to_thread(stack.enter_context, starting)
        during = +load.outcomes
        callers += [asyncio.create_task(load.run("newer", newer.base)) for _ in range(4)]
        await asyncio.gather(load.until("older", 5), load.until("newer", 5))
        load.stopped.set()
        await asyncio.gather(*callers)
        sent = dict(load.sends)
        for base in (older.base, newer.base):  # each knows what the other one sent
            async with httpx.AsyncClient(base_url=base, timeout=60) as client:
                for key, response in sent.items():
                    again = (await load.send(client, key)).json()
                    # An older program may not know the fingerprints of this one, and then refuses.
                    assert again == response or (OLDER and again["errorCode"] == REUSED)
        refused = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "gateway", "serve", "--port", "0"],
            env={**os.environ, "AGW_ADMIN_TOKEN": "x" * 20, "AGW_SECRET_KEYS": "x" * 20}
            | old_settings,
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        mails = [mail.raw for mail in upstream.state.mails.all("provider-b")]

    tell(before=before, newest=newest, during=sum(during.values()), outcomes=str(load.outcomes))
    assert before != newest
    assert {status for _, _, status in load.outcomes} <= {200, *WAITING}
    assert sorted(m[1].decode() for raw in mails if (m := MARK.search(raw))) == sorted(sent)
    assert refused.returncode != 0
    assert OLDER or "a newer one has upgraded it" in refused.stderr
