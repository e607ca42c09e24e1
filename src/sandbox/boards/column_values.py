"""An item's value in one column as the wire shows it: ``text``, ``value`` and the typed fields."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import time
from types import MappingProxyType
from typing import Any

import orjson

from sandbox.boards.records import Board, Column, Item, Tag
from sandbox.boards.store import BoardStore

# Column type -> the wire's type of its values.
TYPES: Mapping[str, str] = MappingProxyType(
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

# Their text is null however much they hold, or when they hold nothing. reference/wire.md 1C
_NEVER_TEXT = frozenset({"mirror", "board_relation", "dependency"})
_NULL_WHEN_EMPTY = frozenset({"status", "dropdown", "subtasks"})
_LINKED = frozenset({"board_relation", "dependency"})
_PIECES = re.compile(r"\{([^{}]+)\}|(\d+(?:\.\d+)?)|([-+*/])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One item, one column."""

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
    def kept(self) -> Any:
        """What is kept, None for an empty cell."""
        return self.item.values.get(self.column.id)

    @property
    def value(self) -> str | None:
        """The wire's ``value``: JSON as a text."""
        if self.column.type in _LINKED or self.kept is None:
            return None
        return orjson.dumps(self.kept).decode()

    @property
    def text(self) -> str | None:
        """What a person would read."""
        if self.column.type in _NEVER_TEXT:
            return None
        return self.shown or (None if self.column.type in _NULL_WHEN_EMPTY else "")

    @property
    def shown(self) -> str:
        """What the provider's own pages would show, "" for nothing."""
        computed = _COMPUTED.get(self.column.type)
        if computed is not None:
            return computed(self)
        show = _TEXTS.get(self.column.type)
        return "" if self.kept is None or show is None else show(self)

    def typed(self, name: str) -> Any:
        """Return a field that only this type of value has."""
        if name == "display_value":
            return self.shown
        kept = self.kept if isinstance(self.kept, dict) else {}
        if name == "updated_at":
            return self.item.updated_at if self.type == "last_updated" else kept.get("changed_at")
        if name in _RENAMED.get(self.type, {}):
            return kept.get(_RENAMED[self.type][name])
        special = _SPECIAL.get((self.type, name))
        return kept.get(name) if special is None else special(self)


def linked_items(cell: Cell) -> list[Item]:
    """Return the items that a cell links to and that still are."""
    ids = [
        str(linked_pulse_id["linkedPulseId"])
        for linked_pulse_id in (cell.kept or {}).get("linkedPulseIds", ())
    ]
    found = (cell.store.items.find(id_) for id_ in ids)
    return [item for item in found if item is not None and item.state == "active"]


def label_of(cell: Cell) -> str | None:
    """Return the label of a status."""
    labels: dict[str, str] = cell.column.settings.get("labels", {})
    return labels.get(str((cell.kept or {}).get("index")))


def dropdown_options(cell: Cell) -> list[dict[str, str]]:
    """Return the labels of a dropdown, in their order."""
    ids = set((cell.kept or {}).get("ids", ()))
    labels = cell.column.settings.get("labels", ())
    return [
        {"id": str(label["id"]), "label": label["name"]} for label in labels if label["id"] in ids
    ]


def tags_of(cell: Cell) -> list[Tag]:
    """Return the tags of a cell."""
    ids = (cell.kept or {}).get("tag_ids", ())
    return [tag for id_ in ids if (tag := cell.store.tags.find(str(id_))) is not None]


# Texts


def _people(cell: Cell) -> str:
    names = []
    for member in cell.kept.get("personsAndTeams", ()):
        known = cell.store.teams if member["kind"] == "team" else cell.store.users
        found = known.find(str(member["id"]))
        names += [found.name] if found is not None else []
    return ", ".join(names)


def _date(cell: Cell) -> str:
    hour = cell.kept.get("time")
    return f"{cell.kept['date']} {hour[:5]}" if hour else str(cell.kept["date"])


def _link(cell: Cell) -> str:
    text, url = cell.kept.get("text") or "", cell.kept["url"]
    return url if text in {"", url} else f"{text} - {url}"


def _hour(cell: Cell) -> str:
    return time(cell.kept["hour"], cell.kept["minute"]).strftime("%I:%M %p")


def _moment(text: str) -> str:
    return f"{text[:10]} {text[11:19]} UTC"


_TEXTS: Mapping[str, Callable[[Cell], str]] = MappingProxyType(
    {
        "text": lambda cell: str(cell.kept),
        "numbers": lambda cell: str(cell.kept),
        "long_text": lambda cell: str(cell.kept["text"]),
        "status": lambda cell: label_of(cell) or "",
        "dropdown": lambda cell: ", ".join(
            dropdown_option["label"] for dropdown_option in dropdown_options(cell)
        ),
        "date": _date,
        "timeline": lambda cell: f"{cell.kept['from']} - {cell.kept['to']}",
        "people": _people,
        "checkbox": lambda cell: "v" if cell.kept.get("checked") else "",
        "email": lambda cell: str(cell.kept["text"]),
        "phone": lambda cell: str(cell.kept["phone"]),
        "link": _link,
        "rating": lambda cell: str(cell.kept["rating"]),
        "tags": lambda cell: ", ".join(tag.name for tag in tags_of(cell)),
        "hour": _hour,
        "country": lambda cell: str(cell.kept["countryName"]),
        "week": lambda cell: " - ".join(cell.kept["week"].values()),
        "board_relation": lambda cell: ", ".join(item.name for item in linked_items(cell)),
        "dependency": lambda cell: ", ".join(item.name for item in linked_items(cell)),
    }
)


# Computed columns: nothing is kept for them


def _formula(cell: Cell) -> str:
    """Multiply, divide, add and take away, from left to right; "" where a column is empty."""
    pieces = _PIECES.findall(str(cell.column.settings.get("formula", "")))
    total: float | None = None
    operator = "+"
    for column_id, literal, sign in pieces:
        if sign:
            operator = sign
            continue
        kept: Any = cell.item.values.get(column_id) if column_id else literal
        try:
            number = float(kept)
        except (TypeError, ValueError):
            return ""
        total = _applied(total, operator, number)
        if total is None:
            return ""
    return "" if total is None else f"{total:.2f}".rstrip("0").rstrip(".")


def _applied(total: float | None, operator: str, number: float) -> float | None:
    if total is None:
        return number
    if operator == "/":
        return total / number if number else None
    return {"+": total + number, "-": total - number, "*": total * number}[operator]


def _mirror(cell: Cell) -> str:
    """Show a column of the items that another column of this item links to."""
    relations = cell.column.settings.get("relation_column", {})
    shown: list[str] = []
    for relation in cell.board.columns:
        if not relations.get(relation.id):
            continue
        link = Cell(store=cell.store, board=cell.board, item=cell.item, column=relation)
        for item in linked_items(link):
            shown += _mirrored(cell, item)
    return ", ".join(shown)


def _mirrored(cell: Cell, item: Item) -> list[str]:
    board = cell.store.boards.find(item.owner)
    if board is None:
        return []
    wanted = [
        str(column_id)
        for displayed_linked_column in cell.column.settings.get("displayed_linked_columns", ())
        if str(displayed_linked_column.get("board_id")) == board.id
        for column_id in displayed_linked_column.get("column_ids", ())
    ]
    columns = [column for column in board.columns if column.id in wanted]
    cells = (Cell(store=cell.store, board=board, item=item, column=one) for one in columns)
    return [text for one in cells if (text := one.shown)]


def _place(cell: Cell) -> str:
    items = cell.store.board_items(cell.board)
    return str(next((n for n, one in enumerate(items, 1) if one.id == cell.item.id), ""))


_COMPUTED: Mapping[str, Callable[[Cell], str]] = MappingProxyType(
    {
        "formula": _formula,
        "mirror": _mirror,
        "item_id": lambda cell: cell.item.id,
        "auto_number": _place,
        "creation_log": lambda cell: _moment(cell.item.created_at),
        "last_updated": lambda cell: _moment(cell.item.updated_at),
        "subtasks": lambda cell: ", ".join(
            sub_item.name for sub_item in cell.store.sub_items(cell.item)
        ),
    }
)


# Typed fields


def _style(cell: Cell) -> dict[str, str] | None:
    index = str((cell.kept or {}).get("index"))
    style: dict[str, str] | None = cell.column.settings.get("labels_colors", {}).get(index)
    return style


def _is_done(cell: Cell) -> bool:
    index = (cell.kept or {}).get("index")
    return index in cell.column.settings.get("done_colors", (1,))


def _persons(cell: Cell) -> list[dict[str, str]]:
    several = (cell.kept or {}).get("personsAndTeams", ())
    return [{"id": str(one["id"]), "kind": one["kind"]} for one in several]


def _country(cell: Cell) -> dict[str, str] | None:
    kept = cell.kept
    return None if kept is None else {"code": kept["countryCode"], "name": kept["countryName"]}


def _instant(name: str) -> Callable[[Cell], str | None]:
    def read(cell: Cell) -> str | None:
        day = (cell.kept or {}).get(name)
        return f"{day}T00:00:00+00:00" if day else None

    return read


def _unit(name: str, usual: str) -> Callable[[Cell], str | None]:
    def read(cell: Cell) -> str | None:
        unit = cell.column.settings.get("unit")
        return None if unit is None else unit.get(name, usual)

    return read


_RENAMED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "email": {"label": "text"},
        "link": {"url_text": "text"},
        "phone": {"country_short_name": "countryShortName"},
    }
)
_SPECIAL: Mapping[tuple[str, str], Callable[[Cell], Any]] = MappingProxyType(
    {
        ("status", "label"): label_of,
        ("status", "label_style"): _style,
        ("status", "is_done"): _is_done,
        ("dropdown", "values"): dropdown_options,
        ("people", "persons_and_teams"): _persons,
        ("tags", "tags"): tags_of,
        ("tags", "tag_ids"): lambda cell: (cell.kept or {}).get("tag_ids", []),
        ("numbers", "number"): lambda cell: None if cell.kept is None else float(cell.kept),
        ("numbers", "symbol"): _unit("symbol", ""),
        ("numbers", "direction"): _unit("direction", "right"),
        ("timeline", "from"): _instant("from"),
        ("timeline", "to"): _instant("to"),
        ("country", "country"): _country,
        ("week", "start_date"): lambda cell: (cell.kept or {}).get("week", {}).get("startDate"),
        ("week", "end_date"): lambda cell: (cell.kept or {}).get("week", {}).get("endDate"),
        ("item_id", "item_id"): lambda cell: cell.item.id,
        ("last_updated", "updater_id"): lambda cell: cell.item.updater_id,
        ("last_updated", "updater"): lambda cell: cell.store.users.find(cell.item.updater_id),
        ("creation_log", "created_at"): lambda cell: cell.item.created_at,
        ("creation_log", "creator_id"): lambda cell: cell.item.creator_id,
        ("creation_log", "creator"): lambda cell: cell.store.users.find(cell.item.creator_id),
        ("subtasks", "subitems"): lambda cell: cell.store.sub_items(cell.item),
        ("subtasks", "subitems_ids"): lambda cell: [
            sub_item.id for sub_item in cell.store.sub_items(cell.item)
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
