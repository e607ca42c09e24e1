"""
Wake-ups that are due: each is taken by one process, for the length of a lease.

A wake-up that replaces another one during its call keeps the lease: when the call has ended, the
newer one goes out. So nothing is lost, and a target has one call at a time.
"""

import random
import secrets
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, delete, func, or_, tuple_, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.further_tables import WebhookDelivery, WebhookTarget
from gateway.webhooks.targets import ACTIVE, DEAD

LEASE_MS = 30_000  # three times as long as a call may take
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
# After each failed attempt; the last one after all further ones. A tenth more or less, so that
# many targets of one receiver are not called at the same moment.
PAUSES_MS = (5_000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS)
GIVE_UP_MS = 72 * HOUR_MS  # after the first of the failures in a row
MIN_FAILURES = 10  # in a row: a target that is seldom called is not dead for one more failure
MAX_TAKEN = 100  # rows in a transaction


class Delivery(NamedTuple):
    """A wake-up that this process has the lease of."""

    target: WebhookTarget
    topic: str
    webhook_id: str
    body: bytes
    lease: str


class Deliveries:
    """The wake-ups that wait, in the database. One per process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._now = database.clock.now

    async def has_targets(self) -> bool:
        """Return whether there is anybody to call."""
        async with self._database.reading() as session:
            return (await session.exec(select(WebhookTarget.id).limit(1))).first() is not None

    async def take(self, limit: int) -> list[Delivery]:
        """
        Take the lease of at most *limit* wake-ups, one of a target; drop those that are pointless.

        Nothing is written while nothing is due, which would end what is cached of other rows.
        """
        if not self._database.clock.is_trusted:
            return []
        async with self._database.reading() as session:
            due = select(WebhookDelivery.topic).join(WebhookTarget).where(*self._is_due()).limit(1)
            if (await session.exec(due)).first() is None:
                return []
        return await self._take(limit)

    @retried
    async def _take(self, limit: int) -> list[Delivery]:
        row, lease, now = WebhookDelivery, secrets.token_urlsafe(12), self._now()
        taken: dict[str, Delivery] = {}
        is_late = func.coalesce(col(row.expires_at) <= now, False)
        async with self._database.writing() as session:
            due = (
                select(row, WebhookTarget, is_late)
                .join(WebhookTarget)
                .where(*self._is_due())
                .order_by(col(row.next_at))
                .limit(MAX_TAKEN)
                .with_for_update(of=row, skip_locked=True)
            )
            late = []
            for delivery, target, late_now in await session.exec(due):
                key = (delivery.target_id, delivery.topic)
                if late_now:
                    late.append(key)
                elif target.id not in taken and len(taken) < limit:
                    body = delivery.body.encode()
                    taken[target.id] = Delivery(
                        target, delivery.topic, delivery.webhook_id, body, lease
                    )
            keys = tuple_(col(row.target_id), col(row.topic))
            await session.exec(delete(row).where(keys.in_(late)))
            mine = [(target_id, delivery.topic) for target_id, delivery in taken.items()]
            leased = {"lease": lease, "lease_until": now + LEASE_MS}
            await session.exec(update(row).where(keys.in_(mine)).values(leased))
        return [*taken.values()]

    def _is_due(self) -> tuple[ColumnElement[bool], ...]:
        row, other, now = WebhookDelivery, aliased(WebhookDelivery), self._now()
        under_way = select(other.topic).where(
            col(other.target_id) == col(row.target_id), col(other.lease_until) > now
        )
        return (col(WebhookTarget.state) == ACTIVE, col(row.next_at) <= now, ~under_way.exists())

    @retried
    async def delivered(self, delivery: Delivery) -> None:
        """End a wake-up that went out, and let the others of its target, which works, follow."""
        row, target = WebhookDelivery, WebhookTarget
        async with self._database.writing() as session:
            if not await self._has_lease(session, delivery):
                return
            is_sent = (*_is(delivery), col(row.webhook_id) == delivery.webhook_id)
            await session.exec(delete(row).where(*is_sent))
            others = update(row).where(col(row.target_id) == delivery.target.id)
            waits = (col(row.attempts) > 0) & (col(row.lease_until) <= self._now())
            is_delayed = or_(waits, col(row.lease) == delivery.lease)
            again = {"attempts": 0, "next_at": self._now(), "lease_until": 0}
            await session.exec(others.where(is_delayed).values(again))
            failed = update(target).where(
                col(target.id) == delivery.target.id, col(target.failures) > 0
            )
            works = {"failures": 0, "first_failed_at": None, "last_error": None}
            await session.exec(failed.values(works))

    @retried
    async def failed(self, delivery: Delivery, error: str, *, gone: bool) -> bool:
        """
        Note that a call failed; return whether the target is dead by it.

        *error* is a word of at most 32 characters; *gone*: the receiver wants no more calls.
        """
        row, target, now = WebhookDelivery, WebhookTarget, self._now()
        async with self._database.writing() as session:
            if not await self._has_lease(session, delivery):
                return False
            first = func.coalesce(col(target.first_failed_at), now)
            is_over = (first <= now - GIVE_UP_MS) & (col(target.failures) >= MIN_FAILURES - 1)
            dies = [(is_over, DEAD)] if not gone else [(col(target.id).is_not(None), DEAD)]
            values = {
                "first_failed_at": first,
                "failures": col(target.failures) + 1,
                "last_error": error,
                "state": case(*dies, else_=col(target.state)),
            }
            changed = update(target).where(col(target.id) == delivery.target.id).values(values)
            states = await session.exec(changed.returning(col(target.state)))
            if states.scalars().one() == DEAD:
                await session.exec(delete(row).where(col(row.target_id) == delivery.target.id))
                return True
            later = now + self._pause()
            until = func.coalesce(col(row.expires_at), later)
            again = {
                "attempts": col(row.attempts) + 1,
                "next_at": case((until < later, until), else_=later),
                "lease_until": 0,
            }
            await session.exec(update(row).where(*_is(delivery)).values(again))
        return False

    def _pause(self) -> ColumnElement[int]:
        """Return the milliseconds until the next attempt, by how many failed before this one."""
        jitter = random.uniform(0.9, 1.1)  # noqa: S311 - no secret
        steps = {number: round(pause * jitter) for number, pause in enumerate(PAUSES_MS)}
        return case(steps, value=col(WebhookDelivery.attempts), else_=steps[len(PAUSES_MS) - 1])

    async def _has_lease(self, session: AsyncSession, delivery: Delivery) -> bool:
        """Lock target and row, in this order; return whether the lease is still this process's."""
        target = select(WebhookTarget.id).where(col(WebhookTarget.id) == delivery.target.id)
        await session.exec(target.with_for_update(key_share=True))
        query = select(WebhookDelivery.topic).where(
            *_is(delivery), col(WebhookDelivery.lease) == delivery.lease
        )
        return (await session.exec(query.with_for_update())).first() is not None


def _is(delivery: Delivery) -> tuple[ColumnElement[bool], ...]:
    return (
        col(WebhookDelivery.target_id) == delivery.target.id,
        col(WebhookDelivery.topic) == delivery.topic,
    )
