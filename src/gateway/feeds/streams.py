"""Places of streams of changes in one process, checks of their tokens, their stop."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from time import monotonic

from starlette.types import ASGIApp, Message, Scope

from gateway.auth.authenticator import Authenticator
from gateway.feeds.states import FeedStateStore
from gateway.secrets.keyring import Keyring
from gateway.store.background import cancel
from gateway.store.database import StorageUnavailable
from graph.changes.state import cursor_of, state_of
from policy.caller import Caller
from policy.refusals import Refusal, Unauthenticated
from policy.vocabulary import Code
from providers.catalogue.tables import WAITED_FOR

MAX_OF_TOKEN = 20
MAX_OF_PROCESS = 1_000
HEARTBEAT_SECONDS = 15.0
PAUSE_SECONDS = 0.4  # between two looks of a stream; a token is checked as often, for all its own
RETRY_SECONDS = 60
POLL = "gateway.changes_poll"  # in the ASGI scope of a poll, where no client can put it


class TooManyStreams(Refusal):
    """One more stream would be too many, of the token or of the process."""

    code = Code.RATE_LIMITED
    retry_after = RETRY_SECONDS


class Allowance:
    """Polls beside those at the interval: one for each interval, and at most `MOST` at once."""

    MOST = 5

    def __init__(self, seconds: float) -> None:
        self._seconds, self._left, self._at = seconds, float(self.MOST), monotonic()

    def take(self) -> bool:
        """Take one; return whether there was one."""
        now = monotonic()
        left = self._left + (now - self._at) / self._seconds
        self._left, self._at = min(left, float(self.MOST)), now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Streams:
    """
    The open streams. One per process.

    Attributes:
        app: The process as its server calls it; polls are requests to it.
        poll_seconds: From the end of a poll to the next one.
        waitable: Kinds and providers of the accounts that can be waited for.
        heartbeat_seconds: Of silence, after which a stream sends a comment.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        states: FeedStateStore,
        keyring: Keyring,
        *,
        poll_seconds: float,
        waitable: Collection[tuple[str, str]] = WAITED_FOR,
    ) -> None:
        self.app: ASGIApp | None = None
        self.poll_seconds, self.waitable = poll_seconds, waitable
        self.heartbeat_seconds = HEARTBEAT_SECONDS
        self._authenticator, self._states, self._keyring = authenticator, states, keyring
        self._open: Counter[int] = Counter()  # by token
        self._followed: Counter[int] = Counter()  # by connection
        self._wakes: Counter[int] = Counter()  # so far, of each connection that is followed
        self._stopping = asyncio.Event()
        self._left: set[asyncio.Task[bytes | None]] = set()
        self._checked: dict[bytes, tuple[float, Caller]] = {}  # by the header of the credential

    @property
    def count(self) -> int:
        """The number of open streams."""
        return self._open.total()

    def take(self, token: int) -> None:
        """
        Take a place for a stream, which `give_back` returns.

        Raises:
            TooManyStreams: There is none.
        """
        if self._open[token] >= MAX_OF_TOKEN:
            message = f"{MAX_OF_TOKEN} streams of changes of this token are open, the most it has."
            raise TooManyStreams(message)
        if self.count >= MAX_OF_PROCESS:
            message = f"{MAX_OF_PROCESS} streams of changes are open, the most there are at once."
            raise TooManyStreams(message)
        self._open[token] += 1

    def give_back(self, token: int, credential: bytes) -> None:
        """End a stream of *token* that was opened with the header *credential*."""
        self._open[token] -= 1
        if not self._open[token]:
            del self._open[token]
        self._checked.pop(credential, None)  # another stream of it checks anew

    @property
    def followed(self) -> AbstractSet[int]:
        """The connections that streams follow and that can be waited for."""
        return frozenset(self._followed)

    @contextmanager
    def following(self, connections: Collection[int]) -> Iterator[Callable[[], int]]:
        """Follow *connections*; inside ``with``, return how often they were woken so far."""
        self._followed.update(connections)
        try:
            yield lambda: sum(self._wakes[each] for each in connections)
        finally:
            self._followed.subtract(connections)
            for each in connections:
                if not self._followed[each]:
                    del self._followed[each], self._wakes[each]

    def wake(self, connection: int) -> None:
        """Let the streams that follow *connection* look now."""
        if connection in self._followed:
            self._wakes[connection] += 1

    def stop(self) -> None:
        """End all streams, also those that are opened from now on."""
        self._stopping.set()

    def leave(self, poll: "asyncio.Task[bytes | None]") -> None:
        """Let a poll end whose stream has ended; it is a request like any other."""
        self._left.add(poll)
        poll.add_done_callback(self._left.discard)

    async def aclose(self) -> None:
        """Cancel the polls that were left, and wait for them."""
        await cancel(self._left)

    async def pause(self) -> None:
        """Wait until it is time to look again, or until the stop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS):
                await self._stopping.wait()

    async def may_go_on(self, scope: Scope, credential: bytes, caller: Caller) -> bool:
        """Return whether the process serves, and the token is valid and what *caller* was."""
        if self._stopping.is_set():
            return False
        now = monotonic()
        at, current = self._checked.get(credential, (0.0, None))
        if current is None or now - at >= PAUSE_SECONDS:
            try:
                current = await self._authenticator.authenticate(
                    scope["headers"], path=scope["path"]
                )
            except (Unauthenticated, StorageUnavailable):
                self._checked.pop(credential, None)
                return False
            self._checked[credential] = now, current
        return not _differ(current, caller)

    def has_changed(self, credential: bytes, caller: Caller) -> bool:
        """Return whether the token was valid at its last check, and not what *caller* was."""
        _, current = self._checked.get(credential, (0.0, None))
        return current is not None and _differ(current, caller)

    def state_of(self, token: int, cursor: str) -> str:
        """Return the id of the state that a cursor names, which the field has accepted."""
        return state_of(cursor, self._keyring, token)

    async def newest(self, token: int, state: str) -> tuple[str, str] | None:
        """
        Return the newest state of the feed of a state, and its cursor.

        None: the state is not kept any more, or the store does not answer.
        """
        try:
            newest = await self._states.newest(token, state)
        except StorageUnavailable:
            return None
        if newest is None:
            return None
        return newest, cursor_of(newest, self._keyring, token)

    async def ask(self, scope: Scope, query: bytes) -> tuple[int, bytes]:
        """Make the request of *scope* with another query; return status and body."""
        if self.app is None:
            raise TypeError("Streams need the application that answers their polls.")
        asked = {**scope, "query_string": query, "state": {}, POLL: True}
        status, body = 0, bytearray()

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            body.extend(message.get("body", b""))

        await self.app(asked, receive, send)
        return status, bytes(body)


def _differ(current: Caller, caller: Caller) -> bool:
    return current is not caller and _standing(current) != _standing(caller)


def _standing(caller: Caller) -> object:
    """Return what changes whenever the token may see more or less."""
    connections = [connection.id for connection in caller.connections]
    return caller.policy_rev, caller.ancestor_revs, connections
