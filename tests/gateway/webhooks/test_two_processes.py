"""Two processes on one PostgreSQL: a wake-up goes out once, and the last one always does."""

import asyncio
import random

import httpx
import pytest
from database_servers import postgres_server
from run_sizes import times
from sqlmodel import func, select
from webhook_receiver import Receiver

from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.further_tables import WebhookDelivery, WebhookTarget
from gateway.webhooks import targets
from gateway.webhooks.sender import WebhookSender
from gateway.webhooks.targets import Owner
from providers.http.origins import Origins

pytestmark = pytest.mark.slow

KEYRING = Keyring.read("a secret key of the tests")
TARGETS = 20
WAKES = times(150)


class SlowReceiver(Receiver):
    """A receiver that takes a moment, and fails one call of ten, no two in a row of a target."""

    def __init__(self):
        super().__init__()
        self.accepted = []
        self.under_way = {}
        self.most = 0
        self.failing = set()  # a second failure in a row is followed by a pause of half a minute

    async def __call__(self, request):
        host = request.url.host
        self.under_way[host] = self.under_way.get(host, 0) + 1
        self.most = max(self.most, self.under_way[host])
        await asyncio.sleep(random.uniform(0, 0.02))
        self.under_way[host] -= 1
        self.answer = 503 if host not in self.failing and random.random() < 0.1 else 200
        (self.failing.discard if self.answer == 200 else self.failing.add)(host)
        response = await super().__call__(request)
        if response.status_code == 200:
            self.accepted.append((host, self.bodies[-1]["cursor"], self.ids[-1]))
        return response


async def test_each_wake_up_goes_out_once_and_the_last_one_always():
    receiver = SlowReceiver()
    with postgres_server() as server:
        stores = [Database.open(server.url) for _ in range(2)]
        await stores[0].migrate()
        clients = [Origins(transport=httpx.MockTransport(receiver)) for _ in stores]
        senders = [
            WebhookSender(database, KEYRING, origins)
            for database, origins in zip(stores, clients, strict=True)
        ]
        ids, last = {}, {}
        async with stores[0].writing() as session:
            for number in range(TARGETS):
                host = f"hooks-{number}.example"
                owner = Owner("test", str(number))
                target, _ = await targets.create(session, KEYRING, owner, f"https://{host}/")
                ids[host] = target.id

        async def wake_all():
            for cursor in range(WAKES):
                database, host = random.choice(stores), random.choice([*ids])
                async with database.writing() as session:
                    await targets.wake(database, session, ids[host], "t", {"cursor": cursor})
                last[host] = cursor
                await asyncio.sleep(0.002)

        async def waiting():
            async with stores[0].reading() as session:
                return (await session.exec(select(func.count()).select_from(WebhookDelivery))).one()

        async with asyncio.timeout(120), senders[0].running(), senders[1].running():
            waking = asyncio.create_task(wake_all())
            while not waking.done() or await waiting():
                assert await waiting() <= TARGETS
                await asyncio.sleep(0.05)
            await waking
        async with stores[0].reading() as session:
            states = set(await session.exec(select(WebhookTarget.state, WebhookTarget.failures)))
        for closing in (*clients, *stores):
            await (closing.aclose() if isinstance(closing, Origins) else closing.close())

    accepted = [webhook_id for _, _, webhook_id in receiver.accepted]
    assert len(accepted) == len(set(accepted))
    newest = {host: max(c for h, c, _ in receiver.accepted if h == host) for host in last}
    assert newest == last
    assert receiver.most == 1
    assert states == {("active", 0)}
