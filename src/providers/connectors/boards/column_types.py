"""Column types and column settings: docs/spec/upstream/monday.md#column-types."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from providers.connectors.boards import response_types
from providers.item_visibility import COMPUTED, Column

# monday.com's type -> the gateway's; any other type is "other".
TYPES: Mapping[str, str] = MappingProxyType(
    {
        "text": "text",
        "long_text": "long_text",
        "numbers": "number",
        "status": "status",
        "color": "status",
        "date": "date",
        "timeline": "timeline",
        "people": "people",
        "person": "people",
        "team": "people",
        "tags": "tags",
        "dropdown": "dropdown",
        "checkbox": "checkbox",
        "link": "link",
        "email": "email",
        "phone": "phone",
        "file": "file",
        "board_relation": "relation",
        "dependency": "relation",
        "mirror": "relation",
        "subtasks": "relation",
        "formula": "formula",
    }
)
# Types whose values can be set; unknown types cannot.
_WRITABLE = (TYPES.keys() - {"file", "mirror", "subtasks", "formula"}) | {
    "rating",
    "hour",
    "week",
    "country",
    "world_clock",
    "location",
    "color_picker",
}
_NAME = "name"  # monday.com's column for the item's name, which is not a column of the gateway

# Attributes of `TaskItem` that a type reveals besides the derived fields it is the source of.
_SHOWS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "creation_log": frozenset({"created_at"}),
        "last_updated": frozenset({"updated_at"}),
        "subtasks": frozenset({"sub_items", "name"}),
        "mirror": COMPUTED,
        "formula": COMPUTED,
        "board_relation": frozenset({"name"}),
        "dependency": frozenset({"name"}),
        "progress": frozenset({"status"}),
        "item_assignees": frozenset({"assignees"}),
    }
)


def columns(board_columns: Iterable[response_types.Column | None]) -> tuple[Column, ...]:
    """Return a board's columns in their order, without archived ones and the name column."""
    return tuple(
        column(board_column)
        for board_column in board_columns
        if board_column and not board_column.archived and board_column.type != _NAME
    )


def column(native: response_types.Column) -> Column:
    """Return a column; without settings when *native* has none."""
    settings = _settings(native.settings_str)
    return Column(
        id=native.id,
        title=native.title,
        native=native.type,
        type=TYPES.get(native.type, "other"),
        writable=native.type in _WRITABLE,
        options=_options(native.type, settings),
        shows=_SHOWS.get(native.type, frozenset()),
        settings=settings,
    )


def labels(settings: Any) -> list[tuple[str, str]]:
    """Return the labels of a status column as (index, text), in display order."""
    offered = settings.get("labels") if isinstance(settings, Mapping) else None
    if isinstance(offered, list):
        return [
            (str(label.get("id", label.get("index"))), str(label.get("label", label.get("name"))))
            for label in offered
            if isinstance(label, Mapping)
        ]
    if not isinstance(offered, Mapping):
        return []
    positions = settings.get("labels_positions_v2")
    if not isinstance(positions, Mapping):
        positions = {}
    texts = [(str(index), str(text)) for index, text in offered.items() if text]
    return sorted(texts, key=lambda label: _position(positions.get(label[0])))


def sub_board(board_columns: Iterable[Column]) -> str | None:
    """Return the id of the board that holds the sub-items; None when there is none."""
    for column in board_columns:
        ids = column.settings.get("boardIds") if isinstance(column.settings, Mapping) else None
        if column.native == "subtasks" and isinstance(ids, list) and ids:
            return str(ids[0])
    return None


def _options(native: str, settings: Any) -> tuple[str, ...] | None:
    if native in {"status", "color", "dropdown"}:
        return tuple(text for _, text in labels(settings))
    return None


def _settings(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}


def _position(position: Any) -> float:
    return float(position) if isinstance(position, int | float) else float("inf")
