"""
The stored states of feeds of changes: docs/spec/changes.md#cursors.

A state is written once and never changed. What a client may still ask for is kept: the state that
it used last, and the newest ones of the feed.
"""

import secrets

from msgspec import structs
from sqlalchemy import ColumnElement, delete, insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring, column_context
from gateway.store.cleanup import delete_in_slices
from gateway.store.clock import StatementClock, as_column
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.further_tables import FeedStateRow, FeedSubscription
from graph.changes import state
from graph.changes.state import FeedState

STATE_ID_BYTES = 12
MAX_FEEDS = 20  # of one token
KEPT_STATES = 4  # of one feed, besides the one that was used last
_DAY_MS = 24 * 60 * 60 * 1000
UNUSED_MS = 30 * _DAY_MS
_NEWEST_FIRST = col(FeedStateRow.created_at).desc(), col(FeedStateRow.id)


class FeedStateStore:
    """The states of the feeds of all tokens. One per process."""

    def __init__(
        self, database: Database, keyring: Keyring, *, clock: StatementClock | None = None
    ) -> None:
        """*clock* is the database's; tests have their own."""
        self._database = database
        self._keyring = keyring
        self._now = clock or database.clock.now

    def of(self, token_id: int) -> "TokenFeedStates":
        """Return the states of the feeds of one token."""
        return TokenFeedStates(self, token_id)

    async def load(self, token_id: int, state_id: str) -> bytes | None:
        """Return a state, and note once a day that its feed is used."""
        mine = col(FeedStateRow.id) == state_id, col(FeedStateRow.token_id) == token_id
        try:
            async with self._database.reading() as session:
                query = select(FeedStateRow, as_column(self._now())).where(*mine)
                stored = (await session.exec(query)).first()
            if stored is None:
                return None
            row, now = stored
            if row.used_at < now - _DAY_MS:
                await self._touch(row.feed)
        except StorageUnavailable as failure:
            raise Overloaded from failure
        try:
            return self._keyring.decrypt(row.content, context=_context(state_id))
        except ValueError:  # its key left the ring
            return None

    async def store(self, token_id: int, content: bytes, *, feed: str, after: str | None) -> str:
        """Store a state; see `graph.context.FeedStates.store`."""
        state_id = secrets.token_urlsafe(STATE_ID_BYTES)
        sealed = self._keyring.encrypt(content, context=_context(state_id))
        try:
            await self._insert(token_id, state_id, sealed, feed, after)
        except StorageUnavailable as failure:
            raise Overloaded from failure
        return state_id

    async def newest(self, token_id: int, state_id: str) -> str | None:
        """
        Return the newest state of the feed of a state, but for starts of wake-ups; None: not kept.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        mine = col(FeedStateRow.id) == state_id, col(FeedStateRow.token_id) == token_id
        feed = select(col(FeedStateRow.feed)).where(*mine).scalar_subquery()
        # The start of a wake-up is a copy of a later state: nobody was told what came before it.
        is_copy = select(FeedSubscription.id).where(
            col(FeedSubscription.start) == col(FeedStateRow.id)
        )
        states = select(col(FeedStateRow.id)).where(
            col(FeedStateRow.feed) == feed, ~is_copy.exists() | (col(FeedStateRow.id) == state_id)
        )
        async with self._database.reading() as session:
            return (await session.exec(states.order_by(*_NEWEST_FIRST).limit(1))).first()

    async def copy(self, token_id: int, state_id: str, *, like: str | None = None) -> str:
        """
        Store a state once more; return the id of the copy.

        It is one of a new feed, or of that of the state *like*, which is then not dropped now. A
        state that is not kept any more is copied as a feed that begins, whose rows are resyncs.
        """
        content = await self.load(token_id, state_id)
        known = await self.load(token_id, like) if like is not None else None
        original = state.decode(content) if content is not None else None
        other = state.decode(known) if known is not None else None
        feed = other.feed if other is not None else FeedState.begin().feed
        copied = structs.replace(original or FeedState.begin(), feed=feed)
        after = like if other is not None else None
        return await self.store(token_id, state.encode(copied), feed=feed, after=after)

    async def sweep(self) -> int:
        """Delete the states of feeds that are not used any more; return how many."""
        used = col(FeedStateRow.used_at)
        is_over = (used <= self._now() - UNUSED_MS) & ~_is_subscribed()
        return await delete_in_slices(self._database, FeedStateRow, is_over, by=used)

    @retried
    async def _insert(
        self, token_id: int, state_id: str, sealed: bytes, feed: str, after: str | None
    ) -> None:
        now = self._now()
        async with self._database.writing() as session:
            row = insert(FeedStateRow).values(
                id=state_id,
                token_id=token_id,
                feed=feed,
                content=sealed,
                created_at=now,
                used_at=now,
            )
            await session.exec(row)
            of_feed = col(FeedStateRow.feed) == feed
            newest = select(col(FeedStateRow.id)).where(of_feed).order_by(*_NEWEST_FIRST)
            lasting = [
                *(await session.exec(newest.limit(KEPT_STATES))).all(),
                state_id,
                after or "",
            ]
            await _delete(session, of_feed, col(FeedStateRow.id).not_in(lasting))
            if after is None:
                await _delete_oldest_feeds(session, token_id)
            else:
                is_start = (
                    col(FeedSubscription.token_id) == token_id,
                    col(FeedSubscription.start) == after,
                )
                pulled = update(FeedSubscription).where(*is_start).values(is_pulled=True)
                await session.exec(pulled)

    @retried
    async def _touch(self, feed: str) -> None:
        rows = update(FeedStateRow).where(col(FeedStateRow.feed) == feed)
        async with self._database.writing() as session:
            await session.exec(rows.values(used_at=self._now()))


class TokenFeedStates:
    """The states of one token; implements `graph.context.FeedStates`."""

    def __init__(self, store: FeedStateStore, token_id: int) -> None:
        self._store = store
        self._token_id = token_id

    async def load(self, state_id: str) -> bytes | None:
        return await self._store.load(self._token_id, state_id)

    async def store(self, content: bytes, *, feed: str, after: str | None) -> str:
        return await self._store.store(self._token_id, content, feed=feed, after=after)


async def _delete_oldest_feeds(session: AsyncSession, token_id: int) -> None:
    """Delete the feeds of a token beyond `MAX_FEEDS`: those that were used longest ago."""
    of_token = col(FeedStateRow.token_id) == token_id
    states = select(col(FeedStateRow.feed), col(FeedStateRow.used_at)).where(of_token)
    used: dict[str, int] = {}
    for feed, used_at in (await session.exec(states)).all():
        used[feed] = max(used.get(feed, 0), used_at)
    oldest = sorted(used, key=used.__getitem__, reverse=True)[MAX_FEEDS:]
    if oldest:
        await _delete(session, of_token, col(FeedStateRow.feed).in_(oldest))


async def _delete(session: AsyncSession, *conditions: ColumnElement[bool]) -> None:
    await session.exec(delete(FeedStateRow).where(*conditions, ~_is_subscribed()))


def _is_subscribed() -> ColumnElement[bool]:
    """Return whether a subscription needs a state."""
    needed = col(FeedStateRow.id).in_((col(FeedSubscription.start), col(FeedSubscription.position)))
    return select(FeedSubscription.id).where(needed).exists()


def _context(state_id: str) -> str:
    return column_context("feed_states", state_id, "content")
