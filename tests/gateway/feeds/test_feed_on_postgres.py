"""The feed of changes of a process on PostgreSQL, whose statements read the server's clock."""

import asyncio
import json

import httpx
import pytest
from database_servers import postgres_server
from expired_rows import execute
from gateway_processes import ADMIN, MESSAGES, SECRET, prepare, serving, upstreams
from sqlmodel import col, select

from gateway.feeds.states import FeedStateStore
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.further_tables import FeedStateRow, WebhookDelivery

pytestmark = pytest.mark.slow

CHANGES = "/api/access/changes"
SUBSCRIPTIONS = "/api/access/subscriptions"
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture(scope="module")
def server():
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def process(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("feed")
    with upstreams(folder) as upstream:
        settings = upstream.settings | {
            "AGW_DATABASE_URL": server.url,
            "AGW_FEED_POLL_SECONDS": "5",
            "AGW_RATE_LIMITS": "off",
        }
        with serving(folder, **settings) as gateway:
            made = prepare(gateway.base, {"PROVIDER_B": upstream.tokens["PROVIDER_B"]})
            settings = {"settings": {"subscriptionsEnabled": True}}
            path = f"{gateway.base}/api/access-tokens"
            (token,) = httpx.get(path, headers=ADMIN).json()["tokens"]
            answer = httpx.patch(f"{path}/{token['id']}", json=settings, headers=ADMIN)
            assert answer.status_code == 200, answer.text
            yield gateway.base, made


@pytest.fixture
async def client(process):
    base, made = process
    async with httpx.AsyncClient(base_url=base, headers=made.bearer, timeout=30) as client:
        yield client


@pytest.fixture
async def database(server):
    database = Database.open(server.url)
    yield database
    await database.close()


async def flip(client):
    """Mark the newest mail as read, or as unread; return its id."""
    (email,) = (await client.get(MESSAGES, params={"limit": 1})).json()["emails"]
    body = {"markAsRead": not email["isRead"]}
    assert (await client.patch(f"{MESSAGES}/{email['id']}", json=body)).status_code == 200
    return email["id"]


async def pull(client, cursor=None):
    answer = await client.get(CHANGES, params={"since": cursor} if cursor else {})
    assert answer.status_code == 200, answer.text
    return answer.json()


def told(answer):
    return [(row["kind"], row["objectId"]) for row in answer["changes"]]


async def test_a_pull_tells_what_changed_and_again_from_the_same_cursor(client):
    first = await pull(client)
    changed = await flip(client)
    answers = [await pull(client, first["cursor"]) for _ in range(2)]
    after = await pull(client, answers[0]["cursor"])

    assert [told(answer) for answer in (first, *answers, after)] == [
        [],
        *[[("changed", changed)]] * 2,
        [],
    ]
    assert answers[0]["changes"][0]["id"] == answers[1]["changes"][0]["id"]


async def test_states_of_feeds_are_used_and_deleted(client, server, database):
    used, unused = [await pull(client) for _ in range(2)]
    store = FeedStateStore(database, Keyring.read(SECRET))
    await execute(server.url, f"UPDATE feed_states SET used_at = used_at - {2 * DAY_MS}")
    await pull(client, used["cursor"])
    await execute(server.url, f"UPDATE feed_states SET used_at = used_at - {29 * DAY_MS}")
    deleted = await store.sweep()
    async with database.reading() as session:
        left = (await session.exec(select(FeedStateRow.used_at))).all()

    assert (deleted > 0, len(set(left))) == (True, 1)
    assert told(await pull(client, used["cursor"])) == []
    assert told(await pull(client, unused["cursor"])) == [("resync", None)]


async def test_a_stream_tells_of_a_change(client):
    cursor = (await pull(client))["cursor"]
    async with client.stream("GET", f"{CHANGES}/stream", params={"since": cursor}) as stream:
        assert stream.status_code == 200
        lines = stream.aiter_lines()
        assert await anext(lines) == ":"
        changed = await flip(client)
        async with asyncio.timeout(60):
            data = [line async for line in _until_data(lines)][-1]

    newer = json.loads(data.removeprefix("data: "))["cursor"]
    assert told(await pull(client, cursor)) == [("changed", changed)]
    assert newer


async def _until_data(lines):
    async for line in lines:
        yield line
        if line.startswith("data: "):
            return


async def test_a_subscription_is_made_looked_at_rotated_and_deleted(client, database):
    body = {"url": "https://hooks.example/changes"}
    made = (await client.post(SUBSCRIPTIONS, json=body)).json()
    changed = await flip(client)
    async with asyncio.timeout(60):
        while (stored := await _stored(database, made["id"])) is None:  # noqa: ASYNC110 - a table
            await asyncio.sleep(0.2)
    listed = (await client.get(SUBSCRIPTIONS)).json()["subscriptions"]
    rotated = await client.post(f"{SUBSCRIPTIONS}/{made['id']}/rotate")
    deleted = await client.delete(f"{SUBSCRIPTIONS}/{made['id']}")

    assert json.loads(stored)["subscription"] == made["id"]
    assert told(await pull(client, json.loads(stored)["cursor"])) == [("changed", changed)]
    assert [each["id"] for each in listed] == [made["id"]]
    assert (rotated.status_code, deleted.status_code) == (200, 204)
    assert (await client.get(SUBSCRIPTIONS)).json() == {"subscriptions": []}


async def _stored(database, target_id):
    """Return the body of the wake-up that a target has."""
    query = select(WebhookDelivery.body).where(col(WebhookDelivery.target_id) == target_id)
    async with database.reading() as session:
        return (await session.exec(query)).first()
