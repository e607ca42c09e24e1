"""Import of a CSV file into a board: a row becomes an item, a column a typed column."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sandbox.boards.column_parsers import parse_value
from sandbox.boards.errors import BadColumnValue
from sandbox.boards.item_mutations import MAX_NAME_LENGTH
from sandbox.boards.labels import ColumnWrite, LabelResolver
from sandbox.boards.records import Column, Group, User
from sandbox.boards.settings import dropdown_settings, status_settings
from sandbox.boards.store import GROUP_COLORS, BoardStore
from sandbox.importing import csv_tables
from sandbox.importing.report import ALREADY_THERE, CannotImport, ImportReport, Progress
from sandbox.storage.database import Database

BATCH = 500  # rows between two calls of *progress*

_NAMES = ("name", "title", "task", "item", "summary", "subject", "titel", "aufgabe", "namn")
_GROUPS = ("group", "section", "gruppe", "grupp", "bucket")
_PEOPLE = re.compile(
    r"\b(assignees?|owners?|persons?|people|responsible|ansvarig)\b", re.IGNORECASE
)
_STATES = re.compile(r"\b(status|state|stage|priority|priorit\w+)\b", re.IGNORECASE)
_LABELS = re.compile(r"\b(tags?|labels?|categor\w+)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"[^@\s]+@(?=[^@\s]+\.[^@\s])[^@\s]+")
_SEPARATOR = re.compile(r"[,;|]")
_MOST_LABELS = 39

_TYPES = {
    csv_tables.LONG_TEXT: "long_text",
    csv_tables.NUMBER: "numbers",
    csv_tables.BOOLEAN: "checkbox",
    csv_tables.MOMENT: "date",
    csv_tables.CHOICE: "status",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """
    Mapping of a table's columns to a board's columns.

    Attributes:
        name, group: Indexes of the columns with the item's name and its group.
        columns: Index in a row -> board column.
        people: Case-folded name or address -> user id.
    """

    name: int
    group: int | None
    columns: Mapping[int, Column]
    people: Mapping[str, str]


def import_board(
    store: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Import a CSV file into a board.

    Options: ``board_name`` (default: the file's name). An existing board of this name gets the
    missing columns, groups and rows.
    """
    del into
    unknown = sorted(options.keys() - {"board_name"})
    if unknown:
        raise CannotImport(f"A board is imported without the options {unknown}.")
    try:
        table = csv_tables.read(path)
    except csv_tables.NotATable as problem:
        raise CannotImport(str(problem)) from None
    with store.transaction():
        return _BoardImport(BoardStore(store), options.get("board_name") or path.stem).run(
            table, progress
        )


class _BoardImport:
    def __init__(self, store: BoardStore, name: str) -> None:
        self._store = store
        self._importer = next(iter(store.users.all()), None) or _create_importer(store)
        boards = (
            board for board in store.boards.all() if board.type == "board" and board.name == name
        )
        self._board = next(boards, None) or store.add_board(
            name, creator_id=self._importer.id, groups=(Group(id="topics", title="Imported"),)
        )
        self._labels = LabelResolver(create_missing=True)

    def run(self, table: csv_tables.Table, progress: Progress) -> ImportReport:
        plan = self._plan_columns(table)
        existing = {
            _fingerprint(item.name, item.values) for item in self._store.items.of(self._board.id)
        }
        skipped = [(f"line {line}", reason) for line, reason in table.unusable]
        imported = 0
        for processed, (line, cells) in enumerate(table.rows, 1):
            if processed % BATCH == 0:
                progress(processed)
            reason = self._add(plan, cells, existing)
            imported += reason is None
            skipped += [] if reason is None else [(f"line {line}", reason)]
        self._save_labels()
        progress(len(table.rows))
        return ImportReport(imported=imported, skipped=tuple(skipped))

    def _plan_columns(self, table: csv_tables.Table) -> _Plan:
        titles = [column.title.casefold() for column in table.columns]
        group = next((titles.index(title) for title in _GROUPS if title in titles), None)
        name = next((titles.index(title) for title in _NAMES if title in titles), None)
        if name is None:
            texts = (csv_tables.TEXT, csv_tables.LONG_TEXT, csv_tables.CHOICE)
            text_columns = (
                index
                for index, column in enumerate(table.columns)
                if column.kind in texts and index != group
            )
            name = next(text_columns, 0)
        people = {
            text.casefold(): user.id
            for user in self._store.users.all()
            for text in (user.name, user.email)
        }
        columns = {
            index: self._find_or_add_column(
                column, [cells[index] for _, cells in table.rows], people
            )
            for index, column in enumerate(table.columns)
            if index not in {name, group}
        }
        return _Plan(name=name, group=group, columns=columns, people=people)

    def _find_or_add_column(
        self, source: csv_tables.Column, cells: Sequence[csv_tables.Cell], people: Mapping[str, str]
    ) -> Column:
        for column in self._board.columns:
            if column.title.casefold() == source.title.casefold():
                return column
        kind = _column_type(source, [str(cell) for cell in cells if cell is not None], people)
        used_ids = {candidate.id for candidate in self._board.columns}
        new_id = next(
            candidate
            for number in range(10_000)
            if (candidate := f"{kind}_{number}") not in used_ids
        )
        settings: dict[str, Any] = {}
        if kind == "status":
            settings = status_settings(source.choices or _distinct_texts(cells))
        elif kind == "dropdown":
            settings = dropdown_settings()
        column = Column(id=new_id, title=source.title, type=kind, settings=settings)
        self._board = self._store.change_board(self._board, columns=(*self._board.columns, column))
        return column

    def _add(self, plan: _Plan, cells: Sequence[csv_tables.Cell], existing: set[str]) -> str | None:
        """Add a row; return None, or the reason why it was skipped."""
        name = _cell_text(cells[plan.name]).strip()
        if not name:
            return "has no name"
        if len(name) > MAX_NAME_LENGTH:
            return f"its name is longer than {MAX_NAME_LENGTH} characters"
        values: dict[str, Any] = {}
        for index, column in plan.columns.items():
            try:
                value = self._to_stored_value(plan, column, cells[index])
            except BadColumnValue as problem:
                return f"{column.title}: {problem.message.partition('. ')[0]}"
            if value is not None:
                values[column.id] = value
        fingerprint = _fingerprint(name, values)
        if fingerprint in existing:
            return ALREADY_THERE
        existing.add(fingerprint)
        group = self._find_or_add_group(None if plan.group is None else cells[plan.group])
        self._store.add_item(
            self._board, name, group=group, creator_id=self._importer.id, values=values
        )
        return None

    def _to_stored_value(self, plan: _Plan, column: Column, cell: csv_tables.Cell) -> Any:
        if cell is None:
            return None
        write = ColumnWrite(
            store=self._store, column=column, labels=self._labels, timestamp=self._store.now()
        )
        return parse_value(write, _to_api_value(column.type, cell, plan.people))

    def _find_or_add_group(self, cell: csv_tables.Cell) -> str:
        title = _cell_text(cell).strip()
        groups = self._board.groups
        if not title:
            return next(candidate.id for candidate in groups if not candidate.deleted)
        for group in groups:
            if group.title.casefold() == title.casefold() and not group.deleted:
                return group.id
        used_ids = {candidate.id for candidate in groups}
        new_id = next(
            candidate
            for number in range(10_000)
            if (candidate := f"group_{number}") not in used_ids
        )
        color = GROUP_COLORS[len(groups) % len(GROUP_COLORS)]
        added = Group(id=new_id, title=title, color=color)
        self._board = self._store.change_board(self._board, groups=(*groups, added))
        return new_id

    def _save_labels(self) -> None:
        columns = tuple(
            msgspec.structs.replace(column, settings=self._labels.current_settings(column))
            for column in self._board.columns
        )
        self._board = self._store.change_board(self._board, columns=columns)


def _create_importer(store: BoardStore) -> User:
    """Create the author of imported items, for an account without users."""
    return store.users.put(
        User(
            id=store.new_id("user"),
            name="Importer",
            email="importer@boards.example",
            kind="admin",
            created_at=store.now(),
        )
    )


def _column_type(source: csv_tables.Column, cells: Sequence[str], people: Mapping[str, str]) -> str:
    if source.kind not in {csv_tables.TEXT, csv_tables.CHOICE}:
        return _TYPES[source.kind]
    if (
        cells
        and _PEOPLE.search(source.title)
        and all(_are_all_people(cell, people) for cell in cells)
    ):
        return "people"
    if _LABELS.search(source.title):
        return "dropdown"
    if cells and all(_ADDRESS.fullmatch(cell) for cell in cells):
        return "email"
    if cells and all(cell.startswith(("http://", "https://")) for cell in cells):
        return "link"
    is_few = len(set(cells)) <= _MOST_LABELS
    if source.kind == csv_tables.CHOICE or (cells and is_few and _STATES.search(source.title)):
        return "status"
    return "text"


def _are_all_people(cell: str, people: Mapping[str, str]) -> bool:
    return all(part.casefold() in people for part in _parts(cell))


def _parts(text: str) -> list[str]:
    parts = (part.strip() for part in _SEPARATOR.split(text))
    return [part for part in parts if part]


def _distinct_texts(cells: Iterable[csv_tables.Cell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_cell_text(cell) for cell in cells if cell is not None))


def _to_api_value(column_type: str, cell: csv_tables.Cell, people: Mapping[str, str]) -> Any:
    """Return the API value of a cell for a column of this type."""
    text = _cell_text(cell)
    match column_type:
        case "checkbox":
            return {"checked": str(bool(cell)).lower()}
        case "date":
            day, _, hour = text.removesuffix("Z").partition("T")
            return {"date": day, "time": None if hour in {"", "00:00:00"} else hour}
        case "people":
            parts = [part.casefold() for part in _parts(text)]
            ids = [people.get(part) or part for part in parts]
            return {"personsAndTeams": [{"id": user_id, "kind": "person"} for user_id in ids]}
        case "dropdown":
            return {"labels": _parts(text)}
        case "status":
            return {"label": text}
        case "link":
            return {"url": text, "text": text}
        case _:
            return text


def _cell_text(cell: csv_tables.Cell) -> str:
    return "" if cell is None else str(cell)


def _fingerprint(name: str, values: Mapping[str, Any]) -> str:
    return repr((name, sorted(_without_timestamps(values))))


def _without_timestamps(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the values without their change timestamps."""
    for column_id, value in values.items():
        if isinstance(value, dict):
            yield column_id, repr({key: item for key, item in value.items() if key != "changed_at"})
        else:
            yield column_id, repr(value)
