"""Settings of new columns, as ``settings_str`` shows them."""

from typing import Any

from sandbox.boards.store import GROUP_COLORS

DEFAULT_LABELS = ("Working on it", "Done", "Stuck")
EMPTY_STATUS_INDEX = 5  # index of a status that was never set; no label gets it


def status_settings(labels: tuple[str, ...] = DEFAULT_LABELS, done: int = 1) -> dict[str, Any]:
    """Return the settings of a status column; *done* is the index of the label for done items."""
    indexes = [index if index < EMPTY_STATUS_INDEX else index + 1 for index in range(len(labels))]
    return {
        "done_colors": [done],
        "labels": {str(index): name for index, name in zip(indexes, labels, strict=True)},
        "labels_positions_v2": {str(index): position for position, index in enumerate(indexes)},
        "labels_colors": {
            str(index): {
                "color": GROUP_COLORS[index % len(GROUP_COLORS)],
                "border": GROUP_COLORS[index % len(GROUP_COLORS)],
                "var_name": "grass-green",
            }
            for index in indexes
        },
    }


def dropdown_settings(*labels: str) -> dict[str, Any]:
    """Return the settings of a dropdown column with these labels."""
    return {"labels": [{"id": number, "name": name} for number, name in enumerate(labels, 1)]}


def numbers_settings(symbol: str, *, direction: str = "right") -> dict[str, Any]:
    """Return the settings of a numbers column with the unit *symbol*."""
    return {"unit": {"symbol": symbol, "custom_unit": symbol, "direction": direction}}
