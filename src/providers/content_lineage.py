"""
The folders above files, read level by level, all files at once.

Source: reliability 4.2: to depth 64, with a guard against circles; unresolved is unknown.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

from providers import records_collab as records
from providers.collab_ids import ItemKey
from providers.records_collab import UNKNOWN, Unknown

MOST_DEPTH = 64
_NOTHING: frozenset[str] = frozenset()

Read: TypeAlias = Callable[
    [Collection[ItemKey]], Awaitable[Mapping[ItemKey, records.File | Unknown | None]]
]
Above: TypeAlias = "frozenset[ItemKey] | Unknown"


class Lineage:
    """Remembers, for one request, which folder each file lies in."""

    def __init__(self) -> None:
        self._parents: dict[ItemKey, ItemKey | Unknown | None] = {}

    def note(self, file: records.File) -> None:
        """Remember what a file tells of its folder."""
        if file.parent is not UNKNOWN:
            self._parents[file.key] = file.parent

    async def above(self, keys: Collection[ItemKey], read: Read) -> Mapping[ItemKey, Above]:
        """
        Return every folder above each file, the library's root included.

        Args:
            keys: Files or folders.
            read: Reads files by their ids, without any attribute; what it reads is noted here.
        """
        for _ in range(MOST_DEPTH + 1):
            unknown = {key for start in keys if (key := self._gap(start)) is not None}
            if not unknown:
                break
            for key, file in (await read(unknown)).items():
                told = file.parent if isinstance(file, records.File) else UNKNOWN
                self._parents[key] = told
        return {key: self._chain(key) for key in keys}

    def _gap(self, start: ItemKey) -> ItemKey | None:
        """Return the first file on the way up whose folder is not known yet."""
        at = start
        for _ in range(MOST_DEPTH + 1):
            if at not in self._parents:
                return at
            parent = self._parents[at]
            if parent is None or parent is UNKNOWN:
                return None
            at = parent
        return None

    def _chain(self, start: ItemKey) -> Above:
        found: set[ItemKey] = set()
        at = start
        for _ in range(MOST_DEPTH + 1):
            parent = self._parents.get(at, UNKNOWN)
            if parent is None:
                return frozenset(found)
            if parent is UNKNOWN or parent == start or parent in found:
                return UNKNOWN
            found.add(parent)
            at = parent
        return UNKNOWN
