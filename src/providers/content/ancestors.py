"""
The folders above files, for rules on folders.

Upstream tells the names of the folders above a file, so all levels are read by path at once: the
number of calls does not reveal the depth (timing side channel). Containment is decided by the ids
that come back; where a path has changed meanwhile, folders are read level by level.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

from providers.collab_ids import ItemKey
from providers.ports.collab import FolderPath
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

MAX_DEPTH = 64  # also ends circles; deeper files have UNKNOWN ancestors

Ancestors: TypeAlias = "frozenset[ItemKey] | Unknown"


ReadById: TypeAlias = Callable[
    [Collection[ItemKey]], Awaitable[Mapping[ItemKey, records.File | Unknown | None]]
]
ReadByPath: TypeAlias = Callable[
    [Collection[FolderPath]], Awaitable[Mapping[FolderPath, records.File | Unknown | None]]
]


class AncestorCache:
    """The parent folder of every file that a request has read."""

    def __init__(self) -> None:
        self._parents: dict[ItemKey, ItemKey | Unknown | None] = {}
        self._paths: dict[ItemKey, FolderPath] = {}  # of folders, as their children tell them

    def add(self, file: records.File) -> None:
        if file.parent is UNKNOWN:
            return
        self._parents[file.key] = file.parent
        if file.parent is not None and file.ancestor_names is not None:
            self._paths[file.parent] = (file.drive, file.ancestor_names)

    async def ancestors(
        self, keys: Collection[ItemKey], read: ReadById, *, read_by_path: ReadByPath | None = None
    ) -> Mapping[ItemKey, Ancestors]:
        """
        Return every folder above each file, the library's root included.

        Args:
            keys: Files or folders.
            read: Reads files by their ids, without any attribute; the caller adds them here.
            read_by_path: Reads folders by their paths; None: read level by level.
        """
        for _ in range(MAX_DEPTH + 1):
            orphans = self._orphans(keys)
            paths = self._take_paths(orphans)
            if read_by_path is not None and paths:
                for file in (await read_by_path(paths)).values():
                    if isinstance(file, records.File):
                        self.add(file)
                orphans = self._orphans(keys)
            if not orphans:
                break
            for key, file in (await read(orphans)).items():
                self._parents[key] = file.parent if isinstance(file, records.File) else UNKNOWN
        return {key: self._chain(key) for key in keys}

    def _take_paths(self, folders: Collection[ItemKey]) -> list[FolderPath]:
        """Return the known paths of *folders* and of all folders above them; each only once."""
        known = [self._paths.pop(key) for key in folders if key in self._paths]
        paths = {
            (drive, names[:depth]) for drive, names in known for depth in range(len(names) + 1)
        }
        return sorted(paths)

    def _orphans(self, keys: Collection[ItemKey]) -> set[ItemKey]:
        """Return the topmost known ancestors whose parents have not been read."""
        return {orphan for key in keys if (orphan := self._orphan(key)) is not None}

    def _orphan(self, key: ItemKey) -> ItemKey | None:
        current = key
        for _ in range(MAX_DEPTH + 1):
            if current not in self._parents:
                return current
            parent = self._parents[current]
            if parent is None or parent is UNKNOWN:
                return None
            current = parent
        return None

    def _chain(self, key: ItemKey) -> Ancestors:
        chain: set[ItemKey] = set()
        current = key
        for _ in range(MAX_DEPTH + 1):
            parent = self._parents.get(current, UNKNOWN)
            if parent is None:
                return frozenset(chain)
            if parent is UNKNOWN or parent == key or parent in chain:
                return UNKNOWN
            chain.add(parent)
            current = parent
        return UNKNOWN
