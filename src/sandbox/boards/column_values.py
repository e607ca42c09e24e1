"""Values of columns as responses show them: ``text``, ``value`` and the fields of their types."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import time
from types import MappingProxyType
from typing import Any

import orjson

from sandbox.boards.records import Board, Column, Item, Tag
from sandbox.boards.store import BoardStore

# Column type -> GraphQL type of its values.
GRAPHQL_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "board_relation": "BoardRelationValue",
        "checkbox": "CheckboxValue",
        "country": "CountryValue",
        "creation_log": "CreationLogValue",
        "date": "DateValue",
        "dependency": "DependencyValue",
        "dropdown": "DropdownValue",
        "email": "EmailValue",
        "file": "FileValue",
        "formula": "FormulaValue",
        "hour": "HourValue",
        "item_id": "ItemIdValue",
        "last_updated": "LastUpdatedValue",
        "link": "LinkValue",
        "long_text": "LongTextValue",
        "mirror": "MirrorValue",
        "numbers": "NumbersValue",
        "people": "PeopleValue",
        "phone": "PhoneValue",
        "rating": "RatingValue",
        "status": "StatusValue",
        "subtasks": "SubtasksValue",
        "tags": "TagsValue",
        "text": "TextValue",
        "timeline": "TimelineValue",
        "week": "WeekValue",
    }
)

# ``text`` of these types is always null, or null when they are empty; see
# docs/spec/upstream/monday.md#read-values.
_WITHOUT_TEXT = frozenset({"mirror", "board_relation", "dependency"})
_NULL_WHEN_EMPTY = frozenset({"status", "dropdown", "subtasks"})
_LINKED = frozenset({"board_relation", "dependency"})
_FORMULA_TOKENS = re.compile(r"\{([^{}]+)\}|(\d+(?:\.\d+)?)|([-+*/])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The value of one item in one column."""

    store: BoardStore
    board: Board
    item: Item
    column: Column

    @property
    def id(self) -> str:
        """The column's id."""
        return self.column.id

    @property
    def type(self) -> str:
        """The column's type."""
        return self.column.type

    @property
    def stored(self) -> Any:
        """The stored value, of a shape of its column type; None for an empty cell."""
        return self.item.values.get(self.column.id)

    @property
    def value(self) -> str | None:
        """The field ``value``: a string that contains JSON."""
        if self.column.type in _LINKED or self.stored is None:
            return None
        return orjson.dumps(self.stored).decode()

    @property
    def text(self) -> str | None:
        """The field ``text``."""
        if self.column.type in _WITHOUT_TEXT:
            return None
        return self.display_text or (None if self.column.type in _NULL_WHEN_EMPTY else "")

    @property
    def display_text(self) -> str:
        """The text for display, "" for an empty cell; computed for computed columns."""
        compute = _COMPUTED_COLUMNS.get(self.column.type)
        if compute is not None:
            return compute(self)
        format_text = _TEXT_FORMATTERS.get(self.column.type)
        return "" if self.stored is None or format_text is None else format_text(self)

    def typed_field(self, name: str) -> Any:
        """Return a field that only some types of values have."""
        if name == "display_value":
            return self.display_text
        stored = self.stored if isinstance(self.stored, dict) else {}
        if name == "updated_at":
            return self.item.updated_at if self.type == "last_updated" else stored.get("changed_at")
        if name in _STORED_KEYS.get(self.type, {}):
            return stored.get(_STORED_KEYS[self.type][name])
        resolve = _TYPED_FIELDS.get((self.type, name))
        return stored.get(name) if resolve is None else resolve(self)


def linked_items(cell: Cell) -> list[Item]:
    """Return the active items that a cell links to."""
    links = (cell.stored or {}).get("linkedPulseIds", ())
    items = (cell.store.items.find(str(link["linkedPulseId"])) for link in links)
    return [item for item in items if item is not None and item.state == "active"]


def status_label(cell: Cell) -> str | None:
    """Return the label of a status; None when it is empty."""
    labels: dict[str, str] = cell.column.settings.get("labels", {})
    return labels.get(str((cell.stored or {}).get("index")))


def selected_labels(cell: Cell) -> list[dict[str, str]]:
    """Return the selected labels of a dropdown, in the order of its settings."""
    ids = set((cell.stored or {}).get("ids", ()))
    labels = cell.column.settings.get("labels", ())
    return [
        {"id": str(label["id"]), "label": label["name"]} for label in labels if label["id"] in ids
    ]


def selected_tags(cell: Cell) -> list[Tag]:
    """Return the selected tags of a cell."""
    ids = (cell.stored or {}).get("tag_ids", ())
    return [tag for tag_id in ids if (tag := cell.store.tags.find(str(tag_id))) is not None]


# Texts


def _people(cell: Cell) -> str:
    names = []
    for member in cell.stored.get("personsAndTeams", ()):
        table = cell.store.teams if member["kind"] == "team" else cell.store.users
        record = table.find(str(member["id"]))
        names += [record.name] if record is not None else []
    return ", ".join(names)


def _date(cell: Cell) -> str:
    time_of_day = cell.stored.get("time")
    return f"{cell.stored['date']} {time_of_day[:5]}" if time_of_day else str(cell.stored["date"])


def _link(cell: Cell) -> str:
    text, url = cell.stored.get("text") or "", cell.stored["url"]
    return url if text in {"", url} else f"{text} - {url}"


def _hour(cell: Cell) -> str:
    return time(cell.stored["hour"], cell.stored["minute"]).strftime("%I:%M %p")


def _format_log_time(text: str) -> str:
    return f"{text[:10]} {text[11:19]} UTC"


_TEXT_FORMATTERS: Mapping[str, Callable[[Cell], str]] = MappingProxyType(
    {
        "text": lambda cell: str(cell.stored),
        "numbers": lambda cell: str(cell.stored),
        "long_text": lambda cell: str(cell.stored["text"]),
        "status": lambda cell: status_label(cell) or "",
        "dropdown": lambda cell: ", ".join(selected["label"] for selected in selected_labels(cell)),
        "date": _date,
        "timeline": lambda cell: f"{cell.stored['from']} - {cell.stored['to']}",
        "people": _people,
        "checkbox": lambda cell: "v" if cell.stored.get("checked") else "",
        "email": lambda cell: str(cell.stored["text"]),
        "phone": lambda cell: str(cell.stored["phone"]),
        "link": _link,
        "rating": lambda cell: str(cell.stored["rating"]),
        "tags": lambda cell: ", ".join(tag.name for tag in selected_tags(cell)),
        "hour": _hour,
        "country": lambda cell: str(cell.stored["countryName"]),
        "week": lambda cell: " - ".join(cell.stored["week"].values()),
        "board_relation": lambda cell: ", ".join(item.name for item in linked_items(cell)),
        "dependency": lambda cell: ", ".join(item.name for item in linked_items(cell)),
    }
)


# Computed columns have no stored value.


def _formula(cell: Cell) -> str:
    """Calculate a formula from left to right, without precedence; "" when a column is empty."""
    tokens = _FORMULA_TOKENS.findall(str(cell.column.settings.get("formula", "")))
    total: float | None = None
    operator = "+"
    for column_id, literal, sign in tokens:
        if sign:
            operator = sign
            continue
        operand: Any = cell.item.values.get(column_id) if column_id else literal
        try:
            number = float(operand)
        except (TypeError, ValueError):
            return ""
        total = _calculate(total, operator, number)
        if total is None:
            return ""
    return "" if total is None else f"{total:.2f}".rstrip("0").rstrip(".")


def _calculate(total: float | None, operator: str, number: float) -> float | None:
    if total is None:
        return number
    if operator == "/":
        return total / number if number else None
    return {"+": total + number, "-": total - number, "*": total * number}[operator]


def _mirror(cell: Cell) -> str:
    """Return the texts of a column of linked items; another column of the item has the links."""
    relations = cell.column.settings.get("relation_column", {})
    texts: list[str] = []
    for relation in cell.board.columns:
        if not relations.get(relation.id):
            continue
        relation_cell = Cell(store=cell.store, board=cell.board, item=cell.item, column=relation)
        for item in linked_items(relation_cell):
            texts += _mirrored_texts(cell, item)
    return ", ".join(texts)


def _mirrored_texts(cell: Cell, item: Item) -> list[str]:
    board = cell.store.boards.find(item.owner)
    if board is None:
        return []
    displayed_ids = [
        str(column_id)
        for displayed in cell.column.settings.get("displayed_linked_columns", ())
        if str(displayed.get("board_id")) == board.id
        for column_id in displayed.get("column_ids", ())
    ]
    linked_cells = (
        Cell(store=cell.store, board=board, item=item, column=column)
        for column in board.columns
        if column.id in displayed_ids
    )
    return [text for linked_cell in linked_cells if (text := linked_cell.display_text)]


def _auto_number(cell: Cell) -> str:
    items = cell.store.board_items(cell.board)
    return str(
        next((number for number, item in enumerate(items, 1) if item.id == cell.item.id), "")
    )


_COMPUTED_COLUMNS: Mapping[str, Callable[[Cell], str]] = MappingProxyType(
    {
        "formula": _formula,
        "mirror": _mirror,
        "item_id": lambda cell: cell.item.id,
        "auto_number": _auto_number,
        "creation_log": lambda cell: _format_log_time(cell.item.created_at),
        "last_updated": lambda cell: _format_log_time(cell.item.updated_at),
        "subtasks": lambda cell: ", ".join(
            subitem.name for subitem in cell.store.subitems(cell.item)
        ),
    }
)


# Typed fields


def _style(cell: Cell) -> dict[str, str] | None:
    index = str((cell.stored or {}).get("index"))
    style: dict[str, str] | None = cell.column.settings.get("labels_colors", {}).get(index)
    return style


def _is_done(cell: Cell) -> bool:
    index = (cell.stored or {}).get("index")
    return index in cell.column.settings.get("done_colors", (1,))


def _persons(cell: Cell) -> list[dict[str, str]]:
    members = (cell.stored or {}).get("personsAndTeams", ())
    return [{"id": str(member["id"]), "kind": member["kind"]} for member in members]


def _country(cell: Cell) -> dict[str, str] | None:
    stored = cell.stored
    if stored is None:
        return None
    return {"code": stored["countryCode"], "name": stored["countryName"]}


def _timeline_end(name: str) -> Callable[[Cell], str | None]:
    def read(cell: Cell) -> str | None:
        day = (cell.stored or {}).get(name)
        return f"{day}T00:00:00+00:00" if day else None

    return read


def _unit(name: str, default: str) -> Callable[[Cell], str | None]:
    def read(cell: Cell) -> str | None:
        unit = cell.column.settings.get("unit")
        return None if unit is None else unit.get(name, default)

    return read


_STORED_KEYS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "email": {"label": "text"},
        "link": {"url_text": "text"},
        "phone": {"country_short_name": "countryShortName"},
    }
)
_TYPED_FIELDS: Mapping[tuple[str, str], Callable[[Cell], Any]] = MappingProxyType(
    {
        ("status", "label"): status_label,
        ("status", "label_style"): _style,
        ("status", "is_done"): _is_done,
        ("dropdown", "values"): selected_labels,
        ("people", "persons_and_teams"): _persons,
        ("tags", "tags"): selected_tags,
        ("tags", "tag_ids"): lambda cell: (cell.stored or {}).get("tag_ids", []),
        ("numbers", "number"): lambda cell: None if cell.stored is None else float(cell.stored),
        ("numbers", "symbol"): _unit("symbol", ""),
        ("numbers", "direction"): _unit("direction", "right"),
        ("timeline", "from"): _timeline_end("from"),
        ("timeline", "to"): _timeline_end("to"),
        ("country", "country"): _country,
        ("week", "start_date"): lambda cell: (cell.stored or {}).get("week", {}).get("startDate"),
        ("week", "end_date"): lambda cell: (cell.stored or {}).get("week", {}).get("endDate"),
        ("item_id", "item_id"): lambda cell: cell.item.id,
        ("last_updated", "updater_id"): lambda cell: cell.item.updater_id,
        ("last_updated", "updater"): lambda cell: cell.store.users.find(cell.item.updater_id),
        ("creation_log", "created_at"): lambda cell: cell.item.created_at,
        ("creation_log", "creator_id"): lambda cell: cell.item.creator_id,
        ("creation_log", "creator"): lambda cell: cell.store.users.find(cell.item.creator_id),
        ("subtasks", "subitems"): lambda cell: cell.store.subitems(cell.item),
        ("subtasks", "subitems_ids"): lambda cell: [
            subitem.id for subitem in cell.store.subitems(cell.item)
        ],
        ("board_relation", "linked_items"): linked_items,
        ("board_relation", "linked_item_ids"): lambda cell: [
            linked_item.id for linked_item in linked_items(cell)
        ],
        ("dependency", "linked_items"): linked_items,
        ("dependency", "linked_item_ids"): lambda cell: [
            linked_item.id for linked_item in linked_items(cell)
        ],
    }
)
