"""Load real files into a library, and a real table into a list, of the sandbox's root site."""

import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.collab.files.blobs import CHUNK_SIZE
from sandbox.collab.files.changes import validate_name
from sandbox.collab.store import ContentStore, format_time
from sandbox.importing import csv_tables
from sandbox.importing.report import ALREADY_THERE, CannotImport, ImportReport, Progress
from sandbox.provider_b.responses import Refusal
from sandbox.storage.database import Database
from sandbox.world.collab.sites import HOST
from sandbox.world.people import STUDIO_ACCOUNT

BATCH = 200  # files or rows written in one transaction
_NOT_IN_A_NAME = re.compile(r"\W")


def import_folder(
    database: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Load a folder and all in it into a library of the same name on the root site.

    A file that is there already stays as it is when its bytes are the same, and gets the new ones
    when not. There are no options.
    """
    del into
    if options:
        raise CannotImport(f"A folder is imported without the options {sorted(options)}.")
    return _FolderImport(database, path, progress).run()


def import_table(
    database: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Load a CSV file into a list of the root site.

    Options: ``list_name`` (the file's name when not given). A list of that name gets the columns
    that it lacks, and the rows that it does not have.
    """
    del into
    unknown = sorted(options.keys() - {"list_name"})
    if unknown:
        raise CannotImport(f"A table is imported without the options {unknown}.")
    try:
        table = csv_tables.read(path)
    except csv_tables.NotATable as problem:
        raise CannotImport(str(problem)) from None
    return _table(database, options.get("list_name") or path.stem, table, progress)


def _open(database: Database) -> tuple[ContentStore, ContentBuilder, r.Site]:
    store = ContentStore.beside(database)
    store.refresh()
    make = ContentBuilder(store, when=store.now(), author=STUDIO_ACCOUNT)
    root = next((site for site in store.every(r.Site) if not site.path), None)
    if root is None:
        root = make.site(HOST, "", "Imported")
        make.keep()
    return store, make, root


# -- files


class _FolderImport:
    def __init__(self, database: Database, path: Path, progress: Progress) -> None:
        self._store, self._make, self._site = _open(database)
        self._path = path
        self._progress = progress
        self._skipped: list[tuple[str, str]] = []
        self._imported = 0
        self._looked_at = 0

    def run(self) -> ImportReport:
        self._fill(self._library(), self._path)
        self._make.keep()
        self._progress(self._looked_at)
        return ImportReport(imported=self._imported, skipped=tuple(self._skipped))

    def _library(self) -> r.Item:
        name = self._path.resolve().name or "Imported"
        for drive in self._store.every(r.Library):
            if drive.site_id == self._site.id and drive.name.casefold() == name.casefold():
                self._make.continue_list(drive.list_id, drive.id)
                root = self._store.item(drive.id, drive.root_id)
                if root is not None:
                    return root
        made = self._make.library(self._site, name)
        self._make.keep()
        return made

    def _fill(self, folder: r.Item, path: Path) -> None:
        for entry, reason in _entries(path):
            shown = str(entry.relative_to(self._path))
            self._looked_at += 1
            if self._looked_at % BATCH == 0:
                self._make.keep()
                self._progress(self._looked_at)
            try:
                name = validate_name(self._store, folder, entry.name)
            except Refusal as refusal:
                self._skipped.append((shown, refusal.message))
                continue
            if reason:
                self._skipped.append((shown, reason))
            elif entry.is_dir():
                self._folder(folder, name, entry, shown)
            else:
                self._file(folder, name, entry, shown)

    def _folder(self, parent: r.Item, name: str, path: Path, shown: str) -> None:
        there = self._store.child(parent, name)
        if there is not None and not there.is_folder:
            self._skipped.append((shown, "there is a file of this name"))
            return
        if there is None:
            there = self._make.folder(parent, name, modified=format_time(path.stat().st_mtime))
            self._make.keep()
        self._fill(there, path)

    def _file(self, parent: r.Item, name: str, path: Path, shown: str) -> None:
        there = self._store.child(parent, name)
        if there is not None and there.is_folder:
            self._skipped.append((shown, "there is a folder of this name"))
            return
        blobs = self._store.blobs
        try:
            blob = _copy(path, self._store)
        except OSError as problem:
            self._skipped.append((shown, problem.strerror or "cannot be read"))
            return
        if there is not None and there.quick_hash == blobs.quick_hash(blob):
            blobs.drop(blob)
            self._skipped.append((shown, ALREADY_THERE))
            return
        changed = path.stat().st_mtime
        made = self._make.blob(
            parent,
            name,
            blob,
            path.stat().st_size,
            created=format_time(changed),
            modified=format_time(changed),
        )
        if there is not None:
            blobs.drop(there.blob)
            self._make.add(
                msgspec.structs.replace(
                    made,
                    number=there.number,
                    created=there.created,
                    version=there.version + 1,
                    content_version=there.content_version + 1,
                )
            )
        self._imported += 1


def _entries(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what lies in a folder, by name, with the reason why it cannot come in."""
    for entry in sorted(path.iterdir(), key=lambda one: one.name):
        if entry.is_symlink():
            yield entry, "a link"
            continue
        mode = entry.stat().st_mode
        usable = stat.S_ISDIR(mode) or stat.S_ISREG(mode)
        yield entry, "" if usable else "neither file nor folder"


def _copy(path: Path, store: ContentStore) -> str:
    with path.open("rb") as source:
        blob = store.blobs.new()
        while piece := source.read(CHUNK_SIZE):
            store.blobs.lengthen(blob, piece)
    return blob


# -- tables


def _table(
    database: Database, name: str, table: csv_tables.Table, progress: Progress
) -> ImportReport:
    store, make, site = _open(database)
    lead = _title_place(table)
    columns = [_column(column, is_lead=place == lead) for place, column in enumerate(table.columns)]
    target = next(
        (
            one
            for one in store.every(r.SiteList)
            if one.site_id == site.id and one.title.casefold() == name.casefold()
        ),
        None,
    )
    if target is None:
        target = make.list_in(site, name, [one for one in columns if one.name != "Title"])
    elif target.drive_id:
        raise CannotImport(f"{name!r} is a library, not a list.")
    else:
        make.continue_list(target.id)
        known = {column.name for column in target.columns} | {"Title"}
        fresh = tuple(one for one in columns if one.name not in known)
        target = msgspec.structs.replace(target, columns=(*target.columns, *fresh))
        make.add(target)
    there = Counter(_print(row.fields) for row in store.rows(target.id))
    skipped = [(f"line {line}", reason) for line, reason in table.unusable]
    imported = 0
    for line, cells in table.rows:
        fields = _fields(columns, cells)
        if there[_print(fields)]:
            there[_print(fields)] -= 1
            skipped.append((f"line {line}", ALREADY_THERE))
            continue
        make.row(target, fields)
        imported += 1
        if imported % BATCH == 0:
            make.keep()
            progress(line)
    make.keep()
    progress(len(table.rows))
    return ImportReport(imported=imported, skipped=tuple(skipped))


def _title_place(table: csv_tables.Table) -> int:
    """Return which column names a row: the one called so, else the first."""
    for wanted in ("title", "name"):
        for place, column in enumerate(table.columns):
            if column.title.casefold() == wanted:
                return place
    return 0


def _column(column: csv_tables.Column, *, is_lead: bool) -> r.Column:
    if is_lead:
        return r.Column(name="Title", title=column.title, kind="text", facet={"maxLength": 255})
    facets: Mapping[str, tuple[str, dict[str, Any]]] = {
        csv_tables.LONG_TEXT: ("text", {"allowMultipleLines": True}),
        csv_tables.CHOICE: (
            "choice",
            {"choices": list(column.choices), "displayAs": "dropDownMenu", "allowTextEntry": True},
        ),
        csv_tables.MOMENT: ("dateTime", {"displayAs": "default", "format": "dateTime"}),
        csv_tables.TEXT: ("text", {"maxLength": 255}),
    }
    kind, facet = facets.get(column.kind, (column.kind, {}))
    return r.Column(name=_api_name(column.title), title=column.title, kind=kind, facet=facet)


def _api_name(title: str) -> str:
    """Return a column's name for programs: what is no letter or digit is escaped."""
    escaped = _NOT_IN_A_NAME.sub(lambda sign: f"_x{ord(sign[0]):04x}_", title)
    return f"_x003{escaped[0]}_{escaped[1:]}" if escaped[0].isdigit() else escaped


def _fields(columns: list[r.Column], cells: tuple[csv_tables.Cell, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for column, cell in zip(columns, cells, strict=True):
        if cell is not None:
            fields[column.name] = str(cell) if column.name == "Title" else cell
    return fields


def _print(fields: Mapping[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
