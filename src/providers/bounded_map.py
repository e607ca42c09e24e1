"""Mappings of limited size, for caches."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedMap(OrderedDict[Key, Value]):
    """
    Mapping that drops its first entry when it grows beyond *max_size*.

    That is the oldest one; the least recently used one, when readers call `move_to_end`.
    """

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self._max_size = max_size

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        if len(self) > self._max_size:
            self.popitem(last=False)


class ByteBoundedMap(Generic[Key, Value]):
    """Mapping that drops its least recently used entries when all have more than *max_bytes*."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep *value* of about *size* bytes, at the expense of all others if it is so large."""
        self.pop(key)
        self._entries[key] = value, size
        self._bytes += size
        while self._bytes > self._max_bytes and len(self._entries) > 1:
            self._bytes -= self._entries.popitem(last=False)[1][1]

    def pop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry[1]

    def clear(self) -> None:
        self._entries.clear()
        self._bytes = 0
