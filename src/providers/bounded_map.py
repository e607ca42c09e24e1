"""Mapping of limited size, for caches."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

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
