"""
Port of what has changed in one account since a position.

A position is an opaque text of the connector, at most `MAX_POSITION` characters. It names a moment
in the account's history, so reading the same position again tells the same changes, and what came
later besides: nothing is consumed.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

# Characters. An own mail server has four numbers for each folder, of up to 1,000; Microsoft's
# service a token of some 300 characters for each of up to 100.
MAX_POSITION = 40_000


class Kind(StrEnum):
    """Fate of an object since the position."""

    CREATED = "created"
    CHANGED = "changed"
    GONE = "gone"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """
    One object that is not as it was at the position.

    Attributes:
        id: Native id.
        kind: Created: it has come into the listing, as new mail or out of the trash. Gone: it has
            left the listing, for good or into the trash. Where upstream does not tell a new object
            from a changed one, an object is changed when it is older than the position.
        attributes: Of its record, those that have changed; None: upstream does not tell, and any
            of `ChangePort.undivided` may have. Empty for a created and for a gone object.
    """

    id: str
    kind: Kind
    attributes: AbstractSet[str] | None = frozenset()


class ChangeSlice(msgspec.Struct, frozen=True, kw_only=True):
    """
    Changes after a position.

    Attributes:
        changes: In the order of upstream, each object once: what it is now against what it was.
        position: Where the next slice begins.
        more: Whether upstream has more at once.
    """

    changes: Sequence[Change]
    position: str
    more: bool = False


class PositionExpired(Exception):
    """A position since which upstream no longer knows the changes: begin anew."""


class ChangePort(Protocol):
    """
    The history of one account. Every method raises members of `providers.failures`.

    Attributes:
        undivided: The attributes of the record that may change while the object keeps its id, where
            upstream tells of a change and not of which. Empty where it tells.
    """

    @property
    def undivided(self) -> AbstractSet[str]:
        """Attributes that change without upstream telling which of them did."""

    async def now(self) -> str:
        """Return the position of this moment; the number of calls is bounded."""

    async def since(self, position: str, *, limit: int) -> ChangeSlice:
        """
        Return at most about *limit* changes, in one upstream call when there are none.

        A page of upstream is not torn: a slice may hold some changes more.

        Raises:
            PositionExpired: The position is too old, or of a mailbox that was made anew.
        """


@runtime_checkable
class WaitingPort(Protocol):
    """A history of which the account itself tells that it goes on."""

    async def wait_for_change(self, seconds: float) -> bool:
        """Wait until the account changes; False: it did not within *seconds*."""
