"""Gmail's notifications wake streams; without them, and with what is not theirs, polls go on."""

import asyncio
import json
import time

import pytest
from change_stream import pull, reading
from push_world import calls, change, deliver, rows, until, woken

from gateway.app import assemble
from gateway.feeds.push import holds, mail_pulls
from gateway.store.background import last_runs
from sandbox.provider_a.topics import PROJECT, PUBLISHER

SECONDS = 2.0  # the promise
TOPIC = f"projects/{PROJECT}/topics/mail"
ROBOT = "robot@sandbox-project.iam.gserviceaccount.com"


async def registered(pushed, count=1):
    async def are_stored():
        return [row.name for row in (await rows(pushed)).values()] == [TOPIC] * count

    await until(are_stored)


@pytest.fixture
def mailbox(pushed):
    return pushed.world.connections["PROVIDER_A"]


@pytest.fixture
def often(pushed, monkeypatch):
    """The world, whose streams poll all the time."""
    monkeypatch.setattr(pushed.services.streams, "poll_seconds", 0.1)
    return pushed


async def test_nobody_is_registered_while_nobody_follows(pushed, token):
    await pull(pushed, await token())
    await asyncio.sleep(0.5)
    assert calls(pushed, "/watch", "/stop", ":pull", ":acknowledge") == []
    assert await rows(pushed) == {}
    assert pushed.services.mail_pulls._task is None


async def test_mail_wakes_a_stream_and_the_end_of_the_last_one_ends_the_watch(
    pushed, token, mailbox, monkeypatch
):
    monkeypatch.setattr(mail_pulls, "NEEDED_SECONDS", 0.5)
    assert pushed.services.streams.poll_seconds == 60
    holder = await token()
    begun = (await pull(pushed, holder))["cursor"]
    async with reading(pushed, holder, since=begun) as reader:
        await registered(pushed)
        await until(lambda: ":pull" in str(calls(pushed, ":pull")))
        await asyncio.sleep(0.5)
        assert reader.events == []
        delivered = time.monotonic()
        deliver(pushed, "New")
        await reader.until(lambda it: it.events)
        assert time.monotonic() - delivered < SECONDS
        assert calls(pushed, "/watch", "/stop") == ["POST watch"]
        await until(lambda: pushed.topics.waiting() == 0)

    async def is_over():
        return not await rows(pushed)

    await until(is_over)
    assert calls(pushed, "/watch", "/stop") == ["POST watch", "POST stop"]
    await until(pushed.services.mail_pulls._task.done)
    assert [row["kind"] for row in (await pull(pushed, holder, begun))["changes"]] == ["created"]
    row = await pushed.services.registrations.read(mailbox)
    assert row is None


async def test_of_two_processes_one_watches_and_one_pulls(pushed, token, monkeypatch):
    monkeypatch.setattr(mail_pulls, "OTHERS_SECONDS", 0.1)
    other = assemble(pushed.services.settings, sandbox=pushed.sandbox)
    async with other.running():
        holder = await token()
        begun = (await pull(pushed, holder))["cursor"]
        there = type(pushed)(**{**vars(pushed), "world": type(pushed)(gateway=other)})
        async with (
            reading(pushed, holder, since=begun) as first,
            reading(there, holder, since=begun) as second,
        ):
            await registered(pushed)
            await asyncio.sleep(0.5)
            deliver(pushed, "New")
            for reader in (first, second):
                await reader.until(lambda it: it.events)
            assert calls(pushed, "/watch", "/stop") == ["POST watch"]
            waits = len(pushed.services.waiters._waits), len(other.services.waiters._waits)
            assert sorted(waits) == [0, 1]


async def test_two_connections_of_a_mailbox_wake_and_the_last_one_ends_the_watch(
    pushed, token, mailbox
):
    listed = (await pushed.world.admin.get("/api/connections?limit=100")).json()["connections"]
    others = [
        each["id"]
        for each in listed
        if each["provider"] == "PROVIDER_A"
        and each["accountEmail"] == "me@provider-a.example"
        and each["id"] != mailbox
        and each["status"] == "active"
    ]
    holders = [await token(), await token(others[0])]
    begun = [(await pull(pushed, holder))["cursor"] for holder in holders]
    async with reading(pushed, holders[0], since=begun[0]) as first:
        async with reading(pushed, holders[1], since=begun[1]) as second:
            await registered(pushed, 2)
            await asyncio.sleep(0.5)
            deliver(pushed, "New")
            for reader in (first, second):
                await reader.until(lambda it: it.events)

        async def is_one():
            return len(await rows(pushed)) == 1

        await until(is_one)
        assert "POST stop" not in calls(pushed, "/stop")
    await until(lambda: calls(pushed, "/stop") == ["POST stop"])


async def test_a_watch_is_renewed_and_made_anew_after_its_end(pushed, token, mailbox):
    holder = await token()
    begun = (await pull(pushed, holder))["cursor"]
    async with reading(pushed, holder, since=begun):
        await registered(pushed)
        made = (await rows(pushed))[mailbox]
        day = holds.RENEW_MS
        assert abs(made.renew_at - pushed.services.registrations.now() - day) < 60_000
        assert abs(made.ends_at - pushed.services.registrations.now() - 7 * day) < 60_000
        for values in ({"renew_at": 0}, {"ends_at": 0}):
            before = len(calls(pushed, "/watch"))
            await change(pushed, mailbox, **values)

            async def is_renewed():
                row = (await rows(pushed))[mailbox]
                return row.renew_at >= made.renew_at and row.ends_at >= made.ends_at

            await until(is_renewed)
            assert len(calls(pushed, "/watch")) == before + 1


async def test_a_renewal_that_fails_leaves_the_watch(pushed, token, mailbox):
    holder = await token()
    begun = (await pull(pushed, holder))["cursor"]
    async with reading(pushed, holder, since=begun):
        await registered(pushed)
        pushed.topics.create("mail", "gateway", publisher="", consumer=ROBOT)
        await change(pushed, mailbox, renew_at=0)

        async def has_failed():
            return (await rows(pushed))[mailbox].failure

        await until(has_failed)
        row = (await rows(pushed))[mailbox]
        assert (row.failure, row.name) == ("topic_right", TOPIC)
        assert row.renew_at > pushed.services.registrations.now()
        assert len(pushed.services.waiters._waits) == 1


@pytest.mark.parametrize(
    ("publisher", "topic", "failure"), [("", "mail", "topic_right"), (PUBLISHER, "other", "topic")]
)
async def test_without_the_topic_or_its_right_polls_go_on(
    often, token, mailbox, *, publisher, topic, failure
):
    pushed = often
    database = pushed.sandbox.state.database
    database.run("DELETE FROM pubsub_topic")
    pushed.topics.create(topic, "gateway", publisher=publisher, consumer=ROBOT)
    holder = await token()
    begun = (await pull(pushed, holder))["cursor"]
    async with reading(pushed, holder, since=begun) as reader:

        async def has_failed():
            return (await rows(pushed)).get(mailbox) and (await rows(pushed))[mailbox].failure

        assert await until(has_failed) == failure
        deliver(pushed, "New")
        await reader.until(lambda it: it.events)
        assert len(calls(pushed, "/watch")) == 1


@pytest.mark.parametrize(
    ("consumer", "kind", "failure"),
    [("", "pull", "subscription_right"), (ROBOT, "push", "subscription_kind")],
)
async def test_without_the_subscription_polls_go_on_and_the_log_says_why(
    often, token, caplog, *, consumer, kind, failure
):
    pushed = often
    pushed.topics.create("mail", "gateway", consumer=consumer, kind=kind)
    holder = await token()
    begun = (await pull(pushed, holder))["cursor"]
    async with reading(pushed, holder, since=begun) as reader:
        await until(lambda: last_runs.get(mail_pulls.LEASE) is False)
        deliver(pushed, "New")
        await reader.until(lambda it: it.events)
    (record,) = [each for each in caplog.records if "pulled" in each.message]
    assert (record.message, record.kind) == ("notifications of mail could not be pulled", failure)
    assert "example" not in caplog.text


async def test_what_is_not_a_notification_is_acknowledged_and_wakes_nobody(pushed, token):
    holder = await token()
    begun = (await pull(pushed, holder))["cursor"]
    async with reading(pushed, holder, since=begun):
        await registered(pushed)

        async def is_quiet():
            return pushed.topics.waiting() == 0 and any((await woken(pushed)).values())

        await until(is_quiet)
        await asyncio.sleep(0.5)
        before = await woken(pushed), await rows(pushed)
        hostile = (
            b"",
            b"\xff\xfe",
            b"[]",
            b"null",
            b'{"emailAddress":7,"historyId":1}',
            b'{"historyId":1}',
            b'{"emailAddress":""}',
            json.dumps({"emailAddress": "stranger@elsewhere.example"}).encode(),
            json.dumps({"emailAddress": "me@provider-a.example" + " " * 5000}).encode(),
            b"[" * 4000,
            b'{"emailAddress":"\\ud800"}',
        )
        for content in hostile:
            pushed.topics.publish(TOPIC, PUBLISHER, content)
        await until(lambda: pushed.topics.waiting() == 0)
        await asyncio.sleep(0.5)
        assert (await woken(pushed), await rows(pushed)) == before

        pushed.topics.publish(TOPIC, PUBLISHER, b'{"emailAddress":"ME@provider-a.example"}')

        async def is_woken():
            return await woken(pushed) != before[0]

        await until(is_woken)
