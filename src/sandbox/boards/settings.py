"""The settings of columns: what the wire shows as ``settings_str``."""

from typing import Any

from sandbox.boards.store import GROUP_COLORS

STATUSES = ("Working on it", "Done", "Stuck")
EMPTY = 5  # the index of a status that was never set; it is never given away


def status_settings(labels: tuple[str, ...] = STATUSES, done: int = 1) -> dict[str, Any]:
    """Return the settings of a status column with these labels, the one at *done* meaning done."""
    indexes = [n if n < EMPTY else n + 1 for n in range(len(labels))]
    return {
        "done_colors": [done],
        "labels": {str(index): name for index, name in zip(indexes, labels, strict=True)},
        "labels_positions_v2": {str(index): place for place, index in enumerate(indexes)},
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
    """Return the settings of a numbers column with a unit."""
    return {"unit": {"symbol": symbol, "custom_unit": symbol, "direction": direction}}
