"""The board provider's column types: what they are to us, and what their settings offer."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from providers.connectors.boards import response_types
from providers.item_visibility import COMPUTED, Column

# Upstream's word -> ours; what is not here is "other".
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
# What can be set; wire report 1C names what cannot, and what nobody knows cannot either.
_WRITABLE = frozenset(
    {
        "text",
        "long_text",
        "numbers",
        "status",
        "color",
        "date",
        "timeline",
        "people",
        "person",
        "team",
        "tags",
        "dropdown",
        "checkbox",
        "link",
        "email",
        "phone",
        "board_relation",
        "dependency",
        "rating",
        "hour",
        "week",
        "country",
        "world_clock",
        "location",
        "color_picker",
    }
)
_NAME = "name"  # upstream's own column for the item's name: a pseudo column here

# What a column shows besides what it is the source of.
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


def columns(found: Iterable[response_types.Column | None]) -> tuple[Column, ...]:
    """Return a board's columns in their order, without archived ones and that of the name."""
    return tuple(
        column(one) for one in found if one is not None and not one.archived and one.type != _NAME
    )


def column(given: response_types.Column) -> Column:
    """Return a column; without settings when these were not asked for."""
    settings = _settings(given.settings_str)
    return Column(
        id=given.id,
        title=given.title,
        native=given.type,
        type=TYPES.get(given.type, "other"),
        writable=given.type in _WRITABLE,
        options=_options(given.type, settings),
        shows=_SHOWS.get(given.type, frozenset()),
        settings=settings,
    )


def labels(settings: Any) -> list[tuple[str, str]]:
    """Return the labels of a status column as (index, text), in the order they are offered."""
    offered = settings.get("labels") if isinstance(settings, Mapping) else None
    if isinstance(offered, list):
        return [
            (str(one.get("id", one.get("index"))), str(one.get("label", one.get("name"))))
            for one in offered
            if isinstance(one, Mapping)
        ]
    if not isinstance(offered, Mapping):
        return []
    places = settings.get("labels_positions_v2")
    if not isinstance(places, Mapping):
        places = {}
    texts = [(str(index), str(text)) for index, text in offered.items() if text]
    return sorted(texts, key=lambda one: _place(places.get(one[0])))


def sub_board(found: Iterable[Column]) -> str | None:
    """Return the id of the board that holds the sub-items; None when there is none."""
    for one in found:
        ids = one.settings.get("boardIds") if isinstance(one.settings, Mapping) else None
        if one.native == "subtasks" and isinstance(ids, list) and ids:
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


def _place(given: Any) -> float:
    return float(given) if isinstance(given, int | float) else float("inf")
