"""
Subscriptions to feeds of changes, in the database (docs/spec/changes.md#subscriptions).

The gateway looks from `position` on, in a feed of its own. A call names `start`, which stays the
same until the holder goes on from it: so what a lost call told is told by the next one.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import ColumnElement, delete, func, insert, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.errors import Overloaded
from gateway.feeds.states import FeedStateStore
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.clock import as_column
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.further_tables import FeedSubscription, WebhookTarget
from gateway.store.tables import AccessToken
from gateway.webhooks import targets
from gateway.webhooks.targets import Owner
from graph.changes import state
from graph.changes.subscription_port import (
    ChangeSubscription,
    CreatedChangeSubscription,
    RotatedChangeSubscription,
    SubscriptionState,
)
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code

P = ParamSpec("P")
T = TypeVar("T")

KIND = "subscription"  # of owners of targets
TOPIC = "changes"
MAX_SUBSCRIPTIONS = 5  # of one token
LEASE_MS = 120_000  # longer than a look takes
MAX_PAUSE_MS = 60 * 60 * 1000  # after looks that failed


class SubscriptionStore:
    """The subscriptions of all tokens. One per process."""

    def __init__(
        self, database: Database, keyring: Keyring, states: FeedStateStore, poll_seconds: int
    ) -> None:
        self.database, self.keyring, self.states = database, keyring, states
        self.poll_ms = poll_seconds * 1000
        self.now = database.clock.now

    def of(self, token_id: int) -> "TokenSubscriptions":
        """Return the subscriptions of one token."""
        return TokenSubscriptions(self, token_id)

    async def has_any(self) -> bool:
        """Return whether there is anything to look for."""
        async with self.database.reading() as session:
            return (await session.exec(select(FeedSubscription.id).limit(1))).first() is not None

    async def take(self, limit: int) -> list[FeedSubscription]:
        """Take at most *limit* subscriptions that are due, for `LEASE_MS`."""
        if limit <= 0 or not self.database.clock.is_trusted:
            return []
        async with self.database.reading() as session:
            due = select(FeedSubscription.id).join(WebhookTarget).where(*self._is_due()).limit(1)
            if (await session.exec(due)).first() is None:
                return []  # a write would end what is cached of other rows
        return await self._take(limit)

    @retried
    async def _take(self, limit: int) -> list[FeedSubscription]:
        row = FeedSubscription
        async with self.database.writing() as session:
            due = select(row).join(WebhookTarget).where(*self._is_due()).order_by(col(row.due_at))
            locked = due.limit(limit).with_for_update(of=row, skip_locked=True)
            taken = list((await session.exec(locked)).all())
            until = self.now() + LEASE_MS
            mine = update(row).where(col(row.id).in_([each.id for each in taken]))
            await session.exec(mine.values(due_at=until))
        return taken

    def _is_due(self) -> tuple[ColumnElement[bool], ...]:
        is_alive = col(WebhookTarget.state) == targets.ACTIVE
        return is_alive, col(FeedSubscription.due_at) <= self.now()

    async def lateness(self, session: AsyncSession) -> float:
        """Return for how many seconds the one that waits longest has been due."""
        late = as_column(self.now()) - func.min(col(FeedSubscription.due_at))
        query = select(late).select_from(FeedSubscription).join(WebhookTarget)
        longest = (await session.exec(query.where(*self._is_due()))).first()
        return (longest or 0) / 1000

    async def looked(
        self, row: FeedSubscription, cursor: str, *, has_rows: bool, failed: bool
    ) -> None:
        """
        Note a look up to *cursor*, and have the target called if it *has_rows*.

        *failed*: no connection could be read, so that the next look comes later.
        """
        position = state.state_of(cursor, self.keyring, row.token_id)
        start = row.start
        if has_rows and await self._is_pulled(row):
            start = await self.states.copy(row.token_id, row.position, like=row.start)
        await self._advance(row, position, start, has_rows=has_rows, failed=failed)

    async def _is_pulled(self, row: FeedSubscription) -> bool:
        async with self.database.reading() as session:
            pulled = select(FeedSubscription.is_pulled).where(col(FeedSubscription.id) == row.id)
            return (await session.exec(pulled)).first() is True

    @retried
    async def _advance(
        self, row: FeedSubscription, position: str, start: str, *, has_rows: bool, failed: bool
    ) -> None:
        subscription, failures = FeedSubscription, row.failures + 1 if failed else 0
        values = {
            "position": position,
            "due_at": self.now() + self._pause(failures),
            "failures": failures,
        }
        if start != row.start:
            values |= {"start": start, "is_pulled": False}
        same = col(subscription.id) == row.id, col(subscription.position) == row.position
        advance = update(subscription).where(*same).values(values).returning(col(subscription.id))
        cursor = state.cursor_of(start, self.keyring, row.token_id)
        async with self.database.writing() as session:
            if not (await session.exec(advance)).all():
                return  # another process has looked
            if has_rows:
                body = {"subscription": row.id, "cursor": cursor}
                await targets.wake(self.database, session, row.id, TOPIC, body)

    @retried
    async def postpone(self, row: FeedSubscription) -> None:
        """Note that a look failed."""
        failures = row.failures + 1
        values = {"failures": failures, "due_at": self.now() + self._pause(failures)}
        same = col(FeedSubscription.id) == row.id
        async with self.database.writing() as session:
            await session.exec(update(FeedSubscription).where(same).values(values))

    def _pause(self, failures: int) -> int:
        return min(self.poll_ms << min(failures, 10), max(self.poll_ms, MAX_PAUSE_MS))

    @retried
    async def end(self, subscription_id: str) -> None:
        """Delete a subscription with its target, and the call that waits."""
        mine = col(WebhookTarget.id) == subscription_id, col(WebhookTarget.owner_kind) == KIND
        async with self.database.writing() as session:
            await session.exec(delete(WebhookTarget).where(*mine))

    async def sweep(self) -> None:
        """Delete the targets of tokens that are revoked, expired or deleted."""
        token, now = AccessToken, timestamps.now_ms()
        is_alive = (
            col(token.revoked_at).is_(None),
            or_(col(token.expires_at).is_(None), col(token.expires_at) > now),
        )
        alive = select(FeedSubscription.id).join(token).where(*is_alive)
        over = col(WebhookTarget.owner_kind) == KIND, col(WebhookTarget.id).not_in(alive)
        query = select(WebhookTarget.id).where(*over)
        async with self.database.reading() as session:
            ids = (await session.exec(query)).all()
        for each in ids:
            await self.end(each)


def _refused_without_storage(
    method: Callable[P, Awaitable[T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let *method* raise `Overloaded` when the database does not answer."""

    @wraps(method)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except StorageUnavailable as failure:
            raise Overloaded from failure

    return run


class TokenSubscriptions:
    """Those of one token; implements `graph.changes.subscription_port.Subscriptions`."""

    def __init__(self, store: SubscriptionStore, token_id: int) -> None:
        self._store = store
        self._token_id = token_id
        self._owner = Owner(KIND, str(token_id))

    @_refused_without_storage
    async def check(self, url: str) -> None:
        try:
            targets.checked_url(url)
        except ValueError as error:
            raise InvalidInput(f"url: {error}", code=Code.VALIDATION_ERROR) from None
        async with self._store.database.reading() as session:
            await self._require_room(session)

    @_refused_without_storage
    async def create(self, url: str, cursor: str) -> CreatedChangeSubscription:
        store, start = self._store, state.state_of(cursor, self._store.keyring, self._token_id)
        position = await store.states.copy(self._token_id, start)
        begun = state.decode(await store.states.load(self._token_id, start) or b"")
        surfaces = ",".join(begun.surfaces if begun is not None else ())
        target, secret = await self._add(url, start, position, surfaces)
        return CreatedChangeSubscription(
            id=target.id,
            url=target.url,
            created_at=timestamps.from_ms(target.created_at),
            state=SubscriptionState.ACTIVE,
            cursor=cursor,
            secret=secret,
        )

    @retried
    async def _add(
        self, url: str, start: str, position: str, surfaces: str
    ) -> tuple[WebhookTarget, str]:
        store = self._store
        async with store.database.writing() as session:
            await session.get(AccessToken, self._token_id, with_for_update=True)
            await self._require_room(session)
            target, secret = await targets.create(session, store.keyring, self._owner, url)
            row = insert(FeedSubscription).values(
                id=target.id,
                token_id=self._token_id,
                position=position,
                start=start,
                is_pulled=False,
                due_at=store.now() + store.poll_ms,
                failures=0,
                surfaces=surfaces,
            )
            await session.exec(row)
        return target, secret

    @_refused_without_storage
    async def all(self) -> Sequence[ChangeSubscription]:
        joined = select(WebhookTarget, FeedSubscription.failures).join(FeedSubscription)
        mine = joined.where(col(FeedSubscription.token_id) == self._token_id)
        ordered = mine.order_by(col(WebhookTarget.created_at), col(WebhookTarget.id))
        async with self._store.database.reading() as session:
            rows = (await session.exec(ordered)).all()
        return [
            ChangeSubscription(
                id=target.id,
                url=target.url,
                created_at=timestamps.from_ms(target.created_at),
                state=_state(target, failures),
            )
            for target, failures in rows
        ]

    @_refused_without_storage
    async def require(self, subscription_id: str) -> None:
        async with self._store.database.reading() as session:
            await self._find(session, subscription_id, for_update=False)

    @_refused_without_storage
    async def rotate(self, subscription_id: str) -> RotatedChangeSubscription:
        secret = await self._rotate(subscription_id)
        return RotatedChangeSubscription(id=subscription_id, secret=secret)

    @retried
    async def _rotate(self, subscription_id: str) -> str:
        async with self._store.database.writing() as session:
            target = await self._find(session, subscription_id)
            return await targets.rotate(session, self._store.keyring, target)

    @_refused_without_storage
    @retried
    async def delete(self, subscription_id: str) -> None:
        async with self._store.database.writing() as session:
            await session.delete(await self._find(session, subscription_id))

    async def _find(
        self, session: AsyncSession, subscription_id: str, *, for_update: bool = True
    ) -> WebhookTarget:
        is_id = len(subscription_id) <= targets.MAX_ID and subscription_id.isascii()
        target = None
        if is_id and subscription_id.isprintable():
            target = await targets.find(session, KIND, subscription_id, for_update=for_update)
        if target is None or target.owner_id != self._owner.id:
            raise NotFound("The token has no such subscription.", code=Code.NOT_FOUND)
        return target

    async def _require_room(self, session: AsyncSession) -> None:
        mine = col(FeedSubscription.token_id) == self._token_id
        known = (await session.exec(select(FeedSubscription.id).where(mine))).all()
        if len(known) >= MAX_SUBSCRIPTIONS:
            message = f"A token has at most {MAX_SUBSCRIPTIONS} subscriptions."
            raise InvalidInput(message, code=Code.VALIDATION_ERROR)


def _state(target: WebhookTarget, failures: int) -> SubscriptionState:
    if target.state == targets.DEAD:
        return SubscriptionState.DEAD
    return SubscriptionState.FAILING if failures or target.failures else SubscriptionState.ACTIVE
