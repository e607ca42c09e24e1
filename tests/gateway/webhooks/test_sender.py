"""Wake-up calls under faults of their receiver: none is lost, and what waits is bounded."""

import asyncio
import socket
from itertools import pairwise

import httpx
import pytest
from sqlalchemy import update
from sqlmodel import func, select
from webhook_receiver import Receiver, verified

from gateway.secrets.keyring import Keyring
from gateway.store.clock import DatabaseClock
from gateway.store.further_tables import WebhookDelivery, WebhookTarget
from gateway.webhooks import targets
from gateway.webhooks.sender import WebhookSender
from gateway.webhooks.targets import Owner
from providers.http.origins import Origins

KEYRING = Keyring.read("a secret key of the tests")
OWNER = Owner("test", "1")
URL = "https://hooks.example/wake?key=1"
DAY, HOUR = 86_400, 3_600


class Hooks:
    """A process that sends, its receiver, and a clock that is moved by hand."""

    def __init__(self, database, time):
        database.clock = DatabaseClock(of_server=False, wall=time, steady=lambda: time.now / 1000)
        time.wait(60)  # a process trusts its clock a while after the start
        self.database, self.time = database, time
        self.receiver, self.outcomes = Receiver(), []
        self.origins = Origins(transport=httpx.MockTransport(self.receiver))
        self.sender = self.process(self.origins)

    def process(self, origins):
        note = self.outcomes.append
        return WebhookSender(self.database, KEYRING, origins, on_call=note, clock=self.time)

    async def create(self, url=URL):
        async with self.database.writing() as session:
            target, secret = await targets.create(session, KEYRING, OWNER, url)
        return target.id, secret

    async def wake(self, target_id, body, topic="topic", **more):
        async with self.database.writing() as session:
            await targets.wake(self.database, session, target_id, topic, body, **more)

    async def run(self):
        await self.sender.run_due()
        await self.sender.idle()

    async def run_for(self, seconds):
        """Let time pass, and call what becomes due at its moment."""
        end = self.time.now + seconds * 1000
        while True:
            async with self.database.reading() as session:
                due = (await session.exec(select(func.min(WebhookDelivery.next_at)))).one()
            if due is None or due > end:
                break
            self.time.now = max(due, self.time.now)
            await self.run()
        self.time.now = end

    async def state(self, target_id):
        """Return state, failures and last error of a target, and how many wake-ups wait."""
        async with self.database.reading() as session:
            row = await session.get(WebhookTarget, target_id)
            count = (await session.exec(select(func.count()).select_from(WebhookDelivery))).one()
            return row.state, row.failures, row.last_error, count


@pytest.fixture
async def hooks(database, time):
    hooks = Hooks(database, time)
    yield hooks
    await hooks.origins.aclose()


async def test_a_wake_up_is_sent_once_and_signed(hooks):
    target, secret = await hooks.create()
    await hooks.wake(target, {"subscription": 7, "cursor": "c"})
    await hooks.run()
    await hooks.run()

    (request,) = hooks.receiver.requests
    assert (request.method, str(request.url)) == ("POST", URL)
    assert request.content == b'{"subscription":7,"cursor":"c"}'
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers
    assert verified(secret, request.headers, request.content)
    assert hooks.outcomes == ["delivered"]
    assert await hooks.state(target) == ("active", 0, None, 0)


async def test_a_transaction_that_is_rolled_back_wakes_nobody(hooks):
    target, _ = await hooks.create()

    async def change():
        async with hooks.database.writing() as session:
            await targets.wake(hooks.database, session, target, "topic", {"id": 1})
            raise LookupError

    with pytest.raises(LookupError):
        await change()
    await hooks.run()

    assert hooks.receiver.requests == []


async def test_a_newer_wake_up_replaces_the_one_that_waits(hooks):
    target, _ = await hooks.create()
    for cursor in range(50):
        await hooks.wake(target, {"cursor": cursor})
    await hooks.wake(target, {"cursor": "other"}, topic="other")
    assert (await hooks.state(target))[3] == 2
    await hooks.run()
    await hooks.run()

    assert sorted(hooks.receiver.bodies, key=str) == [{"cursor": "other"}, {"cursor": 49}]


async def test_a_wake_up_during_a_call_follows_it(hooks):
    target, _ = await hooks.create()
    hooks.receiver.proceed = asyncio.Event()
    await hooks.wake(target, {"cursor": 1})
    await hooks.sender.run_due()
    await hooks.receiver.called.wait()
    await hooks.wake(target, {"cursor": 2})
    await hooks.sender.run_due()
    await asyncio.sleep(0.01)
    assert hooks.receiver.bodies == [{"cursor": 1}]  # one call of a target at a time
    hooks.receiver.proceed.set()
    await hooks.sender.idle()
    await hooks.run()

    assert hooks.receiver.bodies == [{"cursor": 1}, {"cursor": 2}]
    assert await hooks.state(target) == ("active", 0, None, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (httpx.ConnectError("down"), "unreachable"),
        (500, "500"),
        (404, "404"),
        (301, "301"),
        (httpx.ReadTimeout("slow"), "timed_out"),
    ],
)
async def test_a_receiver_that_is_down_for_a_day_loses_nothing(hooks, status, error):
    target, _ = await hooks.create()
    hooks.receiver.answer, hooks.receiver.headers = status, {"location": "https://other.example/"}
    for hour in range(24):
        await hooks.wake(target, {"cursor": hour})
        await hooks.run_for(HOUR)
    failed = await hooks.state(target)
    assert (failed[0], failed[2], failed[3]) == ("active", error, 1)
    assert 24 <= len(hooks.receiver.requests) <= 80
    assert {request.url.host for request in hooks.receiver.requests} == {"hooks.example"}
    hooks.receiver.answer = 200
    await hooks.run_for(2 * HOUR)

    assert hooks.receiver.bodies[-1] == {"cursor": 23}
    assert await hooks.state(target) == ("active", 0, None, 0)


async def test_attempts_of_one_wake_up_have_one_id_and_growing_pauses(hooks):
    target, _ = await hooks.create()
    hooks.receiver.answer = 500
    await hooks.wake(target, {"cursor": 1})
    await hooks.run_for(4 * HOUR)
    stamps = [int(request.headers["webhook-timestamp"]) for request in hooks.receiver.requests]
    pauses = [later - earlier for earlier, later in pairwise(stamps)]

    expected = [5, 30, 120, 600, 1800, 3600, 3600]
    assert len(pauses) in (7, 8)
    assert all(0.9 * e - 1 <= p <= 1.1 * e + 1 for p, e in zip(pauses, expected, strict=False))
    assert len(set(hooks.receiver.ids)) == 1


async def test_a_newer_wake_up_waits_for_a_minute_at_most(hooks):
    target, _ = await hooks.create()
    hooks.receiver.answer = 500
    await hooks.wake(target, {"cursor": 1})
    await hooks.run_for(2 * HOUR)
    hooks.receiver.answer, before = 200, len(hooks.receiver.requests)
    await hooks.wake(target, {"cursor": 2})
    await hooks.run()
    assert len(hooks.receiver.requests) == before
    await hooks.run_for(60)

    assert hooks.receiver.bodies[before:] == [{"cursor": 2}]
    assert hooks.receiver.ids[-1] != hooks.receiver.ids[0]


@pytest.mark.slow
async def test_what_waits_follows_when_the_target_answers_again(hooks):
    target, _ = await hooks.create()
    hooks.receiver.answer = 500
    for topic in "abc":
        await hooks.wake(target, {"id": topic}, topic=topic)
    await hooks.run_for(3 * HOUR)
    hooks.receiver.answer, before = 200, len(hooks.receiver.requests)
    await hooks.wake(target, {"id": "d"}, topic="d")
    for _ in range(4):
        await hooks.run()

    assert sorted(body["id"] for body in hooks.receiver.bodies[before:]) == ["a", "b", "c", "d"]
    assert await hooks.state(target) == ("active", 0, None, 0)


@pytest.mark.slow
async def test_three_days_of_failures_end_a_target_until_it_has_a_new_secret(hooks):
    target, _ = await hooks.create()
    hooks.receiver.answer = 503
    await hooks.wake(target, {"cursor": 1})
    await hooks.run_for(3 * DAY - HOUR)
    assert (await hooks.state(target))[0] == "active"
    await hooks.run_for(2 * HOUR)
    state_, failures, error, count = await hooks.state(target)
    assert (state_, error, count) == ("dead", "503", 0)
    assert hooks.outcomes == ["failed"] * (failures - 1) + ["dead"]
    await hooks.wake(target, {"cursor": 2})
    await hooks.run_for(2 * HOUR)
    assert len(hooks.receiver.requests) == failures

    hooks.receiver.answer = 200
    async with hooks.database.writing() as session:
        row = await targets.find(session, "test", target, for_update=True)
        secret = await targets.rotate(session, KEYRING, row)
    await hooks.wake(target, {"cursor": 3})
    await hooks.run()

    assert hooks.receiver.bodies[-1] == {"cursor": 3}
    assert verified(
        secret, hooks.receiver.requests[-1].headers, hooks.receiver.requests[-1].content
    )
    assert await hooks.state(target) == ("active", 0, None, 0)


async def test_a_failure_after_a_quiet_week_ends_no_target(hooks):
    target, _ = await hooks.create()
    hooks.receiver.answer = 500
    await hooks.wake(target, {"id": 1}, until=hooks.time.now + 1000)
    await hooks.run()
    hooks.time.wait(7 * DAY)
    await hooks.wake(target, {"id": 2}, topic="other")
    await hooks.run()

    assert await hooks.state(target) == ("active", 2, "500", 1)


async def test_410_ends_a_target_at_once(hooks):
    target, _ = await hooks.create()
    hooks.receiver.answer = 410
    for topic in "ab":
        await hooks.wake(target, {"id": topic}, topic=topic)
    await hooks.run()
    await hooks.run()

    assert len(hooks.receiver.requests) == 1
    assert hooks.outcomes == ["dead"]
    assert await hooks.state(target) == ("dead", 1, "410", 0)


async def test_a_wake_up_that_is_pointless_is_dropped(hooks):
    target, _ = await hooks.create()
    hooks.receiver.answer = 500
    await hooks.wake(target, {"id": 1}, until=hooks.time.now + HOUR * 1000)
    await hooks.run_for(HOUR)
    count = len(hooks.receiver.requests)
    await hooks.run_for(DAY)

    assert len(hooks.receiver.requests) == count == 6
    assert (await hooks.state(target))[3] == 0


@pytest.mark.slow
async def test_a_slow_target_keeps_no_other_one_waiting(hooks):
    slow = [(await hooks.create())[0] for _ in range(3)]
    quick, _ = await hooks.create("https://quick.example/")
    for topic in range(50):
        for target in slow:
            await hooks.wake(target, {"id": topic}, topic=str(topic))
    await hooks.wake(quick, {"id": "quick"})
    hooks.receiver.proceed = asyncio.Event()
    for _ in range(3):
        await hooks.sender.run_due()
        await asyncio.sleep(0.05)

    assert len(hooks.receiver.requests) == 4
    assert {"id": "quick"} in hooks.receiver.bodies
    hooks.receiver.proceed.set()
    await hooks.sender.idle()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_a_target_in_this_network_gets_no_request(hooks, host):
    """Also one whose name led elsewhere when it was made."""
    target, _ = await hooks.create()
    origins = Origins()
    private = hooks.process(origins)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://{host}:{listening.getsockname()[1]}/"
        row = WebhookTarget
        await hooks.database.execute(update(row).values(url=url).returning(row.id))
        await hooks.wake(target, {"id": 1})
        await private.run_due()
        await private.idle()
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
    await origins.aclose()

    assert await hooks.state(target) == ("active", 1, "unreachable", 1)


async def test_a_lease_of_a_dead_process_ends_and_its_wake_up_is_sent_again(hooks):
    target, _ = await hooks.create()
    await hooks.wake(target, {"id": 1})
    (lost,) = await hooks.sender._deliveries.take(8)  # a process takes it, and dies
    await hooks.run()
    assert hooks.receiver.requests == []
    hooks.time.wait(31)
    await hooks.run()
    await hooks.sender._deliveries.delivered(lost)  # it was only slow

    assert hooks.receiver.ids == [lost.webhook_id]


async def test_unknown_targets_and_large_bodies(hooks):
    target, _ = await hooks.create()
    await hooks.wake("unknown", {"id": 1})
    with pytest.raises(ValueError, match="4096"):
        await hooks.wake(target, {"id": "x" * 5000})
    async with hooks.database.writing() as session:
        await targets.delete_of(session, OWNER)
    await hooks.wake(target, {"id": 1})
    await hooks.run()

    assert hooks.receiver.requests == []


async def test_the_loop_sends_and_rests_while_there_is_nobody(hooks):
    async with asyncio.timeout(10), hooks.sender.running():
        hooks.sender.look_soon()
        await asyncio.sleep(0.1)
        assert not hooks.sender._has_targets
        target, _ = await hooks.create()
        await hooks.wake(target, {"id": 1})
        hooks.sender.look_soon()
        await hooks.receiver.called.wait()

    assert hooks.receiver.bodies == [{"id": 1}]
