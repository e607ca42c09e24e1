"""
Credentials of connections: fixed tokens, client credentials, and refreshed tokens.

At most one refresh per connection is in flight in this process; between processes the stored
version decides. A new refresh token is stored before the access token that came with it is used.
The rules: docs/spec/reliability.md#token-refresh.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Generic, Protocol, TypeVar

from providers.catalogue.causes import Cause
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

REFRESH_EARLY_SECONDS = 300.0  # before a token expires

# A token that is refused so soon after it was issued has not expired: another refresh would not
# help, and every call would make one.
_FRESH_SECONDS = 60.0
_SAME_END = timedelta(seconds=60)

# Delays in seconds before each look for the tokens of another process that used our refresh token
# first.
_OTHER_PROCESS_DELAYS = (0.0, 0.2, 1.0)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCredentials:
    """
    Stored tokens of a connection.

    Attributes:
        refresh_token: None: a refused access token needs a person.
        expires_at: UTC; None: unknown, so the token is used until it is refused.
        refresh_expires_at: The end of the refresh token, UTC; None: unknown.
        refresh_slides: Whether a use of the refresh token has moved its end before.
        version: Grows by one with every change.
    """

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None
    refresh_expires_at: datetime | None = None
    refresh_slides: bool = False
    version: int = 0


class CredentialStore(Protocol):
    """Store of one connection's credentials, shared by all processes."""

    async def load(self) -> StoredCredentials:
        """
        Read the stored credentials.

        Raises:
            NeedsReauth: There are none, or the connection is marked already.
        """

    async def save(self, new: StoredCredentials, *, expected_version: int) -> bool:
        """Store *new* if *expected_version* is still stored; return whether it was."""

    async def mark_needs_reauth(self, cause: Cause | None) -> Cause | None:
        """Mark that a person must reconnect; return *cause*, or what is known better from here."""


@dataclass(frozen=True, slots=True)
class StaticToken:
    """
    A token that is never refreshed.

    Attributes:
        scheme: As `Credentials.scheme`.
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
            raise NeedsReauth(cause=Cause.TOKEN_REFUSED)
        return self.value


class _SingleFlight(Generic[T]):
    """Runs one task at a time; concurrent callers share its result."""

    def __init__(self) -> None:
        self._task: asyncio.Task[T] | None = None

    async def run(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Join the running task or start *work*; cancelling a caller does not cancel the task."""
        task = self._task
        if task is None:
            task = self._task = asyncio.create_task(_without_deadline(work))
            task.add_done_callback(self._finish)
        return await asyncio.shield(task)

    def _finish(self, task: asyncio.Task[T]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # retrieved, or asyncio logs it when every caller was cancelled


async def _without_deadline(work: Callable[[], Coroutine[None, None, T]]) -> T:
    deadline.set(None)  # the first caller's deadline must not end the shared task
    return await work()


class ClientCredentials:
    """Tokens of the client itself, cached in memory and renewed before they expire."""

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
            NeedsReauth: The provider refuses our client, or rejected a token it just issued.
            ProviderFailure: The token endpoint failed.
        """
        tokens = self._tokens
        if tokens is not None and tokens.access_token != rejected and not self._ends_soon(tokens):
            return tokens.access_token
        if tokens is not None and tokens.access_token == rejected:
            if self._clock.monotonic() - self._issued < _FRESH_SECONDS:
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
    A connection's access token, refreshed before it expires.

    Keep one object per connection for the life of the process.
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
        Refresh the credentials of *store* through *endpoint*.

        Args:
            store: The connection's store.
            endpoint: The provider's token endpoint.
            lease: Held during a refresh, so that one process at a time refreshes. Without it two
                processes may refresh, and the stored version decides.
            clock: None: the system's.
        """
        self._store = store
        self._endpoint = endpoint
        self._lease = lease
        self._clock = clock or SystemClock()
        self._flight: _SingleFlight[StoredCredentials] = _SingleFlight()
        self._known: StoredCredentials | None = None
        self._early = REFRESH_EARLY_SECONDS
        # The version whose refresh token was refused, and why.
        self._refused: tuple[int, Cause | None] | None = None
        self._renewed: float | None = None  # monotonic time when this process got the known token

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return a token that does not expire soon.

        Raises:
            NeedsReauth: A person must reconnect.
            ProviderFailure: The token endpoint failed, and the token has expired.
        """
        known = self._known
        # At most twice: a refresh that was under way already may end with a token that upstream has
        # rejected meanwhile.
        for _ in range(2):
            if known is None or not self._is_usable(known, rejected):
                known = await self._renew(rejected, known)
        if known is None or known.access_token == rejected:
            raise NeedsReauth
        return known.access_token

    async def _renew(
        self, rejected: str | None, known: StoredCredentials | None
    ) -> StoredCredentials:
        async def work() -> StoredCredentials:
            return await self._current(rejected)

        try:
            return await self._flight.run(work)
        except NeedsReauth:
            raise
        except ProviderFailure:
            # The refresh was early: the old token can be used until it expires.
            if known is None or known.access_token == rejected or self._left(known) <= 0:
                raise
            return known

    async def _current(self, rejected: str | None) -> StoredCredentials:
        """Return the stored credentials if they are usable, else refresh them."""
        stored = self._remember(await self._store.load())
        if self._is_usable(stored, rejected):
            return stored
        async with self._lease():
            stored = self._remember(await self._store.load())
            if self._is_usable(stored, rejected):
                return stored
            return await self._refresh(stored, rejected)

    async def _refresh(self, stored: StoredCredentials, rejected: str | None) -> StoredCredentials:
        is_fresh = (
            self._renewed is not None and self._clock.monotonic() - self._renewed < _FRESH_SECONDS
        )
        if stored.access_token == rejected and is_fresh:
            raise NeedsReauth
        if stored.refresh_token is None:
            if stored.access_token != rejected and self._left(stored) > 0:
                return stored
            raise NeedsReauth
        if self._refused is not None and stored.version == self._refused[0]:
            raise NeedsReauth(cause=self._refused[1])
        try:
            tokens = await self._endpoint.refresh(stored.refresh_token)
        except NeedsReauth as failure:
            return await self._await_other_process(stored, failure.cause)
        ends, slides = _end_of_refresh_token(stored, tokens)
        new = replace(
            stored,
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token or stored.refresh_token,
            expires_at=tokens.expires_at,
            refresh_expires_at=ends,
            refresh_slides=slides,
            version=stored.version + 1,
        )
        if not await self._store.save(new, expected_version=stored.version):
            return self._remember(await self._store.load())
        self._remember(new)
        self._renewed = self._clock.monotonic()
        self._early = min(REFRESH_EARLY_SECONDS, self._left(new) / 2)
        return new

    async def _await_other_process(
        self, stored: StoredCredentials, cause: Cause | None
    ) -> StoredCredentials:
        """
        Return the credentials that another process stored, since our refresh token was refused.

        Raises:
            NeedsReauth: No other process stored any: the refresh token is invalid.
        """
        for pause in _OTHER_PROCESS_DELAYS:
            await self._clock.sleep(pause)
            newer = self._remember(await self._store.load())
            if newer.version != stored.version:
                return newer
        cause = await self._store.mark_needs_reauth(cause)
        self._refused = (stored.version, cause)
        raise NeedsReauth(cause=cause)

    def _remember(self, stored: StoredCredentials) -> StoredCredentials:
        if self._known is None or self._known.version != stored.version:
            self._renewed = None
            self._early = REFRESH_EARLY_SECONDS
        self._known = stored
        return stored

    def _is_usable(self, stored: StoredCredentials, rejected: str | None) -> bool:
        return stored.access_token != rejected and not self._ends_soon(stored)

    def _ends_soon(self, stored: StoredCredentials) -> bool:
        return self._left(stored) < self._early

    def _left(self, stored: StoredCredentials) -> float:
        return _left(stored.expires_at, self._clock)


def _end_of_refresh_token(
    stored: StoredCredentials, tokens: Tokens
) -> tuple[datetime | None, bool]:
    """
    Return the end of the refresh token that is used from now on, and whether uses move it.

    Responses name what is left in whole seconds, so that a fixed end seems to move a little.
    """
    ends, before = tokens.refresh_expires_at, stored.refresh_expires_at
    if ends is None:
        is_the_same = tokens.refresh_token in {None, stored.refresh_token}
        return (before, stored.refresh_slides) if is_the_same else (None, False)
    if before is not None and abs(ends - before) <= _SAME_END:
        return before, stored.refresh_slides
    return ends, stored.refresh_slides or (before is not None and ends > before)


def _left(ends: datetime | None, clock: Clock) -> float:
    """Return the seconds until *ends*; infinity without one."""
    if ends is None:
        return float("inf")
    return (ends - datetime.fromtimestamp(clock.now(), UTC)).total_seconds()
