"""
The sessions of one account: few, kept open between requests, and used by one request at a time.

Mail servers allow few connections per user (Dovecot: 10 per address), and a session has one folder
open. A session that was idle for long is asked for a sign of life before it is used.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from providers.failures import ProviderFailure
from providers.imap.accounts import Account
from providers.imap.session import Disconnected, Session

T = TypeVar("T")

MAX_SESSIONS = 3
IDLE_CHECK_SECONDS = 20.0  # after which a session may have been dropped by a router on the way
IDLE_CLOSE_SECONDS = 300.0
_CHECK_SECONDS = 3.0


class SessionPool:
    """Sessions of one account. One object per account and process."""

    def __init__(
        self,
        max_sessions: int = MAX_SESSIONS,
        *,
        idle_check_seconds: float = IDLE_CHECK_SECONDS,
        kind: type[Session] = Session,
    ) -> None:
        """*idle_check_seconds*: after which a session of *kind* is asked for a sign of life."""
        self._kind = kind
        self._idle_check_seconds = idle_check_seconds
        self._free: list[tuple[Session, float]] = []  # with the time of their last use
        self._places = asyncio.Semaphore(max_sessions)
        self._account: Account | None = None

    @asynccontextmanager
    async def session(
        self, account: Account, folder: bytes | None = None, *, fresh: bool = False
    ) -> AsyncIterator[Session]:
        """
        Lend a session.

        Args:
            account: Where to log in.
            folder: A session that has this folder open is preferred.
            fresh: Whether to connect anew.

        Raises:
            ProviderFailure: As `Session.connect`.
        """
        async with self._places:
            if fresh:
                self.close()
            session = await self._take(account, folder)
            try:
                yield session
            finally:
                if session.is_open and account == self._account:
                    self._free.append((session, time.monotonic()))
                else:
                    session.close()

    async def read(
        self, account: Account, work: Callable[[Session], Awaitable[T]], folder: bytes | None = None
    ) -> T:
        """
        Run *work*, which changes nothing, with a session; once more if the server ended it.

        Raises:
            ProviderFailure: As `Session.connect` and *work*.
        """
        try:
            async with self.session(account, folder) as session:
                return await work(session)
        except Disconnected:
            async with self.session(account, folder, fresh=True) as session:
                return await work(session)

    async def write(self, account: Account, work: Callable[[Session], Awaitable[T]]) -> T:
        """
        Run *work*, which may change something, with a session.

        It runs once more only when its session had ended before a command was sent.

        Raises:
            ProviderFailure: As `Session.connect` and *work*.
        """
        try:
            async with self.session(account) as session:
                return await work(session)
        except Disconnected as failure:
            if failure.sent:
                raise
            async with self.session(account, fresh=True) as session:
                return await work(session)

    def close(self) -> None:
        """End all sessions that are not lent; the others end when they come back."""
        self._account = None
        while self._free:
            self._free.pop()[0].close()

    async def _take(self, account: Account, folder: bytes | None) -> Session:
        if account != self._account:  # changed credentials hold at the next request
            self.close()
            self._account = account
        now = time.monotonic()
        self._drop_old(now)
        while self._free:
            index = next(
                (
                    index
                    for index, (session, _) in enumerate(self._free)
                    if session.selected is not None and session.selected.name == folder
                ),
                -1,
            )
            session, last_used = self._free.pop(index)
            if now - last_used < self._idle_check_seconds or await _answers(session):
                return session
        return await self._kind.connect(account)

    def _drop_old(self, now: float) -> None:
        usable = []
        for session, last_used in self._free:
            if session.is_open and now - last_used < IDLE_CLOSE_SECONDS:
                usable.append((session, last_used))
            else:
                session.close()
        self._free = usable


async def _answers(session: Session) -> bool:
    try:
        await session.command("NOOP", seconds=_CHECK_SECONDS)
    except ProviderFailure:
        session.close()
        return False
    return session.is_open
