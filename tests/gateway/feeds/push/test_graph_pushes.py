"""Microsoft Graph's notifications wake streams; forged ones wake nobody and write nothing."""

import asyncio
import hashlib
import json
import time

import pytest
from change_stream import pull, reading
from push_world import change, rows, until, woken

from gateway.app import assemble
from gateway.feeds.push import calls as notifications
from gateway.feeds.push import holds
from gateway.settings import Settings

SECONDS = 2.0  # the promise
RESOURCES = {"email": "me/messages", "calendar": "me/events"}
SECRET = "a secret of the tests that is long enough"
PATH = notifications.PREFIX + hashlib.sha256(SECRET.encode()).hexdigest()


def requests(called):
    """The calls of the gateway that are about subscriptions, by method."""
    return [
        call["method"]
        for call in called.sandbox.upstreams["providerB"].calls
        if "/subscriptions" in call["path"]
    ]


async def registered(called, outlook):
    async def is_stored():
        row = (await rows(called)).get(outlook)
        return row if row is not None and row.name else None

    row = await until(is_stored)

    async def is_woken():
        return any((await woken(called)).values())

    await until(is_woken)
    return row


async def test_nobody_is_registered_while_nobody_follows(called, caller):
    await pull(called, await caller())
    await asyncio.sleep(0.3)
    assert (requests(called), await rows(called), called.graph.answers) == ([], {}, [])


async def test_a_change_wakes_a_stream_and_the_end_of_the_last_one_ends_the_subscription(
    called, caller, outlook, kind, happen
):
    holder = await caller()
    begun = (await pull(called, holder))["cursor"]
    async with reading(called, holder, since=begun) as reader:
        row = await registered(called, outlook)
        validated = [(200, "text/plain; charset=utf-8")] * 2
        assert (called.graph.answers, requests(called)) == (validated, ["POST"])
        (content,) = [each.content for each in called.graph.subscriptions.all()]
        assert (content["resource"], content["id"]) == (RESOURCES[kind], row.name)
        assert hashlib.sha256(content["clientState"].encode()).hexdigest() == row.mark
        await asyncio.sleep(0.5)
        assert reader.events == []
        delivered = time.monotonic()
        happen()
        await reader.until(lambda it: it.events)
        assert time.monotonic() - delivered < SECONDS
        assert called.graph.answers[2:] == [(202, None)]

    async def is_over():
        return not await rows(called)

    await until(is_over)
    assert (requests(called), called.graph.subscriptions.all()) == (["POST", "DELETE"], [])
    rows_of = (await pull(called, holder, begun))["changes"]
    assert [(row["surface"], row["kind"]) for row in rows_of] == [(kind, "created")]


async def test_of_two_processes_one_registers_and_streams_of_both_wake(
    called, caller, outlook, happen
):
    other = assemble(called.services.settings, sandbox=called.sandbox)
    async with other.running():
        holder = await caller()
        begun = (await pull(called, holder))["cursor"]
        there = type(called)(**{**vars(called), "world": type(called)(gateway=other)})
        async with (
            reading(called, holder, since=begun) as first,
            reading(there, holder, since=begun) as second,
        ):
            await registered(called, outlook)
            await asyncio.sleep(0.5)
            happen()
            for reader in (first, second):
                await reader.until(lambda it: it.events)
            assert requests(called) == ["POST"]


async def test_a_subscription_is_renewed_and_made_anew(called, caller, outlook):
    holder = await caller()
    begun = (await pull(called, holder))["cursor"]

    async def is_another_than(name):
        async def is_another():
            return (await rows(called))[outlook].name not in {"", name}

        await until(is_another)

    async with reading(called, holder, since=begun):
        first = await registered(called, outlook)
        now = called.services.registrations.now()
        assert abs(first.ends_at - now - 4_200 * 60_000) < 60_000
        assert abs(first.renew_at - now - holds.RENEW_MS) < 60_000
        assert await called.graph.subscriptions.tell_of_life("reauthorizationRequired") == [202]
        await until(lambda: requests(called) == ["POST", "PATCH"])

        async def is_renewed():
            return (await rows(called))[outlook].renew_at >= first.renew_at

        await until(is_renewed)
        called.graph.subscriptions.remove(first.name)  # nobody told us
        await change(called, outlook, renew_at=0)
        await is_another_than(first.name)
        assert requests(called) == ["POST", "PATCH", "PATCH", "POST"]

        before = (await rows(called))[outlook].name
        assert await called.graph.subscriptions.tell_of_life("subscriptionRemoved") == [202]
        await is_another_than(before)
        assert requests(called)[4:] == ["POST"]


async def test_missed_notifications_wake(called, caller, outlook):
    holder = await caller()
    begun = (await pull(called, holder))["cursor"]
    async with reading(called, holder, since=begun):
        await registered(called, outlook)
        before = await woken(called)
        assert await called.graph.subscriptions.tell_of_life("missed") == [202]

        async def is_woken():
            return await woken(called) != before

        await until(is_woken)
        assert requests(called) == ["POST"]


async def test_where_graph_cannot_call_polls_go_on(called, caller, outlook, happen, monkeypatch):
    monkeypatch.setattr(called.services.streams, "poll_seconds", 0.1)
    called.graph.is_reachable = False
    holder = await caller()
    begun = (await pull(called, holder))["cursor"]
    async with reading(called, holder, since=begun) as reader:

        async def failure():
            row = (await rows(called)).get(outlook)
            return row is not None and row.failure

        assert await until(failure) == "public_url"
        happen()
        await reader.until(lambda it: it.events)
        assert requests(called) == ["POST"]


@pytest.fixture
async def target(called, outlook):
    """A connection whose registration is there, with the secret of the tests."""
    receiver = called.services.receivers["PROVIDER_B"]
    assert await called.services.wakes.take(outlook)
    await called.services.registrations.begin(outlook, receiver.target, PATH[-64:])
    await change(called, outlook, name="subscription-1", ends_at=2**43, renew_at=2**43)
    return outlook


def body(secret=SECRET, name="subscription-1", **more):
    return json.dumps({"value": [{"subscriptionId": name, "clientState": secret, **more}]})


FORGED = [
    (PATH, body(secret="another")),
    (PATH, body(secret=None)),
    (PATH, body(secret="")),
    (PATH, body(secret=PATH[-64:])),
    (PATH, body(name="subscription-2")),
    (PATH, body(secret="\ud800")),
    (PATH, body(lifecycleEvent="unknown")),
    (PATH, ""),
    (PATH, "{"),
    (PATH, "null"),
    (PATH, '{"value":{}}'),
    (PATH, '{"value":[]}'),
    (PATH, "[" * 100_000),
    (PATH, body(secret="another", lifecycleEvent="subscriptionRemoved")),
    (PATH, body(secret="another", lifecycleEvent="reauthorizationRequired")),
    (f"{PATH}?validationToken=", body(secret="another")),
]
UNKNOWN = [
    (notifications.PREFIX + "0" * 64, body()),
    (notifications.PREFIX + PATH[-64:].upper(), body()),
    (f"{PATH}/more", body()),
    (notifications.PREFIX, body()),
    (f"{PATH}?validationToken=hello", ""),  # nothing is being made
]


async def test_forged_notifications_wake_nobody_and_write_nothing(called, target, monkeypatch):
    before = await woken(called), await rows(called)
    cases = [(*each, 202) for each in FORGED] + [(*each, 404) for each in UNKNOWN]
    for number, (path, content, status) in enumerate(cases):
        async with called.world.called_from(f"203.0.113.{number}").client() as client:
            answer = await client.post(path, content=content)
        assert (answer.status_code, SECRET in answer.text) == (status, False), path
    await asyncio.sleep(0.5)
    assert (await woken(called), await rows(called)) == before


async def test_the_right_notification_wakes(called, target):
    before = await woken(called)
    async with called.client() as client:
        answer = await client.post(PATH, content=body())
    assert (answer.status_code, answer.content) == (202, b"")

    async def is_woken():
        return await woken(called) != before

    await until(is_woken)


async def test_a_huge_body_is_refused(called, target):
    async with called.client() as client:
        answer = await client.post(PATH, content=b" " * (notifications.MAX_BODY + 1))
    assert answer.status_code == 413


async def test_a_token_of_validation_comes_back_as_text_while_a_registration_is_made(
    called, target
):
    await change(called, target, name="", ends_at=2**43)
    async with called.client() as client:

        async def validate(token):
            return await client.post(PATH, params={"validationToken": token})

        plain, long = await validate("Validation: a b&c?"), await validate("x" * 1001)
        hostile = await validate("<script>alert(1)</script>")
        await change(called, target, ends_at=0)
        late = await validate("late")
    assert (plain.status_code, plain.text) == (200, "Validation: a b&amp;c?")
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert plain.headers["x-content-type-options"] == "nosniff"
    assert "<script" not in hostile.text
    assert (long.status_code, late.status_code) == (404, 404)


async def test_an_address_that_forges_is_limited(called, target):
    statuses = []
    async with called.world.called_from("203.0.113.200").client() as client:
        while len(statuses) < 1000 and 429 not in statuses:
            statuses.append((await client.post(PATH, content=body(secret="another"))).status_code)
    assert (statuses[0], statuses[-1]) == (202, 429)


async def test_the_path_of_gmails_mailbox_is_none_of_graph(called, target):
    address, topic = "me@provider-a.example", "projects/home/topics/mail"
    mark = hashlib.sha256(address.encode()).hexdigest()
    await called.services.registrations.begin(target, "0" * 64, mark)
    await change(called, target, name=topic, ends_at=2**43)
    async with called.client() as client:
        answer = await client.post(notifications.PREFIX + mark, content=body(address, topic))
    assert answer.status_code == 404


async def test_without_the_setting_there_is_no_path(world):
    async with world.client() as client:
        answer = await client.post(PATH, content=body())
    assert answer.status_code == 404


def test_the_setting_needs_an_https_address():
    with pytest.raises(ValueError, match="AGW_PROVIDER_B_PUSH needs an https URL"):
        Settings(_env_file=None, provider_b_push=True, public_url="http://gateway.example")
    secure = Settings(_env_file=None, provider_b_push=True, public_url="https://gateway.example")
    assert secure.push_providers == {"PROVIDER_B"}
