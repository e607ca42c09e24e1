"""
The folders above files, read by their names or level by level, all files at once.

Upstream tells the names of the folders on the way to a file, so all levels are read by name in one
go: the cost does not tell the depth then. What lies in what is decided by the ids that come
back; where a name leads elsewhere by now, level by level it is. Source: reliability 4.2: to depth
64, with a guard against circles; unresolved is unknown.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

from providers.content.ids import ItemKey
from providers.ports.collab import FolderPath
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

MOST_DEPTH = 64

Ancestors: TypeAlias = "frozenset[ItemKey] | Unknown"


ById: TypeAlias = Callable[
    [Collection[ItemKey]], Awaitable[Mapping[ItemKey, records.File | Unknown | None]]
]
ByPath: TypeAlias = Callable[
    [Collection[FolderPath]], Awaitable[Mapping[FolderPath, records.File | Unknown | None]]
]


class AncestorCache:
    """Remembers, for one request, which folder each file lies in."""

    def __init__(self) -> None:
        self._parents: dict[ItemKey, ItemKey | Unknown | None] = {}
        self._paths: dict[ItemKey, FolderPath] = {}  # of folders, as files in them tell

    def note(self, file: records.File) -> None:
        """Remember what a file tells of its folder."""
        if file.parent is UNKNOWN:
            return
        self._parents[file.key] = file.parent
        if file.parent is not None and file.above is not None:
            self._paths[file.parent] = (file.drive, file.above)

    async def above(
        self, keys: Collection[ItemKey], read: ById, *, by_path: ByPath | None = None
    ) -> Mapping[ItemKey, Ancestors]:
        """
        Return every folder above each file, the library's root included.

        Args:
            keys: Files or folders.
            read: Reads files by their ids, without any attribute; what it reads is noted here.
            by_path: Reads folders by where they are; None: level by level.
        """
        for _ in range(MOST_DEPTH + 1):
            unknown = self._gaps(keys)
            paths = self._ways_to(unknown)
            if by_path is not None and paths:
                for file in (await by_path(paths)).values():
                    if isinstance(file, records.File):
                        self.note(file)
                unknown = self._gaps(keys)
            if not unknown:
                break
            for key, file in (await read(unknown)).items():
                told = file.parent if isinstance(file, records.File) else UNKNOWN
                self._parents[key] = told
        return {key: self._chain(key) for key in keys}

    def _ways_to(self, folders: Collection[ItemKey]) -> list[FolderPath]:
        """Return where those of *folders*, and all above them, are said to be; each once only."""
        ways = [self._paths.pop(key) for key in folders if key in self._paths]
        found = {(drive, names[:depth]) for drive, names in ways for depth in range(len(names) + 1)}
        return sorted(found)

    def _gaps(self, keys: Collection[ItemKey]) -> set[ItemKey]:
        return {key for start in keys if (key := self._gap(start)) is not None}

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

    def _chain(self, start: ItemKey) -> Ancestors:
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
