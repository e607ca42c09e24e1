"""The feed of changes on mail: rows of both providers, masks, edits of the token."""

import random
import time
from email.message import EmailMessage
from itertools import count

import pytest
from feed_client import Feed
from run_sizes import times

NUMBERS = count(1)
LISTED = ("inbox", "archive", "sent")
ATTRIBUTES = ("isRead", "labels", "importance")
MAILBOXES = ("provider-a", "provider-b")
DAY_MS = 24 * 3_600_000


@pytest.fixture
async def feed(world):
    return await feed_of(world)


async def feed_of(world, **settings):
    token = await world.token(settings)
    feed = Feed(lambda: world.client(token))
    feed.token = token
    return feed


def receive(world, mailbox, subject="Hello", *, folder="inbox", **members):
    """Store a message that arrives now, or at *received_ms*."""
    message = EmailMessage()
    message["Message-ID"] = f"<{next(NUMBERS)}@feed.example>"
    message["Subject"] = subject
    message["From"], message["To"] = "ana@home.example", "me@feed.example"
    message.set_content("Words.")
    return world.sandbox.state.mails.add(mailbox, message.as_bytes(), folder=folder, **members)


def an_hour_ago():
    return int(time.time() * 1000) - 3_600_000


def update(world, mailbox, stored, **members):
    world.sandbox.state.mails.update(mailbox, stored.id, **members)


def id_of(mailbox, stored):
    provider = {"provider-a": "providerA", "provider-b": "providerB"}[mailbox]
    return f"{provider}:{stored.immutable_id}"


@pytest.mark.parametrize("mailbox", MAILBOXES)
async def test_rows_name_what_came_what_changed_and_what_went(world, feed, mailbox):
    read, moved, deleted = (receive(world, mailbox, received_ms=an_hour_ago()) for _ in range(3))
    assert await feed.pull(surfaces="email") == []
    assert feed.answer["more"] is False

    update(world, mailbox, read, is_read=True)
    update(world, mailbox, moved, folder="trash")
    world.sandbox.state.mails.delete(mailbox, deleted.id)
    came = receive(world, mailbox)
    receive(world, mailbox, folder="spam")

    changed = ("isRead",) if mailbox == "provider-a" else ATTRIBUTES
    assert sorted(await feed.drain()) == sorted(
        [
            ("changed", id_of(mailbox, read), changed),
            ("gone", id_of(mailbox, moved), ()),
            ("gone", id_of(mailbox, deleted), ()),
            ("created", id_of(mailbox, came), ()),
        ]
    )
    assert await feed.drain() == []


async def test_an_idle_call_costs_one_upstream_call_per_mailbox(world, feed):
    await feed.pull(surfaces="email")
    world.forget_calls()

    assert await feed.pull() == []

    calls = [call for call in world.calls() if call["batch"] is None]
    assert [(call["method"], call["path"].rpartition("/")[2]) for call in calls] == [
        ("GET", "history"),
        ("POST", "$batch"),
    ]
    assert [entry["code"] for entry in feed.answer["upTo"]] == [None, None]


async def test_hidden_labels_are_told_by_no_row(world):
    feed = await feed_of(world, visibleEmailFields=["subject"])
    ours, theirs = (receive(world, each, received_ms=an_hour_ago()) for each in MAILBOXES)
    await feed.pull(surfaces="email")
    world.forget_calls()

    for mailbox, stored in (("provider-a", ours), ("provider-b", theirs)):
        update(world, mailbox, stored, labels=("Home",))

    assert await feed.drain() == []
    assert [entry["unfollowed"] for entry in feed.answer["upTo"]] == [[], ["isRead"]]

    for mailbox, stored in (("provider-a", ours), ("provider-b", theirs)):
        update(world, mailbox, stored, is_read=True)
    assert await feed.drain() == [("changed", id_of("provider-a", ours), ("isRead",))]


async def test_graphql_selects_the_message_below_its_row_by_the_masks(world):
    feed = await feed_of(world, visibleEmailFields=["from"])
    await feed.pull(surfaces="email")
    came = receive(world, "provider-b", "Secret")
    gone = receive(world, "provider-a")
    world.sandbox.state.mails.delete("provider-a", gone.id)
    document = (
        "query ($since: String) { changes(since: $since) "
        "{ changes { kind objectId email { subject from { email } } } } }"
    )

    async with world.client(feed.token) as client:
        body = {"query": document, "variables": {"since": feed.cursor}}
        answer = (await client.post("/graphql", json=body)).json()

    rows = [row for row in answer["data"]["changes"]["changes"] if row["kind"] == "created"]
    assert rows == [
        {
            "kind": "created",
            "objectId": id_of("provider-b", came),
            "email": {"subject": None, "from": {"email": "ana@home.example"}},
        }
    ]


async def test_a_mailbox_that_fails_says_so_and_loses_nothing(world, feed):
    await feed.pull(surfaces="email")
    before = feed.answer["upTo"][0]["at"]
    came = receive(world, "provider-a")
    await world.fail("providerA", kind="503", count=50)

    assert await feed.drain() == []
    first, second = feed.answer["upTo"]
    assert (first["code"], first["at"], second["code"]) == ("error", before, None)
    assert len(feed.answer["authWarnings"]) == 1

    world.sandbox.upstreams["providerA"].faults.clear()
    for connection in world.connections.values():
        world.gateway.services.accounts.forget(connection)
    assert await feed.drain() == [("created", id_of("provider-a", came), ())]


async def test_an_expired_history_is_a_resync_of_its_connection(world, feed, monkeypatch):
    await feed.pull(surfaces="email")
    await world.admin.put("/sandbox/faults/providerA", json={"kind": "404", "count": 1})

    assert await feed.pull() == [("resync", None, ())]
    assert feed.answer["changes"][0]["connectionId"] == world.connections["PROVIDER_A"]
    assert await feed.drain() == []


async def test_a_token_without_the_right_to_list_is_refused(world):
    feed = await feed_of(world, allowedEmailOperations=["view_email"])
    world.forget_calls()

    response = await feed.raw(surfaces="email")

    assert (response.status_code, response.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert world.calls() == []


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, times(4)))]
FIELDS = (["all"], ["subject", "labels", "importance"], ["subject"], ["labels"])


@pytest.mark.parametrize("seed", SEEDS)
async def test_rows_turn_the_listing_of_then_into_the_listing_of_now(world, seed):
    """Histories with edits of the token, old cursors and lost answers, against plain listings."""
    rng = random.Random(seed)
    feed = await feed_of(world)
    listed = (await world.admin.get("/api/access-tokens", params={"limit": 200})).json()["tokens"]
    token_id = max(entry["id"] for entry in listed)
    mails = {mailbox: [] for mailbox in MAILBOXES}
    await feed.pull(surfaces="email")
    mirror = listing(world)
    for step in range(20):
        happen(world, mails, rng)
        if rng.random() < 0.15:
            change = {"settings": {"visibleEmailFields": rng.choice(FIELDS)}}
            await world.admin.patch(f"/api/access-tokens/{token_id}", json=change)
        cursor = feed.cursor
        if rng.random() < 0.2:
            await feed.pull(limit=1)  # its answer is lost
            feed.cursor = cursor
        rows = await feed.drain(limit=rng.choice((1, 3, 100)))
        now = listing(world)
        untold = {  # those whose changes would reveal hidden ones
            entry["connectionId"] for entry in feed.answer["upTo"] if entry["unfollowed"]
        }
        for kind, name, changed in rows:
            if kind == "resync":
                mirror = dict(now)
            elif kind == "gone":
                mirror.pop(name, None)
            elif kind == "created":
                mirror[name] = now.get(name)
            else:
                assert changed
                mirror[name] = now.get(name)
        if untold:
            assert mirror.keys() == now.keys(), (seed, step)
            mirror = dict(now)
        assert mirror == now, (seed, step)


def listing(world):
    """Return what the mailboxes list, by the ids of messages."""
    return {
        id_of(mailbox, stored): (stored.is_read, stored.labels)
        for mailbox in MAILBOXES
        for stored in world.sandbox.state.mails.all(mailbox)
        if stored.folder in LISTED and stored.received_ms > time.time() * 1000 - DAY_MS
    }


def happen(world, mails, rng):
    """Let some things happen to new messages."""
    for _ in range(rng.randint(0, 4)):
        mailbox = rng.choice(MAILBOXES)
        known = mails[mailbox]
        what = rng.choice(("arrive", "read", "label", "move", "delete"))
        if what == "arrive" or not known:
            known.append(receive(world, mailbox, folder=rng.choice((*LISTED, "trash"))))
        elif what == "read":
            update(world, mailbox, rng.choice(known), is_read=rng.random() < 0.5)
        elif what == "label":
            labels = rng.choice(((), ("Home",), ("Work",)))
            for label in labels:
                world.sandbox.state.mails.add_label(mailbox, label)
            update(world, mailbox, rng.choice(known), labels=labels)
        elif what == "move":
            update(world, mailbox, rng.choice(known), folder=rng.choice((*LISTED, "trash", "spam")))
        else:
            stored = known.pop(rng.randrange(len(known)))
            world.sandbox.state.mails.delete(mailbox, stored.id)
