"""Events whose times can be read; the others are left out, and told."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from providers.failures import Broken, Missing, Unreadable
from providers.ports.calendar import Span
from providers.turns import mapped

T = TypeVar("T")
N = TypeVar("N")


class ReadableEvents:
    """
    The events of one listing.

    Attributes:
        doubts: Whether an event was left out, as `EventList.doubts`.
    """

    def __init__(self) -> None:
        self.doubts: tuple[Unreadable, ...] = ()

    async def make(
        self,
        make: Callable[[Sequence[N]], list[T]],
        native: Sequence[N],
        times: Callable[[N], Span],
    ) -> list[T]:
        """Return what *make* makes of slices of the events whose *times* do not raise `Broken`."""
        try:
            return await mapped(native, make)
        except Broken:
            readable = [event for event in native if _has_times(event, times)]
            if len(readable) == len(native):
                raise
            self.doubts = (Unreadable(),)
            return await mapped(readable, make)


def _has_times(event: N, times: Callable[[N], Span]) -> bool:
    try:
        times(event)
    except Missing:
        return True  # an event without a time is not a broken one
    except Broken:
        return False
    return True
