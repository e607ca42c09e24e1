"""
Allow rules for what tokens make, kept so that no failure in between loses one. Decisions 4.

An intent is a row: written before anything is made upstream, and replaced by the rule in one
transaction. It is held by a lease that this process renews while it is at work; when the
transaction fails, this process tries it again until it succeeds. An intent whose lease ended,
because its process died or never heard what became of the call, is for `rule_mending`.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy import delete, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store.background import running_tasks
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import AccessToken, CollabRule, RuleIntent
from gateway.store.timestamps import now_ms
from policy.refusals import Conflict
from policy.vocabulary import Code, RuleAction, RuleType
from providers.content import fingerprints
from providers.content.fingerprints import Fingerprint

log = logging.getLogger("gateway")

MAX_RULES = 100_000  # per token; decisions 4
DESCRIPTION = "created by this token"  # decisions 4
LEASE = 35_000  # milliseconds: a call to a provider may last 30 seconds, and 5 for clocks; ADR 0008
RENEWAL = 5.0  # seconds between signs of life, and between tries to store what could not be stored


class RuleIntentLog:
    """`graph.context.RuleIntents` over the database. One per process."""

    def __init__(
        self, database: Database, keyring: Keyring, *, clock: Callable[[], int] = now_ms
    ) -> None:
        """*clock* gives milliseconds since the epoch."""
        self._database = database
        self._keyring = keyring
        self._clock = clock
        self._running: set[int] = set()
        self._unstored: dict[int, str] = {}

    async def intend(self, token_id: int, rule_type: RuleType, trace: Fingerprint) -> int:
        """
        Write down that something is about to be made.

        Raises:
            Conflict: `RULE_LIMIT`, the token has as many rules as it may have.
            Overloaded: The database did not answer, so nothing may be made.
        """
        now = self._clock()
        row = RuleIntent(
            token_id=token_id,
            rule_type=rule_type.value,
            place=trace.place,
            created_at=now,
            trace=self._keyring.seal(fingerprints.encode(trace), context=sealed_for(token_id)),
            lease_until=now + LEASE,
            look_at=now + LEASE,
        )
        try:
            async with self._database.writing() as session:
                held = await session.exec(
                    select(func.count()).where(col(CollabRule.token_id) == token_id)
                )
                if held.one() >= MAX_RULES:
                    raise Conflict(f"A token has at most {MAX_RULES} rules.", code=Code.RULE_LIMIT)
                session.add(row)
                await session.flush()
                intent = row.id or 0
        except StorageUnavailable as failure:
            raise Overloaded from failure
        self._running.add(intent)
        return intent

    async def allow(self, intent: int, pattern: str) -> None:
        """
        Replace an intent by its rule.

        Raises:
            StorageUnavailable: Not now; it will be tried again.
        """
        self._unstored[intent] = pattern
        await self._store(intent, pattern)

    async def drop(self, intent: int) -> None:
        """Forget an intent: surely nothing was made."""
        self._running.discard(intent)
        with contextlib.suppress(StorageUnavailable):  # then looking for it finds nothing
            async with self._database.writing() as session:
                await session.exec(delete(RuleIntent).where(col(RuleIntent.id) == intent))

    def abandon(self, intent: int) -> None:
        """Hold an intent no longer: nobody knows what became of it, so it will be looked for."""
        self._running.discard(intent)

    async def renew(self) -> None:
        """Give every intent of this process a fresh lease, and store what could not be stored."""
        if self._running:
            until = self._clock() + LEASE
            async with self._database.writing() as session:
                await session.exec(
                    update(RuleIntent)
                    .where(col(RuleIntent.id).in_(list(self._running)))
                    .values(lease_until=until, look_at=until)
                )
        await self.retry()

    async def retry(self) -> None:
        """Store the rules that could not be stored before."""
        for intent, pattern in list(self._unstored.items()):
            await self._store(intent, pattern)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Renew and retry, meanwhile; retry once more at the end."""
        try:
            async with running_tasks(self._watch()):
                yield
        finally:
            with contextlib.suppress(StorageUnavailable):
                await self.retry()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL)
            try:
                await self.renew()
            except StorageUnavailable:
                log.warning("the rule of something made could not be stored yet")

    async def _store(self, intent: int, pattern: str) -> None:
        """Add the rule unless it is there, and take the intent away; all or nothing."""
        async with self._database.writing() as session:
            row = await session.get(RuleIntent, intent)
            if row is not None:
                await replace_with_rule(session, row, pattern)
        self._unstored.pop(intent, None)
        self._running.discard(intent)


def sealed_for(token_id: int) -> bytes:
    """Return what a trace is sealed for."""
    return f"rule_intents:{token_id}".encode()


async def replace_with_rule(session: AsyncSession, intent: RuleIntent, pattern: str) -> None:
    """Replace an intent by its rule, unless that is there already."""
    await session.delete(intent)
    if await has_allow_rule(session, intent, pattern):
        return
    session.add(
        CollabRule(
            token_id=intent.token_id,
            rule_type=intent.rule_type,
            pattern=pattern,
            action=RuleAction.ALLOW.value,
            description=DESCRIPTION,
            source="auto",
            created_at=now_ms(),
            updated_at=now_ms(),
        )
    )
    await session.exec(
        update(AccessToken)
        .where(col(AccessToken.id) == intent.token_id)
        .values(policy_rev=AccessToken.policy_rev + 1)
    )


async def has_allow_rule(session: AsyncSession, intent: RuleIntent, pattern: str) -> bool:
    """Say whether the token of an intent has this very rule."""
    same = await session.exec(
        select(CollabRule.id).where(
            col(CollabRule.token_id) == intent.token_id,
            col(CollabRule.rule_type) == intent.rule_type,
            col(CollabRule.pattern) == pattern,
            col(CollabRule.action) == RuleAction.ALLOW.value,
        )
    )
    return same.first() is not None
