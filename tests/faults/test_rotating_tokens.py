"""
Rotating refresh tokens are renewed while PostgreSQL fails for 4 seconds, in ten ways: none is lost.

`REFRESHES` is the number of accounts per way; 20 make 200 renewals. A provider that rotates accepts
each refresh token once, so a renewed one that is not stored is lost for good.
"""

import asyncio
import os
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from decision_rows import decision_row
from gateway_processes import tell
from network_faults import Link
from postgres_faults import gateway_settings
from sqlalchemy import text

from gateway.app import assemble
from gateway.auth.token_lookup import open_row_reader
from gateway.connections import rows as connection_rows
from gateway.connections.credentials import CredentialRepository
from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store.background import last_runs
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow, Operator, Resource
from providers.failures import TimedOut
from providers.oauth.token_endpoint import Tokens

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

ACCOUNTS = int(os.environ.get("REFRESHES", "4"))
FAILURE_SECONDS = 4.0
SECRET = "a secret key of the tests"
KEYS = Keyring([SECRET])
WAYS = (
    "53300", "25006", "53100", "53200", "57014", "55P03", "restarted", "killed", "failover",
    "partition",
)  # fmt: skip


@pytest_asyncio.fixture(loop_scope="module")
async def link(server):
    link = Link(server.port)
    await link.start()
    yield link
    await link.close()


class Endpoint:
    """A provider that rotates, and is slow enough for the database to fail meanwhile."""

    def __init__(self):
        self.accepted, self.count = "refresh-0", 0
        self.answer, self.reached = asyncio.Event(), asyncio.Event()

    async def refresh(self, refresh_token):
        assert refresh_token == self.accepted, "a revoked refresh token was offered"
        self.count += 1
        self.accepted = f"refresh-{self.count}"
        tokens = Tokens(access_token=f"access-{self.count}", refresh_token=self.accepted)
        self.reached.set()
        await self.answer.wait()
        return tokens


async def connect_accounts(database):
    """Store the connections of new accounts; return their ids."""
    async with database.writing() as session:
        await (await session.connection()).execute(text("DELETE FROM operators"))
        session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
        resource = Resource(name="r", created_at=0)
        session.add(resource)
        await session.flush()
        ids = []
        for number in range(ACCOUNTS):
            row = ConnectionRow(
                resource_id=resource.id, operator_id="o", kind="email", provider="PROVIDER_B",
                account_email=f"{number}@example.org", granted_scopes=[], status="active",
                selected_site_ids=[], created_at=0, updated_at=0, can_write=False,
            )  # fmt: skip
            session.add(row)
            await session.flush()
            first = {"accessToken": "access-0", "refreshToken": "refresh-0"}
            connection_rows.replace(row, first, KEYS)
            session.add(row)
            ids.append(row.id)
    return ids


@asynccontextmanager
async def failing(server, link, way):
    if way == "partition":
        link.hold()
        yield
        link.restore()
    else:
        async with server.fault(way):
            yield


async def renew(credentials, rejected):
    """Renew as a request does; return the new access token, None when the answer was 503 or 504."""
    try:
        return await credentials.token(rejected=rejected)
    except (Overloaded, TimedOut):
        return None


def periodic_tasks():
    return sum("PeriodicTask.run" in str(task.get_coro()) for task in asyncio.all_tasks())


async def until(condition, seconds=120):
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - it becomes true in other tasks
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("way", WAYS)
async def test_no_token_and_no_decision_is_lost_and_every_task_lives(server, link, way):
    settings = gateway_settings(server.url.replace(f":{server.port}/", f":{link.port}/"))
    direct = Database.open(server.url)
    ids = await connect_accounts(direct)
    endpoints = {number: Endpoint() for number in ids}
    early, late = ids[::2], ids[1::2]  # renewed when the database begins to fail, and meanwhile
    last_runs.clear()
    names = [f"{way}-{number}" for number in range(60)]

    async with assemble(settings).running() as gateway:
        credentials, decisions = gateway.services.credentials, gateway.services.decisions
        credentials._endpoints = lambda connection, *_: endpoints[connection]
        tasks = periodic_tasks()
        renewals = {
            number: asyncio.create_task(renew(credentials.for_connection(number), "access-0"))
            for number in early
        }
        for number in early:
            await endpoints[number].reached.wait()
        async with failing(server, link, way):
            for endpoint in endpoints.values():
                endpoint.answer.set()
            for number in late:
                client = credentials.for_connection(number)
                renewals[number] = asyncio.create_task(renew(client, "access-0"))
            for name in names:
                decisions.write(decision_row(name, at=1_700_000_000_000), change=True)
                await asyncio.sleep(FAILURE_SECONDS / len(names))
        answers = dict(zip(renewals, await asyncio.gather(*renewals.values()), strict=True))
        await until(lambda: not credentials._unsaved and all(last_runs.values()))
        await decisions.flush()

        assert periodic_tasks() == tasks
        assert decisions.dropped == 0
    # Another process, which knows only what is stored, goes on with the newest tokens.
    other = CredentialRepository(
        open_row_reader(direct), direct, KEYS, endpoints=lambda number, *_: endpoints[number]
    )
    for number in ids:
        count = endpoints[number].count
        renewed = await other.for_connection(number).token(rejected=f"access-{count}")
        assert renewed == f"access-{count + 1}"
    async with direct.reading() as session:
        query = text("SELECT request_id FROM decisions WHERE request_id LIKE :prefix")
        rows = await (await session.connection()).execute(query, {"prefix": f"{way}-%"})
        assert sorted(rows.scalars()) == sorted(names)
    await direct.close()
    assert all(answers[number] == "access-1" for number in early)
    tell(
        way=way,
        accounts=ACCOUNTS,
        renewed_before_its_end=sum(answer is not None for answer in answers.values()),
        lost=0,
    )
