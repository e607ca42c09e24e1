"""A call of the feed, the outcome of a connection in it, its rows, and codes of failures."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from strawberry.utils.str_converters import to_camel_case

from graph.changes.state import Followed, Row
from graph.changes.types import ChangeFailure, ChangeSurface
from graph.context import Context
from graph.masking import masks
from policy.caller import Caller
from policy.grants import Grant
from policy.refusals import Refusal
from policy.vocabulary import Operation, Surface
from providers.failures import (
    NeedsReauth,
    ProviderFailure,
    Throttled,
    TimedOut,
    TooMuch,
    Unreachable,
)
from providers.fanout import ConnectionWarning
from providers.records.base import to_epoch_ms


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """
    One surface of a call of the feed.

    Attributes:
        known: How far its connections were told. A connection that is not in it begins now; a
            `resync` says so unless *origin* is "".
        key: Of the digests.
        origin: The state from which rows are told.
        is_wider: Whether the token may see other things than it did: what is new has `appeared`.
        limit: Rows that are wanted.
    """

    context: Context
    surface: ChangeSurface
    known: Mapping[int, Followed]
    key: bytes
    origin: str
    is_wider: bool
    limit: int

    @property
    def now(self) -> int:
        """Milliseconds since the epoch."""
        return to_epoch_ms(self.context.now())

    def rows(self, connection: int) -> "Rows":
        """Return the maker of the rows of a connection."""
        return Rows(self.context, self.surface, connection, self.origin)

    def admitted(self, surface: Surface, *operations: Operation) -> Mapping[int, Caller]:
        """Return the caller on each usable account that allows all of *operations*, by its id."""

        def admit(account: Caller) -> Caller:
            for operation in operations:
                account.admit(surface, operation)
            return account

        caller = self.context.caller
        try:
            return caller.on_each(caller.usable_connections(surface), admit)
        except Refusal:  # no account is usable, or each of them refuses: then none is followed
            return {}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """
    Result of one connection in a call.

    Attributes:
        followed: How far it was told; None: it was never read.
        rows: In their order.
        code: Why it is not told up to now; None: it is.
        warnings: The failures behind *code*.
        is_more: Whether it has more to tell at once.
        unfollowed: Members whose changes are not told.
    """

    followed: Followed | None
    rows: tuple[Row, ...] = ()
    code: ChangeFailure | None = None
    warnings: tuple[ConnectionWarning, ...] = ()
    is_more: bool = False
    unfollowed: tuple[str, ...] = ()


class Rows:
    """Maker of the rows of one connection; *origin* is the state from which they are told."""

    def __init__(
        self, context: Context, surface: ChangeSurface, connection: int, origin: str
    ) -> None:
        self._sign = context.sealer.sign
        self._surface, self._connection, self._origin = surface.value, connection, origin
        self._at = to_epoch_ms(context.now())

    def row(
        self, kind: str, object_id: str | None, changed: Iterable[str] = (), seen: bytes = b""
    ) -> Row:
        """Make a row; *seen* tells apart what the same object may look like."""
        names = tuple(changed)
        content = (self._origin, self._surface, self._connection, kind, object_id, names, seen)
        token = self._sign(msgspec.msgpack.encode(content), context=b"change")
        return Row(self._surface, self._connection, kind, object_id, names, token[:22], self._at)


def visible(grant: Grant, kind: str, attributes: Iterable[str]) -> tuple[str, ...]:
    """Return those of *attributes* of a type that a token with *grant* sees."""
    hidden = masks.hidden(grant)
    return tuple(name for name in attributes if f"{kind}.{to_camel_case(name)}" not in hidden)


def shown(attributes: Iterable[str]) -> tuple[str, ...]:
    """Return attributes as clients name them."""
    return tuple(map(to_camel_case, attributes))


_CODES: Final = (
    (Throttled, ChangeFailure.THROTTLED),
    (TimedOut, ChangeFailure.TIMED_OUT),
    (NeedsReauth, ChangeFailure.NEEDS_REAUTH),
    (Unreachable, ChangeFailure.UNREACHABLE),
    (TooMuch, ChangeFailure.TOO_MANY),
)

STATUS_CODES: Final[Mapping[str, ChangeFailure]] = {
    code.value: code
    for code in (ChangeFailure.NEEDS_REAUTH, ChangeFailure.DISABLED, ChangeFailure.ERROR)
}


def failed(
    followed: Followed | None, failure: ProviderFailure, *warnings: ConnectionWarning
) -> Outcome:
    """Return the outcome of a connection that failed: no rows, and from where it goes on."""
    codes = (code for kind, code in _CODES if isinstance(failure, kind))
    return Outcome(followed=followed, code=next(codes, ChangeFailure.ERROR), warnings=warnings)
