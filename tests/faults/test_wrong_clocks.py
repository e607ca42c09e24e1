"""A process with a wrong clock takes nothing over and deletes nothing; it does not start either."""

import asyncio
import json
import os
import re
import subprocess
import sys

import clocked_process
import pytest
import pytest_asyncio
from clocked_process import INTENT, KEYRING, LEASE
from database_servers import postgres_server
from fake_clock import faked_clock
from msgspec import structs
from sqlalchemy import text

from gateway.audit.decision import Decision
from gateway.audit.log import DecisionLog
from gateway.store.database import Database
from gateway.store.idempotency.store import IdempotencyStore
from gateway.store.leases import Leases
from gateway.store.tables import AccessToken, Operator
from gateway.store.timestamps import now_ms
from rest_compat.ledger import Attempt

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROCESS = clocked_process.__file__
OFFSETS = {"+4s": None, "+40s": 40, "-40s": -40, "-60s": -60, "+25h": 25 * 3600, "+31d": 31 * 86400}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database():
    with postgres_server() as server:
        database = Database.open(server.url)
        await database.migrate()
        async with database.writing() as session:
            session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
            await session.flush()
            session.add(
                AccessToken(
                    id=1, name="t", key_id="k", digest=b"d" * 32, operator_id="o", settings={},
                    created_at=0,
                )
            )  # fmt: skip
        yield database
        await database.close()


def decision():
    members = dict.fromkeys(Decision._fields) | {
        "at": now_ms(), "request_id": "r", "token_id": 1, "operator_id": "o", "door": "rest",
        "outcome": "allowed", "status": 200, "policy_rev": 1, "hidden_fields": 0, "cost": 1,
        "duration": 1, "upstream_calls": 0, "dry_run": False,
    }  # fmt: skip
    return Decision(**members)


async def process_with_clock(offset, url):
    """Run `clocked_process` with a clock that is *offset* ahead; return its outcomes."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROCESS, url,
        stdout=subprocess.PIPE, env={**os.environ, **faked_clock(offset)},
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(output)


@pytest.mark.parametrize("offset", OFFSETS)
async def test_a_wrong_clock_takes_nothing_over_and_deletes_nothing(database, offset):
    async with database.writing() as session:
        for table in ("deliveries", "decisions", "leases"):
            await session.exec(text(f"DELETE FROM {table}"))
    idempotency, leases = IdempotencyStore(database, KEYRING), Leases(database)
    log = DecisionLog(database, KEYRING, days=30)
    log.write(decision(), change=True)
    await log.flush()
    attempt = await idempotency.begin(INTENT)
    assert isinstance(attempt, Attempt)

    async with leases.hold(LEASE):
        outcomes = await process_with_clock(offset, database.url)
    untouched = {"intent": "InProgress", "swept": 0, "dropped": 0, "lease": False}
    assert (outcomes["unchecked"], outcomes["checked"]) == (untouched, untouched)
    if (seconds := OFFSETS[offset]) is None:
        assert "refusal" not in outcomes
    else:
        direction = "ahead of" if seconds > 0 else "behind"
        pattern = rf"The clock of this machine is (\d+\.\d) seconds {direction} the database's; .*"
        match = re.fullmatch(pattern, outcomes["refusal"])
        assert match is not None
        assert abs(float(match[1]) - abs(seconds)) < 2
    async with database.reading() as session:
        for table in ("deliveries", "decisions"):
            assert await session.scalar(text(f"SELECT count(*) FROM {table}")) == 1


async def test_what_a_wrong_clock_leased_for_a_day_is_free(database):
    """A process whose clock was a day ahead was killed; earlier versions stored leases by it."""
    idempotency, leases = IdempotencyStore(database, KEYRING), Leases(database)
    attempt = await idempotency.begin(structs.replace(INTENT, key="far"))
    tomorrow = now_ms() + 86_400_000
    async with database.writing() as session:
        connection = await session.connection()
        for statement in (
            "INSERT INTO leases (name, holder, until) VALUES ('refresh:6', 'gone', :until)",
            "INSERT INTO leases (name, holder, until) VALUES ('hourly sweep', 'gone', :until)",
            "UPDATE deliveries SET lease_until = :until",
        ):
            await connection.execute(text(statement), {"until": tomorrow})

    async with asyncio.timeout(10), leases.hold("refresh:6"):
        assert await leases.take_turn("hourly sweep", 3600)
    retry = await idempotency.begin(structs.replace(INTENT, key="far"))
    assert (retry.number, retry.maybe_sent) == (attempt.number + 1, True)


async def test_the_gateway_does_not_start_with_a_wrong_clock(database, tmp_path):
    environment = {
        **os.environ, **faked_clock("+40s"),
        "AGW_DATA_DIR": str(tmp_path), "AGW_DATABASE_URL": database.url,
        "AGW_ADMIN_TOKEN": "the-admin-token-of-the-tests", "AGW_SECRET_KEYS": "a" * 32,
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", "serve", "--port", "0",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip
    output, errors = await process.communicate()

    assert process.returncode == 1
    assert output == b""
    assert re.fullmatch(
        rb"The clock of this machine is (39|40)\.\d seconds ahead of the database's; at most 5 are "
        rb"allowed\. Set it by NTP\.\n",
        errors,
    )
