"""Interface and report of the importers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sandbox.storage.database import Database

ALREADY_THERE = "already there"

Progress = Callable[[int], None]  # called with the number of entries processed so far


class CannotImport(ValueError):
    """The import is not possible at all; the message says why and may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """
    Result of an import.

    Attributes:
        imported: Number of imported messages, events, files or rows.
        skipped: (name, reason) of each skipped entry, in reading order.
    """

    imported: int
    skipped: tuple[tuple[str, str], ...]


class Importer(Protocol):
    """
    Import *path* into the upstream *into*.

    *options* are the command's options by name; unknown ones raise `CannotImport`.
    """

    def __call__(
        self,
        store: Database,
        *,
        into: str,
        path: Path,
        progress: Progress,
        options: Mapping[str, str],
    ) -> ImportReport: ...
