"""Mail that a real Dovecot delivers wakes streams and subscriptions, long before the next poll."""

import asyncio
import time
from types import SimpleNamespace

import httpx
import pytest
from change_stream import pull, reading
from webhook_receiver import Receiver

from gateway.feeds import wakes
from gateway.store.clock import DatabaseClock
from providers.http.origins import Origins

SECONDS = 2.0  # the promise, from the moment at which the gateway knows

pytestmark = pytest.mark.slow  # a server starts


@pytest.fixture
def noted(world, monkeypatch):
    """The moments at which the gateway knew of a change."""
    monkeypatch.setattr(wakes, "SPACING_SECONDS", 0.1)
    monkeypatch.setattr(wakes, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(DatabaseClock, "is_trusted", True)
    moments, note = [], wakes.WakeStore.note

    async def noting(store, connection):
        moments.append(time.monotonic())
        await note(store, connection)

    monkeypatch.setattr(wakes.WakeStore, "note", noting)
    return moments


@pytest.fixture
async def holder(world, connect):
    """A token of the mailbox, as `change_stream` takes it."""
    connected = (await connect()).json()
    settings = {"allowedConnectionIds": [connected["id"]], "subscriptionsEnabled": True}
    token = await world.token({"allowedEmailOperations": ["all"], **settings})
    return SimpleNamespace(world=world, client=world.client, token=token)


async def until(is_met, seconds=30):
    async with asyncio.timeout(seconds):
        while not is_met():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.02)


async def test_a_stream_has_an_event_when_mail_is_delivered(world, holder, mailbox, dovecot, noted):
    services = world.gateway.services
    assert services.streams.poll_seconds == 60
    begun = (await pull(holder, holder.token))["cursor"]
    assert not services.waiters._waits
    dovecot.forget_sessions("ada")
    async with reading(holder, holder.token, since=begun) as reader:
        await until(lambda: b" IDLE" in dovecot.commands("ada"))
        assert reader.events == []
        await mailbox.add("New")
        await reader.until(lambda it: it.events)
        assert time.monotonic() - noted[-1] < SECONDS
        assert len(services.waiters._waits) == 1
    await until(lambda: not services.waiters._waits)
    (row,) = (await pull(holder, holder.token, begun))["changes"]
    assert row["kind"] == "created"


async def test_a_subscription_is_called_when_mail_is_delivered(
    world, holder, mailbox, dovecot, noted
):
    receiver, services = Receiver(), world.gateway.services
    services.webhooks._origins = Origins(transport=httpx.MockTransport(receiver))
    dovecot.forget_sessions("ada")
    path = "/api/access/subscriptions"
    async with world.client(holder.token) as client:
        made = await client.post(path, json={"url": "https://hooks.example/wake"})
        assert made.status_code == 201, made.text
        await until(lambda: b" IDLE" in dovecot.commands("ada"), 60)  # its loop may rest
        await mailbox.add("New")
        await until(lambda: receiver.requests, 60)
        assert (await client.delete(f"{path}/{made.json()['id']}")).status_code == 204
    await until(lambda: not services.waiters._waits)
