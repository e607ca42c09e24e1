"""
Entry point of imports: `import_path` selects the importer by target and kind of file.

Everything skipped is listed in the report with its reason.
See docs/spec/sandbox.md#importing-real-data.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sandbox.importing import calendar_importer, folders
from sandbox.importing.board_importer import import_board
from sandbox.importing.calendar_importer import import_calendar
from sandbox.importing.content_importer import import_folder, import_table
from sandbox.importing.mail_importer import import_mail
from sandbox.importing.report import CannotImport, Importer, ImportReport, Progress
from sandbox.mail.ids import MAILBOXES
from sandbox.storage.database import Database

FOLDER, ANY_FILE = "/", ""

# Keys: target, and kind of path: a lower-case suffix, a folder, or any other file.
IMPORTERS: Mapping[tuple[str, str], Importer] = MappingProxyType(
    {(mailbox, ANY_FILE): import_mail for mailbox in MAILBOXES}
    | {(mailbox, FOLDER): folders.import_personal for mailbox in MAILBOXES}
    | {(mailbox, calendar_importer.SUFFIX): import_calendar for mailbox in MAILBOXES}
    | {
        ("collab", FOLDER): import_folder,
        ("collab", ".csv"): import_table,
        ("tasks", ".csv"): import_board,
        ("tasks", FOLDER): folders.import_boards,
    }
)

# Suffixes that the importers of any other file do not accept.
_DEDICATED_SUFFIXES = frozenset((".ics", ".csv", ".pst", ".msg", ".zip"))


def import_path(
    store: Database, *, into: str, path: Path, progress: Progress | None = None, **options: str
) -> ImportReport:
    """
    Import a file or a folder into one upstream of the sandbox.

    Args:
        store: The sandbox's database.
        into: "provider-a", "provider-b", "collab" or "tasks".
        path: The file or folder.
        progress: Called periodically with the number of entries processed so far.
        options: Options of the importer; empty values are ignored.

    Raises:
        CannotImport: The file, the target, the importer for this kind of file or an option does
            not exist.
    """
    if not path.exists():
        raise CannotImport(f"There is nothing at {path}.")
    set_options = {name: value for name, value in options.items() if value}
    importer = _importer(into, path)
    return importer(
        store,
        into=into,
        path=path,
        progress=progress or _ignore_progress,
        options=MappingProxyType(set_options),
    )


def _importer(into: str, path: Path) -> Importer:
    targets = sorted({target for target, _ in IMPORTERS})
    if into not in targets:
        raise CannotImport(
            f"Nothing can be imported into {into!r}, only into {', '.join(targets)}."
        )
    kind = FOLDER if path.is_dir() else path.suffix.lower()
    importer = IMPORTERS.get((into, kind))
    if importer is None and kind not in _DEDICATED_SUFFIXES | {FOLDER}:
        importer = IMPORTERS.get((into, ANY_FILE))
    if importer is None:
        raise CannotImport(f"What ends in {kind!r} cannot be imported into {into}.")
    return importer


def _ignore_progress(_processed: int) -> None:
    """Discard progress."""
