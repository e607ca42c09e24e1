"""The labels of status and dropdown columns: found by what a call gives, and made when asked."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.boards.column_writers import Writing
    from sandbox.boards.records import Column

_MOST_STATUSES = 40


class LabelBook:
    """
    The labels of one board's columns during one call.

    Attributes:
        made: Column id to its settings with the labels that were made; to be kept when the call
            succeeds as a whole.
    """

    def __init__(self, *, makes: bool) -> None:
        """*makes*: whether a missing label is made rather than refused."""
        self._makes = makes
        self.made: dict[str, dict[str, Any]] = {}

    def settings(self, column: "Column") -> dict[str, Any]:
        """Return a column's settings as they stand in this call."""
        return self.made.get(column.id, column.settings)

    def status(self, writing: "Writing", given: Any) -> int | None:
        """
        Return the index of a status, None for an empty one.

        Raises:
            BadColumnValue: There is no such label, and none is made.
        """
        labels = dict(self.settings(writing.column).get("labels", {}))
        if isinstance(given, dict):
            index, label = given.get("index"), given.get("label")
            if index is None and label in (None, ""):
                return None
            if index is None and not isinstance(label, str):
                raise writing.bad()
        elif isinstance(given, str | int):
            index, label = None, str(given)
        else:
            raise writing.bad()
        if index is not None:
            if str(index) not in labels:
                raise writing.bad(_unknown("status", "statuses", labels))
            return int(str(index))
        found = next((key for key, name in labels.items() if name == label), None)
        # The short form names an index too, but a label of that name comes first.
        if found is None and not isinstance(given, dict) and label in labels:
            found = label
        if found is not None:
            return int(found)
        if not self._makes or len(labels) >= _MOST_STATUSES:
            raise writing.bad(_unknown("status", "statuses", labels))
        new = next(number for number in range(200) if str(number) not in labels and number != 5)
        self._keep(writing.column, labels={**labels, str(new): str(label)})
        return new

    def dropdown(self, writing: "Writing", given: Any) -> list[int]:
        """
        Return the ids of labels.

        Raises:
            BadColumnValue: There is no such label, and none is made.
        """
        wanted: Any = given
        if isinstance(given, dict):
            if "ids" in given:
                return self._dropdown_ids(writing, given["ids"])
            wanted = given.get("labels")
        if isinstance(wanted, str):
            wanted = [part.strip() for part in wanted.split(",")]
        if not isinstance(wanted, list):
            raise writing.bad()
        return list(dict.fromkeys(self._dropdown_id(writing, str(name)) for name in wanted))

    def _dropdown_ids(self, writing: "Writing", wanted: Any) -> list[int]:
        known = {int(label["id"]) for label in self.settings(writing.column).get("labels", ())}
        wanted = wanted if isinstance(wanted, list) else [wanted]
        if not all(str(one).isdecimal() and int(str(one)) in known for one in wanted):
            raise writing.bad(_unknown("dropdown", "labels", self._dropdown_names(writing)))
        return list(dict.fromkeys(int(str(one)) for one in wanted))

    def _dropdown_id(self, writing: "Writing", name: str) -> int:
        labels = list(self.settings(writing.column).get("labels", ()))
        found = next((int(label["id"]) for label in labels if label["name"] == name), None)
        if found is not None:
            return found
        if not self._makes:
            raise writing.bad(_unknown("dropdown", "labels", self._dropdown_names(writing)))
        new = max((int(label["id"]) for label in labels), default=0) + 1
        self._keep(writing.column, labels=[*labels, {"id": new, "name": name}])
        return new

    def _dropdown_names(self, writing: "Writing") -> dict[str, str]:
        labels = self.settings(writing.column).get("labels", ())
        return {str(label["id"]): str(label["name"]) for label in labels}

    def _keep(self, column: "Column", **changed: Any) -> None:
        self.made[column.id] = {**self.settings(column), **changed}


def _unknown(kind: str, plural: str, labels: dict[str, str]) -> str:
    known = ", ".join(f"{key}: {name}" for key, name in labels.items())
    return f"This {kind} label doesn't exist, possible {plural} are: {{{known}}}"
