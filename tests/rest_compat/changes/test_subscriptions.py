"""Subscriptions to changes: who is called, when, with which cursor, and that nothing is lost."""

import asyncio
import re
from contextlib import nullcontext

import calendar_world
import httpx
import pytest
import pytest_asyncio
from calendar_world import at, meeting
from change_feed import change, make_token, plant, set_token
from feed_client import Feed
from sqlalchemy import update
from sqlmodel import func, select
from webhook_receiver import Receiver, verified
from world import ADMIN

from gateway.feed_polls import CONCURRENT, Polls
from gateway.feeds.subscriptions import MAX_SUBSCRIPTIONS
from gateway.store import timestamps
from gateway.store.clock import DatabaseClock
from gateway.store.further_tables import FeedSubscription, WebhookDelivery, WebhookTarget
from gateway.webhooks.sender import WebhookSender
from providers.http.origins import Origins

SUBSCRIPTIONS = "/api/access/subscriptions"
URL = "https://hooks.example/wake"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for worker in (Polls, WebhookSender):  # the tests say when they run
            patch.setattr(worker, "running", lambda _: nullcontext())
        patch.setattr(DatabaseClock, "is_trusted", True)
        folder = tmp_path_factory.mktemp("subscriptions")
        async with calendar_world.empty(world_template, folder) as agendas:
            yield agendas


class Subscriber:
    """A holder of a token with a receiver of calls."""

    def __init__(self, agendas, made):
        self.agendas, self.token_id, self.token = agendas, made["id"], made["token"]
        self.services = agendas.world.gateway.services
        self.receiver = Receiver()
        self.services.webhooks._origins = Origins(transport=httpx.MockTransport(self.receiver))
        self.feed = Feed(lambda: agendas.client(self.token))

    async def call(self, method, path="", **body):
        async with self.agendas.client(self.token) as client:
            return await client.request(
                method, f"{SUBSCRIPTIONS}{path}", **({"json": body} if body else {})
            )

    async def subscribe(self, **body):
        made = await self.call("POST", **{"url": URL, **body})
        assert made.status_code == 201, made.text
        return made.json()

    async def listed(self):
        return (await self.call("GET")).json()["subscriptions"]

    async def execute(self, statement):
        await self.services.database.execute(statement)

    async def look(self):
        """Have the gateway look for changes now, and send what waits."""
        await self.execute(update(FeedSubscription).values(due_at=0))
        await self.services.polls.run_due()
        await self.services.polls.idle()
        await self.execute(update(WebhookDelivery).values(next_at=0))
        await self.services.webhooks.run_due()
        await self.services.webhooks.idle()

    async def count(self, table):
        async with self.services.database.reading() as session:
            return (await session.exec(select(func.count()).select_from(table))).one()


@pytest_asyncio.fixture(loop_scope="module")
async def subscriber(shared_calendars):
    shared_calendars.clear()
    made = await make_token(shared_calendars, subscriptionsEnabled=True)
    yield Subscriber(shared_calendars, made)
    async with shared_calendars.client(ADMIN) as admin:
        await admin.delete(f"/api/access-tokens/{made['id']}")
    await shared_calendars.world.gateway.services.subscriptions.sweep()
    shared_calendars.clear()


async def test_a_change_wakes_once_with_a_cursor_from_which_it_is_read(subscriber):
    made = await subscriber.subscribe()
    await subscriber.look()
    assert subscriber.receiver.requests == []

    plant(subscriber.agendas, "talk")
    await subscriber.look()
    await subscriber.look()

    (request,) = subscriber.receiver.requests
    (body,) = subscriber.receiver.bodies
    assert (str(request.url), set(body)) == (URL, {"subscription", "cursor"})
    assert body["subscription"] == made["id"]
    assert verified(made["secret"], request.headers, request.content)
    ((kind, _, _),) = await subscriber.feed.pull(body["cursor"])
    assert kind == "created"
    ((again, _, _),) = await subscriber.feed.pull(made["cursor"])
    assert again == "created"


async def test_more_than_a_process_looks_at_at_once_are_due_until_they_are_looked_at(
    subscriber, monkeypatch
):
    for _ in range(MAX_SUBSCRIPTIONS):
        await subscriber.subscribe()
    begun, polls = [], subscriber.services.polls
    look = polls._look

    async def noted(row):
        begun.append(row.id)
        await look(row)

    monkeypatch.setattr(polls, "_look", noted)
    late = timestamps.now_ms() - 90_000
    await subscriber.execute(update(FeedSubscription).values(due_at=late))
    before = await late_looks(subscriber)

    assert await polls.run_due() == CONCURRENT
    await asyncio.wait_for(polls._has_room.wait(), 30)  # a loop that waits goes on at once
    await polls.idle()
    between = await late_looks(subscriber)
    assert await polls.run_due() == MAX_SUBSCRIPTIONS - CONCURRENT
    await polls.idle()

    assert len(set(begun)) == len(begun) == MAX_SUBSCRIPTIONS
    assert 90 <= before <= between < 150
    assert await late_looks(subscriber) == 0


async def late_looks(subscriber):
    async with subscriber.agendas.client(ADMIN) as admin:
        metrics = (await admin.get("/metrics")).text
    (figure,) = re.findall(r"(?m)^agw_late_looks_seconds (.+)$", metrics)
    return float(figure)


async def test_what_is_hidden_wakes_nobody(subscriber):
    plant(subscriber.agendas, "talk", description="Secret.")
    visible = {"visibleCalendarFields": ["title"]}
    await set_token(subscriber.agendas, {"id": subscriber.token_id}, **visible)
    await subscriber.subscribe()

    for text in ("Other.", "Third."):
        change(subscriber.agendas, "talk", description=text)
        await subscriber.look()
    assert subscriber.receiver.requests == []

    change(subscriber.agendas, "talk", title="Walk")
    await subscriber.look()
    assert len(subscriber.receiver.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(503, id="503"),
        pytest.param(301, id="redirecting"),
        pytest.param(httpx.ReadTimeout("slow"), id="slow", marks=pytest.mark.slow),
        pytest.param(httpx.ConnectError("down"), id="down", marks=pytest.mark.slow),
    ],
)
async def test_nothing_is_lost_while_the_receiver_is_down_for_a_day(subscriber, answer):
    made = await subscriber.subscribe()
    subscriber.receiver.answer = answer
    subscriber.receiver.headers = {"location": "https://other.example/"}
    for hour in range(24):  # more than the states that a feed keeps
        plant(subscriber.agendas, f"talk {hour}", f"Talk {hour}", days=hour + 1)
        await subscriber.look()
        assert await subscriber.count(WebhookDelivery) == 1
    assert (await subscriber.listed())[0]["state"] == "failing"
    assert {request.url.host for request in subscriber.receiver.requests} == {"hooks.example"}

    subscriber.receiver.answer = 204
    await subscriber.look()

    assert await subscriber.count(WebhookDelivery) == 0
    assert subscriber.receiver.bodies[-1]["subscription"] == made["id"]
    cursor = subscriber.receiver.bodies[-1]["cursor"]
    assert [kind for kind, *_ in await subscriber.feed.pull(cursor)] == ["created"] * 24
    assert (await subscriber.listed())[0]["state"] == "active"


async def test_the_cursor_of_calls_stays_until_it_is_used(subscriber):
    await subscriber.subscribe()
    told = []
    for number in range(8):
        plant(subscriber.agendas, f"talk {number}", days=number + 1)
        await subscriber.look()
        told.append(subscriber.receiver.bodies[-1]["cursor"])
        if number == 5:
            rows = await subscriber.feed.pull(told[0])  # the calls came, and nobody read
            assert [kind for kind, *_ in rows] == ["created"] * 6
    first = await subscriber.feed.pull(told[6])
    assert [kind for kind, *_ in first] == ["created"] * 2
    assert [kind for kind, *_ in await subscriber.feed.pull(told[7])] == ["created"] * 2


@pytest.mark.slow
async def test_a_client_that_keeps_its_own_cursor_never_has_a_resync(subscriber):
    made = await subscriber.subscribe()
    cursor, seen = made["cursor"], []
    for number in range(30):
        plant(subscriber.agendas, f"talk {number}", days=number + 1)
        await subscriber.look()
        if number % 7 == 6:
            seen += await subscriber.feed.pull(cursor)
            cursor = subscriber.feed.cursor
    assert [kind for kind, *_ in seen] == ["created"] * 28


@pytest.mark.parametrize("how", ["revoked", "expired", "setting"])
async def test_the_end_of_the_token_ends_the_subscription(subscriber, how):
    await subscriber.subscribe()
    plant(subscriber.agendas, "talk")
    url = f"/api/access-tokens/{subscriber.token_id}"
    async with subscriber.agendas.client(ADMIN) as admin:
        if how == "revoked":
            await admin.delete(url)
        elif how == "expired":
            await admin.patch(url, json={"expiresAt": "2026-01-01T00:00:00Z"})
        else:
            await admin.patch(url, json={"settings": {"subscriptionsEnabled": False}})
    subscriber.agendas.world.forget_calls()
    await subscriber.look()

    assert subscriber.receiver.requests == []
    assert subscriber.agendas.calls() == []
    assert await subscriber.count(WebhookTarget) == await subscriber.count(FeedSubscription) == 0


async def test_the_sweep_deletes_what_revoked_tokens_leave(subscriber):
    await subscriber.subscribe()
    async with subscriber.agendas.client(ADMIN) as admin:
        await admin.delete(f"/api/access-tokens/{subscriber.token_id}")
    await subscriber.services.subscriptions.sweep()
    assert await subscriber.count(WebhookTarget) == 0


@pytest.mark.parametrize(
    "url", ["http://hooks.example/", "https://10.0.0.1/", "https://localhost/", "https://[::1]/"]
)
async def test_a_url_of_this_network_is_refused(subscriber, url):
    subscriber.agendas.world.forget_calls()
    refused = await subscriber.call("POST", url=url)
    assert (refused.status_code, refused.json()["error"]) == (400, "VALIDATION_ERROR")
    assert "url" in refused.json()["message"]
    assert subscriber.agendas.calls() == []
    assert await subscriber.listed() == []


async def test_a_token_subscribes_only_if_it_may(subscriber):
    off = {"subscriptionsEnabled": False}
    await set_token(subscriber.agendas, {"id": subscriber.token_id}, **off)
    subscriber.agendas.world.forget_calls()
    refused = await subscriber.call("POST", url=URL)
    assert (refused.status_code, refused.json()["error"]) == (403, "ACCESS_DENIED")
    assert subscriber.agendas.calls() == []


async def test_surfaces_are_those_of_changes(subscriber):
    refused = await subscriber.call("POST", url=URL, surfaces=["letters"])
    assert refused.status_code == 400
    mail = await subscriber.call("POST", url=URL, surfaces=["email"])
    assert (mail.status_code, mail.json()["error"]) == (422, "EMAIL_NOT_ENABLED")
    await subscriber.subscribe(surfaces=["calendar"])


async def test_a_token_has_five_subscriptions_at_most_and_no_others(subscriber):
    made = [await subscriber.subscribe(url=f"{URL}/{number}") for number in range(5)]
    assert (await subscriber.call("POST", url=URL)).status_code == 400
    assert [each["url"] for each in await subscriber.listed()] == [f"{URL}/{n}" for n in range(5)]
    assert all("secret" not in each for each in await subscriber.listed())

    other = Subscriber(
        subscriber.agendas, await make_token(subscriber.agendas, subscriptionsEnabled=True)
    )
    for method, path in (("DELETE", ""), ("POST", "/rotate")):
        foreign = await other.call(method, f"/{made[0]['id']}{path}")
        assert (foreign.status_code, foreign.json()["error"]) == (404, "NOT_FOUND")
    assert (await subscriber.call("DELETE", f"/{made[0]['id']}")).status_code == 204
    assert len(await subscriber.listed()) == 4


async def test_both_secrets_sign_after_a_rotation_and_a_dead_target_lives_again(subscriber):
    made = await subscriber.subscribe()
    subscriber.receiver.answer = 410
    plant(subscriber.agendas, "talk")
    await subscriber.look()
    assert (await subscriber.listed())[0]["state"] == "dead"
    subscriber.agendas.world.forget_calls()
    await subscriber.look()
    assert subscriber.agendas.calls() == []  # nobody looks for a dead one

    rotated = (await subscriber.call("POST", f"/{made['id']}/rotate")).json()
    subscriber.receiver.answer = 204
    plant(subscriber.agendas, "walk", days=2)
    await subscriber.look()

    request = subscriber.receiver.requests[-1]
    for secret in (made["secret"], rotated["secret"]):
        assert verified(secret, request.headers, request.content)
    rows = await subscriber.feed.pull(subscriber.receiver.bodies[-1]["cursor"])
    assert [kind for kind, *_ in rows] == ["created"] * 2


async def test_looks_that_fail_come_less_often_and_are_told(subscriber):
    await subscriber.subscribe()
    for wire in ("providerA", "providerB"):
        await subscriber.agendas.world.fail(wire, kind="503")
    pauses = []
    for _ in range(3):
        await subscriber.look()
        async with subscriber.services.database.reading() as session:
            row = (await session.exec(select(FeedSubscription))).one()
        pauses.append(round((row.due_at - subscriber.services.database.clock.now()) / 60_000))
    assert pauses == [2, 4, 8]
    assert (await subscriber.listed())[0]["state"] == "failing"
    assert subscriber.receiver.requests == []


async def test_graphql_has_the_same(subscriber):
    document = """mutation($url: String!) {
      createChangeSubscription(input: {url: $url, surfaces: ["calendar"]}) { id cursor secret }
    }"""
    made = await subscriber.agendas.ask(document, subscriber.token, url=URL)
    assert made["data"]["createChangeSubscription"]["secret"].startswith("whsec_")
    listed = await subscriber.agendas.ask(
        "{ changeSubscriptions { subscriptions { id state } } }", subscriber.token
    )
    (row,) = listed["data"]["changeSubscriptions"]["subscriptions"]
    assert row["state"] == "active"


async def test_a_wake_up_is_about_events_in_the_order_of_looks(subscriber):
    """Looks and pulls go on side by side: neither takes a row from the other."""
    made = await subscriber.subscribe()
    subscriber.agendas.plant("work", "talk", meeting(at(1, "09:00"), at(1, "10:00"), "Talk"))
    assert len(await subscriber.feed.pull(made["cursor"])) == 1
    await subscriber.look()
    assert len(subscriber.receiver.requests) == 1
