"""Labels of status and dropdown columns: found by index, id or name, and created on request."""

from dataclasses import dataclass
from typing import Any

from sandbox.boards.errors import BadColumnValue
from sandbox.boards.records import Column
from sandbox.boards.settings import EMPTY_STATUS_INDEX
from sandbox.boards.store import BoardStore

_MAX_STATUS_LABELS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnWrite:
    """A write to one column; *timestamp* becomes ``changed_at`` of the stored value."""

    store: BoardStore
    column: Column
    labels: "LabelResolver"
    timestamp: str

    def with_timestamp(self, **members: Any) -> dict[str, Any]:
        """Return a stored value of these members and the time of the change."""
        return {**members, "changed_at": self.timestamp}

    def error(self, problem: str = "invalid value") -> BadColumnValue:
        """Build the error for a value that the column cannot take."""
        return BadColumnValue(self.column.type, problem)


class LabelResolver:
    """
    The labels of one board's columns during one mutation.

    Attributes:
        changed_settings: Column id to its settings with new labels; to be stored when the whole
            mutation succeeds.
    """

    def __init__(self, *, create_missing: bool) -> None:
        """*create_missing*: create labels that a column does not have, instead of failing."""
        self._create_missing = create_missing
        self.changed_settings: dict[str, dict[str, Any]] = {}

    def current_settings(self, column: Column) -> dict[str, Any]:
        """Return a column's settings with the labels that this mutation created."""
        return self.changed_settings.get(column.id, column.settings)

    def status_index(self, write: ColumnWrite, value: Any) -> int | None:
        """
        Return the index of a status label; None clears the column.

        Raises:
            BadColumnValue: There is no such label, and it may not be created.
        """
        labels = dict(self.current_settings(write.column).get("labels", {}))
        if isinstance(value, dict):
            index, label = value.get("index"), value.get("label")
            if index is None and label in (None, ""):
                return None
            if index is None and not isinstance(label, str):
                raise write.error()
        elif isinstance(value, str | int):
            index, label = None, str(value)
        else:
            raise write.error()
        if index is not None:
            if str(index) not in labels:
                raise write.error(_unknown_label("status", "statuses", labels))
            return int(str(index))
        label_index = next((key for key, name in labels.items() if name == label), None)
        # The short form may also be an index, but a label of this name comes first.
        if label_index is None and not isinstance(value, dict) and label in labels:
            label_index = label
        if label_index is not None:
            return int(label_index)
        if not self._create_missing or len(labels) >= _MAX_STATUS_LABELS:
            raise write.error(_unknown_label("status", "statuses", labels))
        indexes = (index for index in range(200) if index != EMPTY_STATUS_INDEX)
        new_index = next(index for index in indexes if str(index) not in labels)
        self._change_settings(write.column, labels={**labels, str(new_index): str(label)})
        return new_index

    def dropdown_ids(self, write: ColumnWrite, value: Any) -> list[int]:
        """
        Return the ids of dropdown labels, without duplicates.

        Raises:
            BadColumnValue: There is no such label, and it may not be created.
        """
        names: Any = value
        if isinstance(value, dict):
            if "ids" in value:
                return self._existing_dropdown_ids(write, value["ids"])
            names = value.get("labels")
        if isinstance(names, str):
            names = [part.strip() for part in names.split(",")]
        if not isinstance(names, list):
            raise write.error()
        return list(dict.fromkeys(self._dropdown_id(write, str(name)) for name in names))

    def _existing_dropdown_ids(self, write: ColumnWrite, ids: Any) -> list[int]:
        existing_ids = {
            int(label["id"]) for label in self.current_settings(write.column).get("labels", ())
        }
        ids = ids if isinstance(ids, list) else [ids]
        if not all(str(item).isdecimal() and int(str(item)) in existing_ids for item in ids):
            raise write.error(_unknown_label("dropdown", "labels", self._dropdown_names(write)))
        return list(dict.fromkeys(int(str(item)) for item in ids))

    def _dropdown_id(self, write: ColumnWrite, name: str) -> int:
        labels = list(self.current_settings(write.column).get("labels", ()))
        label_id = next((int(label["id"]) for label in labels if label["name"] == name), None)
        if label_id is not None:
            return label_id
        if not self._create_missing:
            raise write.error(_unknown_label("dropdown", "labels", self._dropdown_names(write)))
        new_id = max((int(label["id"]) for label in labels), default=0) + 1
        self._change_settings(write.column, labels=[*labels, {"id": new_id, "name": name}])
        return new_id

    def _dropdown_names(self, write: ColumnWrite) -> dict[str, str]:
        labels = self.current_settings(write.column).get("labels", ())
        return {str(label["id"]): str(label["name"]) for label in labels}

    def _change_settings(self, column: Column, **settings: Any) -> None:
        self.changed_settings[column.id] = {**self.current_settings(column), **settings}


def _unknown_label(kind: str, plural: str, labels: dict[str, str]) -> str:
    options = ", ".join(f"{key}: {name}" for key, name in labels.items())
    return f"This {kind} label doesn't exist, possible {plural} are: {{{options}}}"
