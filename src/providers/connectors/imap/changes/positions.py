"""
Positions in the history of an account: a few numbers of each folder of its listing.

A folder is named by a digest, so that a thousand of them have room, and no name is told.
"""

import binascii
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from hashlib import blake2b
from itertools import chain, pairwise
from operator import itemgetter

import msgspec

from providers.failures import TooMuch
from providers.imap import sequence_sets
from providers.ports.changes import MAX_POSITION, PositionExpired
from providers.turns import in_thread

_VERSION = "1"
_MAX_BYTES = 1 << 20  # of a position when it is not compressed
_MANY = 10_000  # numbers; some milliseconds of work


class FolderState(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """
    A folder at one moment.

    Attributes:
        name: Digest of its name.
        uid_validity, uid_next, messages, mod_seq: As of `Folder`.
        uids: The listed messages: the messages that are left out and those that follow them, in
            turn, as numbers of UIDs. None: not kept.
    """

    name: bytes
    uid_validity: int
    uid_next: int = 1
    messages: int = 0
    mod_seq: int = 0
    uids: tuple[int, ...] | None = None


class Begun(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """
    A folder whose changes have been told in part.

    Attributes:
        last_uid: The UID up to which they have been.
        then: The folder when its changes were first read: they go on from there.
    """

    last_uid: int
    then: FolderState


class Position(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The folders of a listing at one moment; *begun* is one of them."""

    folders: tuple[FolderState, ...]
    begun: Begun | None = None


def digest(name: bytes) -> bytes:
    """Return what stands for the name of a folder."""
    return blake2b(name, digest_size=8).digest()


def pack(uids: Iterable[int]) -> tuple[int, ...]:
    """Return UIDs in the form of `FolderState.uids`."""
    ranges = sequence_sets.ranges(uids)
    edges = [1, *chain.from_iterable((low, high + 1) for low, high in ranges)]
    return tuple(after - before for before, after in pairwise(edges))


def unpack(packed: Iterable[int]) -> set[int]:
    """Return the UIDs of `FolderState.uids`."""
    uids: set[int] = set()
    edge, is_listed = 1, False
    for length in packed:
        if is_listed:
            uids.update(range(edge, edge + length))
        edge, is_listed = edge + length, not is_listed
    return uids


async def write(position: Position) -> str:
    """
    Return a position as text; where it is too long, the largest sets of UIDs are left out.

    Raises:
        TooMuch: It is too long even so.
    """
    numbers = sum(len(state.uids or ()) for state in position.folders)
    return await in_thread(lambda: _fitting(position), is_long=numbers > _MANY)


def _fitting(position: Position) -> str:
    sizes = {state.name: len(state.uids or ()) for state in position.folders}
    largest_first = [name for name, size in sorted(sizes.items(), key=itemgetter(1)) if size]
    while len(text := _text(position)) > MAX_POSITION:
        if not largest_first:
            raise TooMuch
        position = _without_uids(position, largest_first.pop())
    return text


def read(text: str) -> Position:
    """
    Return the position of a text.

    Raises:
        PositionExpired: Another version of the gateway wrote it.
    """
    try:
        packed = urlsafe_b64decode(text.removeprefix(_VERSION).encode("ascii"))
        content = zlib.decompressobj().decompress(packed, _MAX_BYTES)
        return msgspec.msgpack.decode(content, type=Position)
    except (binascii.Error, zlib.error, ValueError) as failure:
        raise PositionExpired from failure


def _text(position: Position) -> str:
    packed = zlib.compress(msgspec.msgpack.encode(position))
    return _VERSION + urlsafe_b64encode(packed).decode("ascii")


def _without_uids(position: Position, name: bytes) -> Position:
    def bare(state: FolderState) -> FolderState:
        return msgspec.structs.replace(state, uids=None) if state.name == name else state

    begun = position.begun
    return Position(
        folders=tuple(map(bare, position.folders)),
        begun=begun and Begun(last_uid=begun.last_uid, then=bare(begun.then)),
    )
