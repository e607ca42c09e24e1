"""
What is remembered of a connection between requests: names and shapes, never what may be seen.

A library belongs to one site for good; names, columns and the label catalogue are kept a while.
"""

import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from providers.content.ids import ListKey
from providers.records import collab as records

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MOST = 4096  # entries of each kind


class TtlCache(Generic[K, V]):
    """Keeps values for *seconds*, None for good; when it is full it starts over."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._kept: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        """Return what is kept under *key*, None when there is nothing or it is too old."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if self._seconds is not None and time.monotonic() - kept[0] > self._seconds:
            del self._kept[key]
            return None
        return kept[1]

    def put(self, key: K, value: V) -> None:
        """Keep *value*."""
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[key] = (time.monotonic(), value)

    def drop(self, key: K) -> None:
        """Forget what is kept under *key*."""
        self._kept.pop(key, None)


@dataclass(frozen=True, slots=True)
class ConnectionCache:
    """
    One connection's.

    Attributes:
        sites: Library -> the site it belongs to.
        drive_names: Library -> its name.
        lists: A list with its columns.
        wide: Lists that upstream would not filter, because too much would pass.
        labels: The catalogue, under "".
    """

    sites: TtlCache[str, str] = field(default_factory=partial(TtlCache, None))
    drive_names: TtlCache[str, str] = field(default_factory=partial(TtlCache, 300.0))
    lists: TtlCache[ListKey, records.SiteList] = field(default_factory=partial(TtlCache, 60.0))
    wide: TtlCache[ListKey, bool] = field(default_factory=partial(TtlCache, 600.0))
    labels: TtlCache[str, tuple[records.SensitivityLabel, ...]] = field(
        default_factory=partial(TtlCache, 3600.0)
    )
