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
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sqlalchemy import delete, update
from sqlmodel import col, select

from gateway.rule_intents.log import has_allow_rule, replace_with_rule, seal_context
from gateway.secrets.keyring import Keyring
from gateway.store.background import repeat, running_tasks
from gateway.store.database import Database
from gateway.store.tables import AccessToken, ConnectionRow, RuleIntent, TokenResource
from gateway.store.timestamps import ClockMs, from_ms, now_ms
from policy.grants import Grant
from policy.vocabulary import Surface
from providers.content import fingerprints
from providers.content.fingerprints import TimeWindow
from providers.content.merged_content import MergedContent
from providers.failures import ProviderFailure, Unreachable
from providers.records.collab import File, Row

log = logging.getLogger("gateway")

CHECK_SECONDS = 15.0  # between two checks for expired intents
_BATCH = 20  # intents of one check
_EMPTY_LOOKS = 2  # searches without a match, after which the resource counts as not created
# From one search to the next; the last search comes after about a day.
LOOK_PAUSES_MS = tuple(60_000 * minutes for minutes in (1, 1, 5, 30, 60, 240, 480, 600))


class Accounts(Protocol):
    """The part of `gateway.connections.accounts.Accounts` that recovery needs."""

    def content_of_connections(self, rows: Sequence[ConnectionRow]) -> MergedContent:
        """Return the merged collaboration content of *rows*."""


class RuleIntentRecovery:
    """Resolves intents whose lease has expired. One per process."""

    def __init__(
        self, database: Database, keyring: Keyring, accounts: Accounts, *, clock: ClockMs = now_ms
    ) -> None:
        self._database = database
        self._keyring = keyring
        self._accounts = accounts
        self._clock = clock

    def running(self) -> AbstractAsyncContextManager[None]:
        """Recover expired intents now and periodically."""
        return running_tasks(
            repeat(
                self.recover,
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
        resolved = 0
        async with self._database.reading() as session:
            due = col(RuleIntent.look_at) <= self._clock()
            rows = await session.exec(select(RuleIntent).where(due).limit(_BATCH))
            intents = rows.all()
        for intent in intents:
            if await self._claim(intent):
                resolved += await self._search(intent)
        return resolved

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
                .values(look_at=self._clock() + pause, looks=RuleIntent.looks + 1)
            )
        return bool(result.rowcount)

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
                await replace_with_rule(session, row, patterns[0])
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
            return [text for text in patterns if not await has_allow_rule(session, intent, text)]

    async def _content(self, token_id: int) -> tuple[MergedContent, bool]:
        """Return the content of the token's active connections, and whether all are active."""
        async with self._database.reading() as session:
            token = await session.get(AccessToken, token_id)
            result = await session.exec(
                select(ConnectionRow)
                .join(
                    TokenResource, col(TokenResource.resource_id) == col(ConnectionRow.resource_id)
                )
                .where(
                    col(TokenResource.token_id) == token_id,
                    col(ConnectionRow.kind) == Surface.COLLAB.value,
                )
            )
            rows = result.all()
        allowed_ids = None if token is None else Grant.read(token.settings).connection_ids
        usable = [row for row in rows if allowed_ids is None or row.id in allowed_ids]
        active = [row for row in usable if row.status == "active"]
        return self._accounts.content_of_connections(active), bool(active) and len(active) == len(
            usable
        )

    async def _delete(self, intent: RuleIntent, reason: str | None = None) -> bool:
        """Delete an intent, and log *reason* if its rule may be missing; return True."""
        if reason is not None:
            log.warning("an allow rule is given up: %s", reason)
        async with self._database.writing() as session:
            await session.exec(delete(RuleIntent).where(col(RuleIntent.id) == intent.id))
        return True


def pattern(resource: File | Row) -> str:
    """Return the pattern of the rule for *resource*."""
    if isinstance(resource, File):
        return f"{resource.drive}:{resource.item}"
    return f"{resource.list}:{resource.number}"
