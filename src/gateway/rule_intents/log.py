"""
Intent log of the allow rules for created resources (docs/spec/rules.md#rules-made-by-the-gateway).

An intent is a row that is written before the resource is created upstream, and that one transaction
replaces by the rule. The process renews its lease until then, and repeats a failed transaction
until it succeeds. An intent whose lease has expired, because its process died or never got the
response of the call, is left to `recovery`.
"""

import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import delete, func, insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import AccessToken, CollabRule, RuleIntent
from gateway.store.timestamps import now_ms
from policy.refusals import Conflict
from policy.vocabulary import Code, RuleAction, RuleType
from providers.content import fingerprints
from providers.content.fingerprints import Fingerprint

log = logging.getLogger("gateway")

MAX_RULES = 100_000  # per token; docs/spec/rules.md#limits-of-automatic-rules
DESCRIPTION = "created by this token"
LEASE_MS = 35_000  # 30 seconds that a call may last, and 5 to spare; ADR 0008
RENEWAL_SECONDS = 5.0  # between renewals of leases, and between attempts to store pending rules


class RuleIntentLog:
    """`graph.context.RuleIntents` over the database. One per process."""

    def __init__(
        self, database: Database, keyring: Keyring, *, clock: StatementClock | None = None
    ) -> None:
        """*clock* is the database's; tests have their own."""
        self._database = database
        self._keyring = keyring
        self._now = clock or database.clock.now
        self._running: dict[int, tuple[int, str]] = {}  # intent -> token, rule type
        self._pending_rules: dict[int, str] = {}

    async def require_room(self, token_id: int) -> None:
        """Raise what `intend` would raise; store nothing."""
        try:
            async with self._database.reading() as session:
                await _require_room(session, token_id)
        except StorageUnavailable as failure:
            raise Overloaded from failure

    @retried
    async def intend(self, token_id: int, rule_type: RuleType, fingerprint: Fingerprint) -> int:
        """
        Store that a resource is about to be created; return the id of the intent.

        Raises:
            Conflict: `RULE_LIMIT`: the token has the maximum number of rules.
            Overloaded: The database did not answer, so nothing may be created.
        """
        now = self._now()
        row = insert(RuleIntent).values(
            token_id=token_id,
            rule_type=rule_type.value,
            place=fingerprint.parent,
            created_at=now,
            trace=self._keyring.seal(
                fingerprints.encode(fingerprint), context=seal_context(token_id)
            ),
            lease_until=now + LEASE_MS,
            look_at=now + LEASE_MS,
            looks=0,
        )
        try:
            async with self._database.writing() as session:
                await _require_room(session, token_id)
                intent_id = await session.scalar(row.returning(col(RuleIntent.id))) or 0
        except StorageUnavailable as failure:
            raise Overloaded from failure
        self._running[intent_id] = (token_id, rule_type.value)
        return intent_id

    async def allow(self, intent_id: int, pattern: str) -> None:
        """
        Replace an intent by its rule.

        Raises:
            StorageUnavailable: The database did not answer; `renew` tries again.
        """
        self._pending_rules[intent_id] = pattern
        await self._store(intent_id, pattern)

    async def drop(self, intent_id: int) -> None:
        """Delete an intent whose resource was certainly not created."""
        self._running.pop(intent_id, None)
        with contextlib.suppress(StorageUnavailable):  # recovery will find nothing and delete it
            await self._delete(intent_id)

    def abandon(self, intent_id: int) -> None:
        """Leave an intent with unknown outcome to recovery, which looks for the resource."""
        self._running.pop(intent_id, None)

    async def renew(self) -> None:
        """Extend the lease of every intent of this process, and store the pending rules."""
        if self._running:
            await self._extend_leases()
        await self.store_pending()

    async def store_pending(self) -> None:
        """Store the rules that could not be stored at first; one that fails delays no other."""
        await for_each(list(self._pending_rules.items()), lambda pending: self._store(*pending))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Renew leases periodically, and store pending rules once more at the end."""
        try:
            async with running_tasks(
                PeriodicTask(
                    name="rule_intents",
                    work=self.renew,
                    pause_seconds=RENEWAL_SECONDS,
                    failure_message="the rule of something made could not be stored yet",
                )
            ):
                yield
        finally:
            with contextlib.suppress(StorageUnavailable):
                await self.store_pending()

    @retried
    async def _extend_leases(self) -> None:
        until = self._now() + LEASE_MS
        await self._database.execute(
            update(RuleIntent)
            .where(col(RuleIntent.id).in_(list(self._running)))
            .values(lease_until=until, look_at=until)
        )

    @retried
    async def _delete(self, intent_id: int) -> None:
        await self._database.execute(delete(RuleIntent).where(col(RuleIntent.id) == intent_id))

    @retried
    async def _store(self, intent_id: int, pattern: str) -> None:
        """
        Insert the rule unless it exists, and delete the intent; all or nothing.

        The rule is stored also when the intent is gone: recovery may have searched in vain while
        the resource was still being created, and this process knows that it exists.
        """
        token_id, rule_type = self._running[intent_id]
        async with self._database.writing() as session:
            await session.exec(delete(RuleIntent).where(col(RuleIntent.id) == intent_id))
            await add_allow_rule(session, token_id, rule_type, pattern)
        self._pending_rules.pop(intent_id, None)
        self._running.pop(intent_id, None)


async def _require_room(session: AsyncSession, token_id: int) -> None:
    count = await session.exec(select(func.count()).where(col(CollabRule.token_id) == token_id))
    if count.one() >= MAX_RULES:
        raise Conflict(f"A token has at most {MAX_RULES} rules.", code=Code.RULE_LIMIT)


def seal_context(token_id: int) -> bytes:
    """Return the keyring context of a sealed fingerprint."""
    return f"rule_intents:{token_id}".encode()


async def add_allow_rule(
    session: AsyncSession, token_id: int, rule_type: str, pattern: str
) -> None:
    """Insert an allow rule for a token and its ancestors, whose rules must allow it too."""
    owner: int | None = token_id
    while owner is not None:
        await _add_own_rule(session, owner, rule_type, pattern)
        parent = select(AccessToken.parent_id).where(col(AccessToken.id) == owner)
        owner = (await session.exec(parent)).first()


async def _add_own_rule(session: AsyncSession, token_id: int, rule_type: str, pattern: str) -> None:
    """Insert an allow rule, unless the token has it already or does not exist any more."""
    if await has_allow_rule(session, token_id, rule_type, pattern):
        return
    raised = await session.exec(
        update(AccessToken)
        .where(col(AccessToken.id) == token_id)
        .values(policy_rev=AccessToken.policy_rev + 1, added_rules=AccessToken.added_rules + 1)
    )
    if raised.rowcount:
        session.add(
            CollabRule(
                token_id=token_id,
                rule_type=rule_type,
                pattern=pattern,
                action=RuleAction.ALLOW.value,
                description=DESCRIPTION,
                source="auto",
                created_at=now_ms(),
                updated_at=now_ms(),
            )
        )


async def has_allow_rule(
    session: AsyncSession, token_id: int, rule_type: str, pattern: str
) -> bool:
    """Return whether a token has an allow rule."""
    rows = await session.exec(
        select(CollabRule.id).where(
            col(CollabRule.token_id) == token_id,
            col(CollabRule.rule_type) == rule_type,
            col(CollabRule.pattern) == pattern,
            col(CollabRule.action) == RuleAction.ALLOW.value,
        )
    )
    return rows.first() is not None
