"""
The credentials of connections: fixed tokens, client credentials, and refreshed ones.

However many callers find a token expired, one refresh is in flight per connection in this process,
and the stored version decides between processes. A new refresh token is stored before the access
token that came with it is used.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from providers.failures import NeedsReauth, ProviderFailure
from providers.http.client import deadline
from providers.http.resilience import Clock, SystemClock
from providers.oauth.token_endpoint import BodyStyle, Pkce, TokenEndpoint, Tokens, authorize_url

__all__ = [
    "BodyStyle",
    "ClientCredentials",
    "CredentialStore",
    "Pkce",
    "RefreshingCredentials",
    "StaticToken",
    "StoredCredentials",
    "TokenEndpoint",
    "Tokens",
    "authorize_url",
]

REFRESH_EARLY_SECONDS = (
    300.0  # seconds before its end that a token is replaced; reference, wire protocols 3
)

# A token that is refused so soon after it was issued is not refused for its age: another refresh
# would give the same, and do so for every call.
_BRAND_NEW = 60.0  # seconds

# Pauses before looking whether another process, which used our refresh token first, has stored
# what it got for it.
_OTHERS_SAVE = (0.0, 0.2, 1.0)  # seconds

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCredentials:
    """
    What is kept of a connection's tokens.

    Attributes:
        refresh_token: None: there is none, and a refused access token needs a person.
        expires_at: UTC; None: not known, so the token is used until it is refused.
        version: Grows by one with every change.
    """

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None
    version: int = 0


class CredentialStore(Protocol):
    """One connection's stored credentials, shared by all processes."""

    async def load(self) -> StoredCredentials:
        """
        Read what is stored now.

        Raises:
            NeedsReauth: Nothing is stored, or the connection is marked already.
        """

    async def save(self, new: StoredCredentials, *, expected_version: int) -> bool:
        """Store *new* if *expected_version* is still the stored one; say whether it was."""

    async def mark_needs_reauth(self) -> None:
        """Note that a person must reconnect."""


@dataclass(frozen=True, slots=True)
class StaticToken:
    """
    A token that is not refreshed.

    Attributes:
        scheme: Empty: the token stands alone in Authorization.
    """

    value: str = field(repr=False)
    scheme: str = "Bearer"

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return the token.

        Raises:
            NeedsReauth: Upstream rejected it.
        """
        if rejected is not None or not self.value:
            raise NeedsReauth
        return self.value


class _SingleFlight(Generic[T]):
    """Runs one task at a time; everybody who asks meanwhile gets its outcome."""

    def __init__(self) -> None:
        self._task: asyncio.Task[T] | None = None

    async def run(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Join the task under way or start *work*. A cancelled caller leaves it running."""
        task = self._task
        if task is None:
            task = self._task = asyncio.create_task(_unhurried(work))
            task.add_done_callback(self._over)
        return await asyncio.shield(task)

    def _over(self, task: asyncio.Task[T]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # somebody has seen it, or nobody is left to care


async def _unhurried(work: Callable[[], Coroutine[None, None, T]]) -> T:
    deadline.set(None)  # the first caller's hurry is not everybody's
    return await work()


class ClientCredentials:
    """Tokens in our own name, kept in memory and asked for again before they end."""

    scheme = "Bearer"

    def __init__(self, endpoint: TokenEndpoint, *, clock: Clock | None = None) -> None:
        self._endpoint = endpoint
        self._clock = clock or SystemClock()
        self._flight: _SingleFlight[Tokens] = _SingleFlight()
        self._tokens: Tokens | None = None
        self._issued = 0.0

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return a valid token.

        Raises:
            NeedsReauth: The provider refuses our client, or rejected a token it just gave.
            ProviderFailure: The token endpoint could not be asked.
        """
        tokens = self._tokens
        if tokens is not None and tokens.access_token != rejected and not self._ends_soon(tokens):
            return tokens.access_token
        if tokens is not None and tokens.access_token == rejected:
            if self._clock.monotonic() - self._issued < _BRAND_NEW:
                raise NeedsReauth
            self._tokens = None
        return (await self._flight.run(self._fetch)).access_token

    async def _fetch(self) -> Tokens:
        tokens = await self._endpoint.client_credentials()
        self._tokens = tokens
        self._issued = self._clock.monotonic()
        return tokens

    def _ends_soon(self, tokens: Tokens) -> bool:
        return _left(tokens.expires_at, self._clock) < REFRESH_EARLY_SECONDS


class RefreshingCredentials:
    """
    A connection's access token, refreshed in time.

    Keep one per connection for the life of the process.
    """

    scheme = "Bearer"

    def __init__(
        self,
        store: CredentialStore,
        endpoint: TokenEndpoint,
        *,
        lease: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
        clock: Clock | None = None,
    ) -> None:
        """
        Refresh through *endpoint* what *store* keeps.

        Args:
            store: Where the tokens are.
            endpoint: Where they are renewed.
            lease: Held during a refresh; lets one process at a time refresh this connection.
                Without it two processes may both ask, and the stored version decides.
            clock: None: the system's.
        """
        self._store = store
        self._endpoint = endpoint
        self._lease = lease
        self._clock = clock or SystemClock()
        self._flight: _SingleFlight[StoredCredentials] = _SingleFlight()
        self._known: StoredCredentials | None = None
        self._early = REFRESH_EARLY_SECONDS
        self._refused_version: int | None = None  # its refresh token is dead
        self._renewed: float | None = None  # when this process got the token it knows

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return a token that is valid for a while.

        Raises:
            NeedsReauth: A person must reconnect.
            ProviderFailure: The token endpoint could not be asked, and the token has ended.
        """
        known = self._known
        # Twice at most: a flight that was under way for another reason may end with what upstream
        # has rejected meanwhile.
        for _ in range(2):
            if known is None or not self._serves(known, rejected):
                known = await self._renewed_unless(rejected, known)
        if known is None or known.access_token == rejected:
            raise NeedsReauth
        return known.access_token

    async def _renewed_unless(
        self, rejected: str | None, known: StoredCredentials | None
    ) -> StoredCredentials:
        async def work() -> StoredCredentials:
            return await self._current(rejected)

        try:
            return await self._flight.run(work)
        except NeedsReauth:
            raise
        except ProviderFailure:
            # Early is early: an old token serves until its very end.
            if known is None or known.access_token == rejected or self._left(known) <= 0:
                raise
            return known

    async def _current(self, rejected: str | None) -> StoredCredentials:
        """Take what is stored if it will do, else refresh it."""
        stored = self._took(await self._store.load())
        if self._serves(stored, rejected):
            return stored
        async with self._lease():
            stored = self._took(await self._store.load())
            if self._serves(stored, rejected):
                return stored
            return await self._refresh(stored, rejected)

    async def _refresh(self, stored: StoredCredentials, rejected: str | None) -> StoredCredentials:
        brand_new = (
            self._renewed is not None and self._clock.monotonic() - self._renewed < _BRAND_NEW
        )
        if stored.access_token == rejected and brand_new:
            raise NeedsReauth
        if stored.refresh_token is None:
            if stored.access_token != rejected and self._left(stored) > 0:
                return stored
            raise NeedsReauth
        if stored.version == self._refused_version:
            raise NeedsReauth
        try:
            tokens = await self._endpoint.refresh(stored.refresh_token)
        except NeedsReauth:
            return await self._overtaken(stored)
        new = replace(
            stored,
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token or stored.refresh_token,
            expires_at=tokens.expires_at,
            version=stored.version + 1,
        )
        if not await self._store.save(new, expected_version=stored.version):
            return self._took(await self._store.load())
        self._took(new)
        self._renewed = self._clock.monotonic()
        self._early = min(REFRESH_EARLY_SECONDS, self._left(new) / 2)
        return new

    async def _overtaken(self, stored: StoredCredentials) -> StoredCredentials:
        """
        Look for what a faster process has stored, since our refresh token was refused.

        Raises:
            NeedsReauth: Nobody was faster: the refresh token is dead.
        """
        for pause in _OTHERS_SAVE:
            await self._clock.sleep(pause)
            newer = self._took(await self._store.load())
            if newer.version != stored.version:
                return newer
        self._refused_version = stored.version
        await self._store.mark_needs_reauth()
        raise NeedsReauth

    def _took(self, stored: StoredCredentials) -> StoredCredentials:
        if self._known is None or self._known.version != stored.version:
            self._renewed = None
            self._early = REFRESH_EARLY_SECONDS
        self._known = stored
        return stored

    def _serves(self, stored: StoredCredentials, rejected: str | None) -> bool:
        return stored.access_token != rejected and not self._ends_soon(stored)

    def _ends_soon(self, stored: StoredCredentials) -> bool:
        return self._left(stored) < self._early

    def _left(self, stored: StoredCredentials) -> float:
        return _left(stored.expires_at, self._clock)


def _left(ends: datetime | None, clock: Clock) -> float:
    """Seconds until *ends*; without one, for ever."""
    if ends is None:
        return float("inf")
    return (ends - datetime.fromtimestamp(clock.now(), UTC)).total_seconds()
