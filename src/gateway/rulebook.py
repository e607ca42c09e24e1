"""
Allow rules for what tokens make, kept so that no failure in between loses one. Decisions 4.

An intent is a row: written before anything is made upstream, and replaced by the rule in one
transaction. When that transaction fails, this process tries it again until it succeeds. An intent
that a crash left behind stays in its table and says where something was made, and by whom.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import delete, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway import moments
from gateway.database import Database, StorageUnavailable
from gateway.overload import Overloaded
from gateway.tables import AccessToken, CollabRule, RuleIntent
from policy.refusals import Conflict
from policy.vocabulary import Code, RuleAction, RuleType

log = logging.getLogger("gateway")

MAX_RULES = 100_000  # per token; decisions 4
DESCRIPTION = "created by this token"  # decisions 4
PATIENCE = 5.0  # seconds between two tries to store what could not be stored


class Rulebook:
    """`graph.context.Rulebook` over the database. One per process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unstored: dict[int, str] = {}

    async def intend(self, token_id: int, rule_type: RuleType, place: str) -> int:
        """
        Write down that something is about to be made.

        Raises:
            Conflict: `RULE_LIMIT`, the token has as many rules as it may have.
            Overloaded: The database did not answer, so nothing may be made.
        """
        try:
            async with self._database.writing() as session:
                held = await session.exec(
                    select(func.count()).where(col(CollabRule.token_id) == token_id)
                )
                if held.one() >= MAX_RULES:
                    raise Conflict(f"A token has at most {MAX_RULES} rules.", code=Code.RULE_LIMIT)
                row = RuleIntent(
                    token_id=token_id,
                    rule_type=rule_type.value,
                    place=place,
                    created_at=moments.now_ms(),
                )
                session.add(row)
                await session.flush()
                return row.id or 0
        except StorageUnavailable as failure:
            raise Overloaded from failure

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
        with contextlib.suppress(StorageUnavailable):  # then it stays, and says less than it might
            async with self._database.writing() as session:
                await session.exec(delete(RuleIntent).where(col(RuleIntent.id) == intent))

    async def retry(self) -> None:
        """Store the rules that could not be stored before."""
        for intent, pattern in list(self._unstored.items()):
            await self._store(intent, pattern)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Retry what could not be stored, meanwhile; once more at the end."""
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
            with contextlib.suppress(StorageUnavailable):
                await self.retry()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(PATIENCE)
            try:
                await self.retry()
            except StorageUnavailable:
                log.warning("the rule of something made could not be stored yet")

    async def _store(self, intent: int, pattern: str) -> None:
        """Add the rule unless it is there, and take the intent away; all or nothing."""
        async with self._database.writing() as session:
            row = await session.get(RuleIntent, intent)
            if row is not None:
                await _add(session, row, pattern)
                await session.delete(row)
        self._unstored.pop(intent, None)


async def _add(session: AsyncSession, intent: RuleIntent, pattern: str) -> None:
    rule = CollabRule(
        token_id=intent.token_id,
        rule_type=intent.rule_type,
        pattern=pattern,
        action=RuleAction.ALLOW.value,
        description=DESCRIPTION,
        source="auto",
        created_at=moments.now_ms(),
        updated_at=moments.now_ms(),
    )
    same = await session.exec(
        select(CollabRule.id).where(
            col(CollabRule.token_id) == rule.token_id,
            col(CollabRule.rule_type) == rule.rule_type,
            col(CollabRule.pattern) == rule.pattern,
            col(CollabRule.action) == rule.action,
        )
    )
    if same.first() is not None:
        return
    session.add(rule)
    await session.exec(
        update(AccessToken)
        .where(col(AccessToken.id) == rule.token_id)
        .values(policy_rev=AccessToken.policy_rev + 1)
    )
