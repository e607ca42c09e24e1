"""
State of a feed, which a cursor names: how far connections were told, and what the token saw.

A state is never changed; a call that learns something makes a new one. So the same cursor tells the
same changes again.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from providers.ports.changes import Kind

DIGEST_BYTES = 4  # of each member: a change is overlooked once in four thousand million


class Row(msgspec.Struct, frozen=True, array_like=True):
    """
    A row that was determined.

    Attributes:
        kind: As in `types.ChangeKind`.
        object_id: As clients see it; None for `resync`.
        changed: The members, as clients name them.
        token: The id of the row.
        at: Milliseconds since the epoch.
    """

    surface: str
    connection: int
    kind: str
    object_id: str | None
    changed: tuple[str, ...]
    token: str
    at: int


class MailFollowed(msgspec.Struct, frozen=True, array_like=True, tag="mail"):
    """
    A mailbox that is followed.

    Attributes:
        at: Milliseconds since the epoch: up to when it was told.
        seen: The attributes that the token saw of its messages.
        position: Of its history.
    """

    at: int
    seen: tuple[str, ...]
    position: str


class ListingFollowed(msgspec.Struct, frozen=True, array_like=True, tag="events"):
    """
    A listing that is followed: of events, items or files of one connection.

    Attributes:
        at: Milliseconds since the epoch: up to when it was told.
        seen: The attributes that the token saw of its objects.
        start, end: Milliseconds since the epoch; the range of events. Both 0: it has none.
        digests: Public id of an object -> one digest after the other, in the order of *seen*.
        positions: Of files, library -> where its history goes on.
    """

    at: int
    seen: tuple[str, ...]
    start: int
    end: int
    digests: dict[str, bytes]
    positions: dict[str, str] = {}


Followed = MailFollowed | ListingFollowed


class FeedState(msgspec.Struct, frozen=True, array_like=True):
    """
    The state of a feed at one moment.

    Attributes:
        feed: Random; the same in all states of a feed.
        key: Random, of the digests.
        surfaces: Those that are followed.
        visibility: Digest of what decided what the token saw; see `Context.visibility`.
        followed: Surface -> connection -> how far it was told.
        waiting: Rows that did not fit the limit of the call that determined them.
    """

    feed: str
    key: bytes
    surfaces: tuple[str, ...]
    visibility: bytes
    followed: Mapping[str, Mapping[int, Followed]]
    waiting: tuple[Row, ...] = ()

    @classmethod
    def begin(cls) -> "FeedState":
        """Return the state of a new feed, before it follows anything."""
        return cls(secrets.token_urlsafe(12), secrets.token_bytes(16), (), b"", {})


class Sealer(Protocol):
    """Seals what a client carries; see `graph.context.Sealer`."""

    def seal(self, payload: bytes, *, context: bytes) -> str: ...

    def unseal(self, token: str, *, context: bytes) -> bytes: ...


def cursor_of(state_id: str, sealer: Sealer, token_id: int) -> str:
    """Return the cursor of a token that names a state."""
    return sealer.seal(state_id.encode(), context=_cursor_context(token_id))


def state_of(cursor: str, sealer: Sealer, token_id: int) -> str:
    """
    Return the id of the state that a cursor names.

    Raises:
        ValueError: The cursor is damaged or of another token.
    """
    return sealer.unseal(cursor, context=_cursor_context(token_id)).decode()


def _cursor_context(token_id: int) -> bytes:
    """Return what the cursors of a token are sealed for."""
    return msgspec.msgpack.encode(("changes", token_id))


_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.msgpack.Decoder(FeedState, strict=False)


def encode(state: FeedState) -> bytes:
    """Write a state."""
    return msgspec.msgpack.encode(state)


def decode(content: bytes) -> FeedState | None:
    """Read what `encode` wrote; None of a version that wrote other ones."""
    try:
        return _decoder.decode(content)
    except msgspec.MsgspecError:
        return None


def digests(key: bytes, values: Iterable[object]) -> bytes:
    """Return the digests of the values of one object, one after the other."""
    return b"".join(
        hashlib.blake2b(_encoder.encode(value), digest_size=DIGEST_BYTES, key=key).digest()
        for value in values
    )


def differing(before: bytes, after: bytes, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of *names* whose digests differ."""
    return tuple(
        name
        for at, name in zip(range(0, len(after), DIGEST_BYTES), names, strict=True)
        if before[at : at + DIGEST_BYTES] != after[at : at + DIGEST_BYTES]
    )


CREATED, CHANGED, GONE = Kind.CREATED.value, Kind.CHANGED.value, Kind.GONE.value
APPEARED, RESYNC = "appeared", "resync"
