"""
Load real material into the sandbox: `import_path` picks the importer by target and kind of file.

Nothing is dropped in silence: what does not come in is named in the report with its reason.
Source: decisions 14, "Real input".
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sandbox.importing import calendar_importer
from sandbox.importing.board_importer import import_board
from sandbox.importing.calendar_importer import import_calendar
from sandbox.importing.content_importer import import_folder, import_table
from sandbox.importing.mail_importer import import_mail
from sandbox.importing.report import CannotImport, Importer, ImportReport, Progress
from sandbox.mail.ids import MAILBOXES
from sandbox.storage.database import Database

FOLDER, ANY_FILE = "/", ""

# By target and by what the path ends with: a suffix in lower case, a folder, or any other file.
IMPORTERS: Mapping[tuple[str, str], Importer] = MappingProxyType(
    {(mailbox, kind): import_mail for mailbox in MAILBOXES for kind in (FOLDER, ANY_FILE)}
    | {(mailbox, calendar_importer.SUFFIX): import_calendar for mailbox in MAILBOXES}
    | {
        ("collab", FOLDER): import_folder,
        ("collab", ".csv"): import_table,
        ("tasks", ".csv"): import_board,
    }
)

# Kinds that no importer for "any file" is to try its luck with.
_OWN_KINDS = frozenset((".ics", ".csv", ".pst", ".msg", ".zip"))


def import_path(
    store: Database, *, into: str, path: Path, progress: Progress | None = None, **options: str
) -> ImportReport:
    """
    Load a file or a folder into one upstream of the sandbox.

    *into* is "provider-a", "provider-b", "collab" or "tasks". *progress* is told now and then how
    many messages have been looked at. An option with an empty value counts as not given; which
    options there are, the importers say.

    Raises:
        CannotImport: There is no such file, no such target, no importer for this kind of file
            there, or an option it does not know.
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
    if importer is None and kind not in _OWN_KINDS | {FOLDER}:
        importer = IMPORTERS.get((into, ANY_FILE))
    if importer is None:
        raise CannotImport(f"What ends in {kind!r} cannot be imported into {into}.")
    return importer


def _ignore_progress(_processed: int) -> None:
    """Tell nobody."""
