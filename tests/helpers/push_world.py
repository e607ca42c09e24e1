"""What tests of notifications see and do: calls, registrations, new mail."""

import asyncio
import inspect
from datetime import UTC, datetime

from sqlmodel import select
from world import mail

from gateway.store.further_tables import ConnectionWake, PushRegistration

NEW = {"provider-a": "me@provider-a.example", "provider-b": "me@provider-b.example"}


async def until(is_met, seconds=10):
    async with asyncio.timeout(seconds):
        while True:
            result = is_met()
            if inspect.isawaitable(result):
                result = await result
            if result:
                return result
            await asyncio.sleep(0.02)


def deliver(pushed, subject, mailbox="provider-a"):
    """Put a mail into a mailbox."""
    now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    new = mail(subject, "bo@work.example", NEW[mailbox], subject, "Text", at=now)
    return pushed.sandbox.state.mails.add_many(mailbox, [new])[0]


def calls(pushed, *paths, upstream="providerA"):
    """The calls whose path ends with one of *paths*, oldest first, as method and end."""
    return [
        f"{call['method']} {call['path'].rsplit('/', 1)[-1]}"
        for call in pushed.sandbox.upstreams[upstream].calls
        if call["path"].endswith(paths)
    ]


async def rows(pushed, table=PushRegistration):
    """The rows of a table, by connection."""
    async with pushed.services.database.reading() as session:
        return {row.connection_id: row for row in (await session.exec(select(table))).all()}


async def woken(pushed):
    """When each connection was woken last."""
    return {of: row.woken_at for of, row in (await rows(pushed, ConnectionWake)).items()}


async def change(pushed, connection, **values):
    """Change the row of a registration."""
    await pushed.services.registrations._change(connection, **values)
