"""What every importer is given and gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sandbox.storage.database import Database

ALREADY_THERE = "already there"

Progress = Callable[[int], None]  # told now and then how much has been looked at


class CannotImport(ValueError):
    """The whole request makes no sense; the message says why and may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """
    What an import did.

    Attributes:
        imported: How many messages (events, files, rows) came in.
        skipped: What did not: its name and the reason, in the order of reading.
    """

    imported: int
    skipped: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = (f"  {name}: {reason}" for name, reason in self.skipped)
        return "\n".join((f"{self.imported} imported, {len(self.skipped)} skipped.", *lines))


class Importer(Protocol):
    """
    Load *path* into *into*.

    Options are those of the command that were given, by name; an importer refuses what it does not
    know with `CannotImport`.
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
