"""
Recovery of abandoned rule intents (docs/spec/rules.md#after-a-crash).

When a process dies between creating a resource and storing its rule, or never gets the response of
the call, the intent stays and its lease expires. The process that claims it then searches upstream,
with the connections of its token, for resources that match its fingerprint
(`providers.content.fingerprints`). Exactly one match: it gets its allow rule. No match in two
searches: the intent is deleted. Several matches, or no answer from upstream for about a day: no
rule is stored, and the log says so. A claim is one compare-and-set statement, so that one process
searches at a time. See ADR 0012.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sqlalchemy import and_, delete, or_, update
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from gateway.rule_intents.log import LEASE_MS, add_allow_rule, has_allow_rule, seal_context
from gateway.secrets.keyring import Keyring
from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.tables import AccessToken, RuleIntent
from gateway.store.timestamps import from_ms
from policy.grants import Grant
from policy.vocabulary import Surface
from providers.content import fingerprints
from providers.content.fingerprints import TimeWindow
from providers.content.merged_content import MergedContent
from providers.failures import ProviderFailure, Unreachable
from providers.ports.connection import ConnectionInfo
from providers.records.collab import File, ListItem

log = logging.getLogger("gateway")

CHECK_SECONDS = 15.0  # between two checks for expired intents
_BATCH = 20  # intents of one check
_CONCURRENT_SEARCHES = 4  # a hanging upstream must not delay the searches of all other intents
_EMPTY_LOOKS = 2  # searches without a match, after which the resource counts as not created
# From one search to the next; the last search comes after about a day.
LOOK_PAUSES_MS = tuple(60_000 * minutes for minutes in (1, 1, 5, 30, 60, 240, 480, 600))


class Accounts(Protocol):
    """The part of `gateway.connections.accounts.Accounts` that recovery needs."""

    def content_of_connections(self, connections: Sequence[ConnectionInfo]) -> MergedContent:
        """Return the merged collaboration content of *connections*."""


class RuleIntentRecovery:
    """Resolves intents whose lease has expired. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        accounts: Accounts,
        connections_of: Callable[[int], Awaitable[Sequence[ConnectionInfo]]],
        *,
        clock: StatementClock | None = None,
    ) -> None:
        """
        Keep what a search needs.

        *connections_of* returns the connections that a token reaches, by the token's id. *clock* is
        the database's; tests have their own.
        """
        self._database = database
        self._keyring = keyring
        self._accounts = accounts
        self._connections_of = connections_of
        self._now = clock or database.clock.now

    def running(self) -> AbstractAsyncContextManager[None]:
        """Recover expired intents now and periodically."""
        return running_tasks(
            PeriodicTask(
                name="rule_recovery",
                work=self.recover,
                pause_seconds=CHECK_SECONDS,
                failure_message="allow rules could not be looked after",
                first_pause_seconds=0,
            )
        )

    async def recover(self) -> int:
        """
        Try to resolve every due intent; return how many were resolved.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if not self._database.clock.is_trusted:
            return 0
        now, look_at = self._now(), col(RuleIntent.look_at)
        # An end that lies further ahead than any process sets it was stored by a wrong clock.
        untouched_too_long = and_(col(RuleIntent.looks) == 0, look_at > now + 2 * LEASE_MS)
        due = or_(look_at <= now, untouched_too_long, look_at > now + 2 * LOOK_PAUSES_MS[-1])
        batch = select(RuleIntent).where(due).order_by(look_at).limit(_BATCH)
        resolved, intents = 0, await self._read(batch)
        while intents:  # each that is looked at is due later, or gone
            resolved += sum(await for_each(intents, self._resolve, concurrent=_CONCURRENT_SEARCHES))
            intents = await self._read(batch) if len(intents) == _BATCH else ()
        return resolved

    async def _read(self, query: SelectOfScalar[RuleIntent]) -> Sequence[RuleIntent]:
        async with self._database.reading() as session:
            return (await session.exec(query)).all()

    async def _resolve(self, intent: RuleIntent) -> bool:
        """Search for the resource of an intent that no other intent has claimed."""
        return await self._claim(intent) and await self._search(intent)

    @retried
    async def _claim(self, intent: RuleIntent) -> bool:
        """Claim an intent for one search; False if another process or its creator was faster."""
        pause = LOOK_PAUSES_MS[min(intent.looks, len(LOOK_PAUSES_MS) - 1)]
        async with self._database.writing() as session:
            result = await session.exec(
                update(RuleIntent)
                .where(
                    col(RuleIntent.id) == intent.id,
                    col(RuleIntent.lease_until) == intent.lease_until,
                    col(RuleIntent.looks) == intent.looks,
                )
                .values(look_at=self._now() + pause, looks=RuleIntent.looks + 1)
            )
        return bool(result.rowcount)

    @retried
    async def _search(self, intent: RuleIntent) -> bool:
        """Search upstream for the resource of an intent; return whether the intent is resolved."""
        looks = intent.looks + 1
        try:
            patterns = await self._matches(intent)
        except ProviderFailure:
            if looks < len(LOOK_PAUSES_MS):
                return False
            return await self._delete(intent, "upstream does not tell what was made")
        except ValueError:  # its key left the ring, or an earlier version wrote it
            return await self._delete(intent, "its trace cannot be read")
        if not patterns:
            return await self._delete(intent) if looks >= _EMPTY_LOOKS else False
        if len(patterns) > 1:
            return await self._delete(intent, "more than one thing fits")
        async with self._database.writing() as session:
            row = await session.get(RuleIntent, intent.id)
            if row is not None:
                await session.delete(row)
                await add_allow_rule(session, row.token_id, row.rule_type, patterns[0])
        return True

    async def _matches(self, intent: RuleIntent) -> list[str]:
        """
        Return the rule patterns of the matching resources that have no rule yet.

        Raises:
            ProviderFailure: Upstream did not answer, or a connection is not active.
            ValueError: The fingerprint cannot be decrypted.
        """
        context = seal_context(intent.token_id)
        fingerprint = fingerprints.decode(self._keyring.unseal(intent.trace, context=context))
        created = TimeWindow(from_ms(intent.created_at), from_ms(intent.lease_until))
        content, all_active = await self._content(intent.token_id)
        matches = await fingerprints.find_created(content, fingerprint, created)
        patterns = [pattern(match) for match in matches]
        if not patterns and not all_active:
            raise Unreachable
        async with self._database.reading() as session:
            return [
                pattern
                for pattern in patterns
                if not await has_allow_rule(session, intent.token_id, intent.rule_type, pattern)
            ]

    async def _content(self, token_id: int) -> tuple[MergedContent, bool]:
        """Return the content of the token's active connections, and whether all are active."""
        async with self._database.reading() as session:
            token = await session.get(AccessToken, token_id)
        allowed_ids = None if token is None else Grant.read(token.settings).connection_ids
        usable = [
            connection
            for connection in await self._connections_of(token_id)
            if connection.kind == Surface.COLLAB
            and (allowed_ids is None or connection.id in allowed_ids)
        ]
        active = [connection for connection in usable if connection.status == "active"]
        return self._accounts.content_of_connections(active), bool(active) and len(active) == len(
            usable
        )

    @retried
    async def _delete(self, intent: RuleIntent, reason: str | None = None) -> bool:
        """Delete an intent, and log *reason* if its rule may be missing; return True."""
        if reason is not None:
            log.warning("an allow rule is given up: %s", reason)
        async with self._database.writing() as session:
            await session.exec(delete(RuleIntent).where(col(RuleIntent.id) == intent.id))
        return True


def pattern(resource: File | ListItem) -> str:
    """Return the pattern of the rule for *resource*."""
    if isinstance(resource, File):
        return f"{resource.drive}:{resource.item}"
    return f"{resource.list}:{resource.number}"
