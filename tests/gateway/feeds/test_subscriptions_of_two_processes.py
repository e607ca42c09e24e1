"""Subscriptions of two processes on PostgreSQL: who takes them, and what lets them be due."""

import asyncio

import expired_rows
import pytest
from database_servers import postgres_server
from sqlmodel import select

from gateway.feeds.states import FeedStateStore
from gateway.feeds.subscriptions import SubscriptionStore
from gateway.feeds.wakes import WakeStore
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.further_tables import FeedSubscription
from gateway.store.tables import AccessToken, ConnectionRow, TokenResource
from gateway.webhooks import targets
from gateway.webhooks.targets import Owner

pytestmark = pytest.mark.slow

KEYRING = Keyring.read("a secret key of the tests")
SUBSCRIPTIONS = 60
FAR = 2**43  # milliseconds since the epoch


async def test_each_due_subscription_is_taken_once():
    with postgres_server() as server:
        databases = [Database.open(server.url) for _ in range(2)]
        await databases[0].migrate()
        await expired_rows.fill_owners(databases[0])
        stores = [
            SubscriptionStore(each, KEYRING, FeedStateStore(each, KEYRING), 60)
            for each in databases
        ]
        async with databases[0].reading() as session:
            token_id = (await session.exec(select(AccessToken.id))).first()
        for number in range(SUBSCRIPTIONS):
            await subscribe(databases[0], token_id, "email", owner=str(number), due_at=0)

        taken = []
        for _ in range(10):
            for rows in await asyncio.gather(*(store.take(5) for store in stores)):
                taken += [row.id for row in rows]
        for database in databases:
            await database.close()

    assert len(taken) == len(set(taken)) == SUBSCRIPTIONS


async def test_those_that_follow_a_calendar_are_due_when_it_changes():
    with postgres_server() as server:
        database = Database.open(server.url)
        await database.migrate()
        await expired_rows.fill_owners(database)
        async with database.writing() as session:
            token_id = (await session.exec(select(AccessToken.id))).first()
            connection = (await session.exec(select(ConnectionRow.id))).first()
            session.add(TokenResource(token_id=token_id, resource_id=1))
        calendars = WakeStore(database, {("calendar", "PROVIDER_A")})
        mail = WakeStore(database, {("email", "PROVIDER_A"), ("calendar", "PROVIDER_B")})

        async def followed():
            return await calendars.followed(), await mail.followed()

        await subscribe(database, token_id, "email,tasks", owner="mail")
        assert await followed() == (set(), set())
        await subscribe(database, token_id, "calendar", owner="calendar")
        assert await followed() == ({connection}, set())
        await calendars.note(connection)
        async with database.reading() as session:
            rows = (await session.exec(select(FeedSubscription))).all()
        assert {row.surfaces for row in rows if row.due_at < FAR} == {"calendar"}
        await database.close()


async def subscribe(database, token_id, surfaces, *, owner, due_at=FAR):
    async with database.writing() as session:
        url = f"https://hooks-{owner}.example/"
        target, _ = await targets.create(session, KEYRING, Owner("feed", owner), url)
        row = FeedSubscription(
            id=target.id,
            token_id=token_id,
            position="p",
            start="s",
            is_pulled=False,
            due_at=due_at,
            failures=0,
            surfaces=surfaces,
        )
        session.add(row)
