"""
Caches of a connection between requests: names and column types, never visibility.

A library belongs to one site for good; names, columns and the label catalogue expire.
"""

import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from providers.bounded_map import BoundedMap
from providers.collab_ids import ListKey
from providers.records import collab as records

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MAX_ENTRIES = 4096  # of each cache


class TtlCache(Generic[K, V]):
    """Cache whose entries expire after *ttl_seconds* (None: never); the oldest makes room."""

    def __init__(self, ttl_seconds: float | None) -> None:
        self._ttl_seconds = ttl_seconds
        self._entries = BoundedMap[K, tuple[float, V]](_MAX_ENTRIES)

    def get(self, key: K) -> V | None:
        """Return the cached value, None when there is none or it has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        stored_at, value = entry
        if self._ttl_seconds is not None and time.monotonic() - stored_at > self._ttl_seconds:
            del self._entries[key]
            return None
        return value

    def put(self, key: K, value: V) -> None:
        self._entries[key] = (time.monotonic(), value)

    def drop(self, key: K) -> None:
        """Remove the value cached under *key*, if any."""
        self._entries.pop(key, None)


@dataclass(frozen=True, slots=True)
class ConnectionCache:
    """
    The caches of one connection.

    Attributes:
        drive_sites: Drive id -> id of the site it belongs to.
        drive_names: Drive id -> its name.
        lists: A list with its columns.
        unfilterable_lists: Lists that upstream refused to filter: too many items would pass.
        labels: The catalogue, under "".
        own_addresses: The addresses of the account, folded, under "".
    """

    drive_sites: TtlCache[str, str] = field(default_factory=partial(TtlCache, None))
    drive_names: TtlCache[str, str] = field(default_factory=partial(TtlCache, 300.0))
    lists: TtlCache[ListKey, records.SiteList] = field(default_factory=partial(TtlCache, 60.0))
    unfilterable_lists: TtlCache[ListKey, bool] = field(default_factory=partial(TtlCache, 600.0))
    labels: TtlCache[str, tuple[records.SensitivityLabel, ...]] = field(
        default_factory=partial(TtlCache, 3600.0)
    )
    own_addresses: TtlCache[str, frozenset[str]] = field(default_factory=partial(TtlCache, 3600.0))
