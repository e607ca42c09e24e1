"""
Intents that nobody ends: their rules are stored once what they were about is found upstream.

When a process dies between making something and storing its rule, or never hears what became of a
call, the intent stays and its lease ends. Whoever claims it then looks upstream for what fits its
trace (`providers.content.fingerprints`), with the connections of its token. Exactly one thing fits:
it gets its rule. Nothing is there, twice: the intent is dropped. Several things fit, or upstream
cannot be asked for about a day: no rule is stored, and the log says so. A claim is one statement
that compares and sets, so that of many processes one looks at a time. Decisions 4; ADR 0012.
"""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from sqlalchemy import delete, update
from sqlmodel import col, select

from gateway.rule_intents.log import has_allow_rule, replace_with_rule, sealed_for
from gateway.secrets.keyring import Keyring
from gateway.store.background import repeat, running_tasks
from gateway.store.database import Database
from gateway.store.tables import AccessToken, ConnectionRow, RuleIntent, TokenResource
from gateway.store.timestamps import from_ms, now_ms
from policy.grants import Grant
from policy.vocabulary import Surface
from providers.content import fingerprints
from providers.content.fingerprints import TimeWindow
from providers.content.merged_content import MergedContent
from providers.failures import ProviderFailure, Unreachable
from providers.records.collab import File, Row

log = logging.getLogger("gateway")

TICK = 15.0  # seconds between two rounds
AT_ONCE = 20  # intents of one round
ABSENT = 2  # looks that find nothing, until nothing was made
# Milliseconds from one look to the next; after the last one nobody looks again. A day in all.
RETRY_PAUSES_MS = (
    60_000,
    60_000,
    300_000,
    1_800_000,
    3_600_000,
    14_400_000,
    28_800_000,
    36_000_000,
)


class Accounts(Protocol):
    """What is asked of `gateway.connections.accounts`."""

    def content_of_connections(self, rows: Sequence[ConnectionRow]) -> MergedContent:
        """Return the collaboration content of these connections, as one."""


class RuleIntentRecovery:
    """Ends intents whose lease is over. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        accounts: Accounts,
        *,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """*clock* gives milliseconds since the epoch."""
        self._database = database
        self._keyring = keyring
        self._accounts = accounts
        self._clock = clock

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look now, and again and again."""
        async with running_tasks(
            repeat(
                self.recover,
                pause_seconds=TICK,
                failure_message="allow rules could not be looked after",
                first_pause_seconds=0,
            )
        ):
            yield

    async def recover(self) -> int:
        """
        Look at every intent whose lease is over; return how many of them ended.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        ended = 0
        async with self._database.reading() as session:
            due = col(RuleIntent.look_at) <= self._clock()
            found = await session.exec(select(RuleIntent).where(due).limit(AT_ONCE))
            intents = found.all()
        for intent in intents:
            if await self._claimed(intent):
                ended += await self._look(intent)
        return ended

    async def _claimed(self, intent: RuleIntent) -> bool:
        """Take an intent for one look, unless another process did, or its maker lives again."""
        pause = RETRY_PAUSES_MS[min(intent.looks, len(RETRY_PAUSES_MS) - 1)]
        async with self._database.writing() as session:
            done = await session.exec(
                update(RuleIntent)
                .where(
                    col(RuleIntent.id) == intent.id,
                    col(RuleIntent.lease_until) == intent.lease_until,
                    col(RuleIntent.looks) == intent.looks,
                )
                .values(look_at=self._clock() + pause, looks=RuleIntent.looks + 1)
            )
        return bool(done.rowcount)

    async def _look(self, intent: RuleIntent) -> bool:
        """Look upstream for what an intent was about; say whether it ended."""
        looks = intent.looks + 1
        try:
            made = await self._made(intent)
        except ProviderFailure:
            if looks < len(RETRY_PAUSES_MS):
                return False
            return await self._end(intent, "upstream does not tell what was made")
        except ValueError:  # sealed by a key that is gone, or from before there were traces
            return await self._end(intent, "its trace cannot be read")
        if not made:
            return await self._end(intent) if looks >= ABSENT else False
        if len(made) > 1:
            return await self._end(intent, "more than one thing fits")
        async with self._database.writing() as session:
            row = await session.get(RuleIntent, intent.id)
            if row is not None:
                await replace_with_rule(session, row, made[0])
        return True

    async def _made(self, intent: RuleIntent) -> list[str]:
        """
        Return the patterns of what fits the intent and has no rule yet.

        Raises:
            ProviderFailure: Upstream does not tell.
            ValueError: The trace cannot be read.
        """
        sealed = sealed_for(intent.token_id)
        trace = fingerprints.decode(self._keyring.unseal(intent.trace, context=sealed))
        span = TimeWindow(from_ms(intent.created_at), from_ms(intent.lease_until))
        content, whole = await self._content(intent.token_id)
        patterns = [pattern(one) for one in await fingerprints.find_created(content, trace, span)]
        if not patterns and not whole:
            raise Unreachable
        async with self._database.reading() as session:
            return [one for one in patterns if not await has_allow_rule(session, intent, one)]

    async def _content(self, token_id: int) -> tuple[MergedContent, bool]:
        """Open what the token's active connections see; say whether all of them are active."""
        async with self._database.reading() as session:
            token = await session.get(AccessToken, token_id)
            found = await session.exec(
                select(ConnectionRow)
                .join(
                    TokenResource,
                    col(TokenResource.resource_id) == col(ConnectionRow.resource_id),
                )
                .where(
                    col(TokenResource.token_id) == token_id,
                    col(ConnectionRow.kind) == Surface.COLLAB.value,
                )
            )
            rows = found.all()
        only = None if token is None else Grant.read(token.settings).connection_ids
        usable = [one for one in rows if only is None or one.id in only]
        active = [one for one in usable if one.status == "active"]
        return self._accounts.content_of_connections(active), bool(active) and len(active) == len(
            usable
        )

    async def _end(self, intent: RuleIntent, why: str | None = None) -> bool:
        """Forget an intent."""
        if why is not None:
            log.warning("an allow rule is given up: %s", why)
        async with self._database.writing() as session:
            await session.exec(delete(RuleIntent).where(col(RuleIntent.id) == intent.id))
        return True


def pattern(made: File | Row) -> str:
    """Return what the rule of something made names."""
    if isinstance(made, File):
        return f"{made.drive}:{made.item}"
    return f"{made.list}:{made.number}"
