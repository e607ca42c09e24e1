"""Import of a folder into a library, and of a CSV file into a list, of the root site."""

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
from sandbox.provider_b.responses import GraphError
from sandbox.storage.database import Database
from sandbox.world.collab.sites import HOST
from sandbox.world.people import STUDIO_ACCOUNT

BATCH = 200  # files or rows written in one transaction
_NOT_IN_A_NAME = re.compile(r"\W")


def import_folder(
    database: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Import a folder recursively into a library of the same name on the root site.

    An existing file is skipped if its bytes are the same, else updated. There are no options.
    """
    del into
    if options:
        raise CannotImport(f"A folder takes no options, such as {min(options)}.")
    return _FolderImport(database, path, progress).run()


def import_table(
    database: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Import a CSV file into a list of the root site.

    Options: ``list_name`` (default: the file's name). An existing list of this name gets the
    missing columns and rows.
    """
    del into
    unknown = sorted(options.keys() - {"list_name"})
    if unknown:
        raise CannotImport(f"A table is imported without the options {unknown}.")
    try:
        table = csv_tables.read(path)
    except csv_tables.NotATable as problem:
        raise CannotImport(str(problem)) from None
    return _import_rows(database, options.get("list_name") or path.stem, table, progress)


def _open(database: Database) -> tuple[ContentStore, ContentBuilder, r.Site]:
    store = ContentStore.beside(database)
    store.refresh()
    builder = ContentBuilder(store, when=store.now_text(), author=STUDIO_ACCOUNT)
    root = next((site for site in store.every(r.Site) if not site.path), None)
    if root is None:
        root = builder.site(HOST, "", "Imported")
        builder.save()
    return store, builder, root


# -- files


class _FolderImport:
    def __init__(self, database: Database, path: Path, progress: Progress) -> None:
        self._store, self._builder, self._site = _open(database)
        self._path = path
        self._progress = progress
        self._skipped: list[tuple[str, str]] = []
        self._imported = 0
        self._processed = 0

    def run(self) -> ImportReport:
        self._import_entries(self._library(), self._path)
        self._builder.save()
        self._progress(self._processed)
        return ImportReport(imported=self._imported, skipped=tuple(self._skipped))

    def _library(self) -> r.Item:
        name = self._path.resolve().name or "Imported"
        for drive in self._store.every(r.Library):
            if drive.site_id == self._site.id and drive.name.casefold() == name.casefold():
                self._builder.continue_list(drive.list_id, drive.id)
                root = self._store.item(drive.id, drive.root_id)
                if root is not None:
                    return root
        imported = self._builder.library(self._site, name)
        self._builder.save()
        return imported

    def _import_entries(self, folder: r.Item, path: Path) -> None:
        for entry, reason in _entries(path):
            shown_path = str(entry.relative_to(self._path))
            self._processed += 1
            if self._processed % BATCH == 0:
                self._builder.save()
                self._progress(self._processed)
            try:
                name = validate_name(self._store, folder, entry.name)
            except GraphError as refusal:
                self._skipped.append((shown_path, refusal.message))
                continue
            if reason:
                self._skipped.append((shown_path, reason))
            elif entry.is_dir():
                self._import_subfolder(folder, name, entry, shown_path)
            else:
                self._import_file(folder, name, entry, shown_path)

    def _import_subfolder(self, parent: r.Item, name: str, path: Path, shown_path: str) -> None:
        existing = self._store.child(parent, name)
        if existing is not None and not existing.is_folder:
            self._skipped.append((shown_path, "there is a file of this name"))
            return
        if existing is None:
            existing = self._builder.folder(
                parent, name, modified=format_time(path.stat().st_mtime)
            )
            self._builder.save()
        self._import_entries(existing, path)

    def _import_file(self, parent: r.Item, name: str, path: Path, shown_path: str) -> None:
        existing = self._store.child(parent, name)
        if existing is not None and existing.is_folder:
            self._skipped.append((shown_path, "there is a folder of this name"))
            return
        blobs = self._store.blobs
        try:
            blob = _copy(path, self._store)
        except OSError as problem:
            self._skipped.append((shown_path, problem.strerror or "cannot be read"))
            return
        if existing is not None and existing.quick_hash == blobs.quick_hash(blob):
            blobs.delete(blob)
            self._skipped.append((shown_path, ALREADY_THERE))
            return
        modified = path.stat().st_mtime
        imported = self._builder.blob(
            parent,
            name,
            blob,
            path.stat().st_size,
            created=format_time(modified),
            modified=format_time(modified),
        )
        if existing is not None:
            blobs.delete(existing.blob)
            self._builder.add(
                msgspec.structs.replace(
                    imported,
                    number=existing.number,
                    created=existing.created,
                    version=existing.version + 1,
                    content_version=existing.content_version + 1,
                )
            )
        self._imported += 1


def _entries(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the entries of a folder by name, each with a reason to skip it, or ""."""
    for entry in sorted(path.iterdir(), key=lambda entry: entry.name):
        if entry.is_symlink():
            yield entry, "a link"
            continue
        mode = entry.stat().st_mode
        usable = stat.S_ISDIR(mode) or stat.S_ISREG(mode)
        yield entry, "" if usable else "neither file nor folder"


def _copy(path: Path, store: ContentStore) -> str:
    with path.open("rb") as source:
        blob = store.blobs.create()
        while piece := source.read(CHUNK_SIZE):
            store.blobs.append_bytes(blob, piece)
    return blob


# -- tables


def _import_rows(
    database: Database, name: str, table: csv_tables.Table, progress: Progress
) -> ImportReport:
    store, builder, site = _open(database)
    title_index = _title_index(table)
    columns = [
        _column(column, is_lead=index == title_index) for index, column in enumerate(table.columns)
    ]
    target = next(
        (
            column
            for column in store.every(r.SiteList)
            if column.site_id == site.id and column.title.casefold() == name.casefold()
        ),
        None,
    )
    if target is None:
        target = builder.list_in(
            site, name, [column for column in columns if column.name != "Title"]
        )
    elif target.drive_id:
        raise CannotImport(f"{name!r} is a library, not a list.")
    else:
        builder.continue_list(target.id)
        known = {column.name for column in target.columns} | {"Title"}
        new_columns = tuple(column for column in columns if column.name not in known)
        target = msgspec.structs.replace(target, columns=(*target.columns, *new_columns))
        builder.add(target)
    existing_rows = Counter(_fingerprint(row.fields) for row in store.rows(target.id))
    skipped = [(f"line {line}", reason) for line, reason in table.unusable]
    imported = 0
    for line, cells in table.rows:
        fields = _fields(columns, cells)
        if existing_rows[_fingerprint(fields)]:
            existing_rows[_fingerprint(fields)] -= 1
            skipped.append((f"line {line}", ALREADY_THERE))
            continue
        builder.row(target, fields)
        imported += 1
        if imported % BATCH == 0:
            builder.save()
            progress(line)
    builder.save()
    progress(len(table.rows))
    return ImportReport(imported=imported, skipped=tuple(skipped))


def _title_index(table: csv_tables.Table) -> int:
    """Return the index of the title column: the one named so, else the first."""
    for title in ("title", "name"):
        for index, column in enumerate(table.columns):
            if column.title.casefold() == title:
                return index
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
    """Return a column's API name: all but letters and digits is escaped."""
    escaped = _NOT_IN_A_NAME.sub(lambda sign: f"_x{ord(sign[0]):04x}_", title)
    return f"_x003{escaped[0]}_{escaped[1:]}" if escaped[0].isdigit() else escaped


def _fields(columns: list[r.Column], cells: tuple[csv_tables.Cell, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for column, cell in zip(columns, cells, strict=True):
        if cell is not None:
            fields[column.name] = str(cell) if column.name == "Title" else cell
    return fields


def _fingerprint(fields: Mapping[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
