"""
Import of folders of calendars, mail or tables, file by file.

A file that cannot be imported is skipped with its reason, and the others are imported.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from sandbox.importing import calendar_importer
from sandbox.importing.board_importer import import_board
from sandbox.importing.mail_importer import import_mail
from sandbox.importing.report import CannotImport, Importer, ImportReport, Progress
from sandbox.storage.database import Database

_TABLE = ".csv"
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def import_personal(
    store: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """Import a folder into a mailbox and its calendars; *options* are those of the mail."""
    calendars = _files(path, calendar_importer.SUFFIX)
    imported, skipped = 0, list[tuple[str, str]]()
    if len(calendars) < len(_files(path)):
        mail = import_mail(store, into=into, path=path, progress=progress, options=options)
        imported = mail.imported
        skipped = [
            entry for entry in mail.skipped if not entry[0].endswith(calendar_importer.SUFFIX)
        ]
    report = _each(store, into, calendars, path, calendar_importer.import_calendar)
    return ImportReport(imported=imported + report.imported, skipped=(*skipped, *report.skipped))


def import_boards(
    store: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Import each table of a folder into a board with the name of the file.

    Raises:
        CannotImport: There are *options*.
    """
    if options:
        raise CannotImport(f"A folder takes no options, such as {min(options)}.")
    tables = _files(path, _TABLE)
    others = [file for file in _files(path) if file not in set(tables)]
    report = _each(store, into, tables, path, import_board)
    progress(len(tables))
    skipped = [(str(file.relative_to(path)), "not a .csv file") for file in others]
    return ImportReport(imported=report.imported, skipped=(*report.skipped, *skipped))


def _each(
    store: Database, into: str, files: Iterable[Path], folder: Path, importer: Importer
) -> ImportReport:
    imported, skipped = 0, list[tuple[str, str]]()
    for file in files:
        name = str(file.relative_to(folder))
        try:
            report = importer(store, into=into, path=file, progress=_ignore, options=_NO_OPTIONS)
        except CannotImport as problem:
            skipped.append((name, str(problem)))
            continue
        imported += report.imported
        skipped += [(f"{name}: {entry}", reason) for entry, reason in report.skipped]
    return ImportReport(imported=imported, skipped=tuple(skipped))


def _files(folder: Path, suffix: str = "") -> list[Path]:
    """Return the files below *folder*, in order; with a *suffix*, those that end in it."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return [file for file in files if not suffix or file.suffix.lower() == suffix]


def _ignore(_processed: int) -> None:
    """Discard progress."""
