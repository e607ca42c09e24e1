"""Subscriptions of two processes on PostgreSQL: each is taken by one of them."""

import asyncio

import expired_rows
import pytest
from database_servers import postgres_server
from sqlmodel import select

from gateway.feeds.states import FeedStateStore
from gateway.feeds.subscriptions import SubscriptionStore
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.further_tables import FeedSubscription
from gateway.store.tables import AccessToken
from gateway.webhooks import targets
from gateway.webhooks.targets import Owner

pytestmark = pytest.mark.slow

KEYRING = Keyring.read("a secret key of the tests")
SUBSCRIPTIONS = 60


async def test_each_due_subscription_is_taken_once():
    with postgres_server() as server:
        databases = [Database.open(server.url) for _ in range(2)]
        await databases[0].migrate()
        await expired_rows.fill_owners(databases[0])
        stores = [
            SubscriptionStore(each, KEYRING, FeedStateStore(each, KEYRING), 60)
            for each in databases
        ]
        async with databases[0].writing() as session:
            token_id = (await session.exec(select(AccessToken.id))).first()
            for number in range(SUBSCRIPTIONS):
                owner = Owner("feed", str(number))
                url = f"https://hooks-{number}.example/"
                target, _ = await targets.create(session, KEYRING, owner, url)
                row = FeedSubscription(
                    id=target.id,
                    token_id=token_id,
                    position="p",
                    start="s",
                    is_pulled=False,
                    due_at=0,
                    failures=0,
                )
                session.add(row)

        taken = []
        for _ in range(10):
            for rows in await asyncio.gather(*(store.take(5) for store in stores)):
                taken += [row.id for row in rows]
        for database in databases:
            await database.close()

    assert len(taken) == len(set(taken)) == SUBSCRIPTIONS
