"""Sensitivity labels: those of the catalogue, and those that files carry."""

from providers.records.base import Record


class SensitivityLabel(Record, frozen=True):
    """A label of the catalogue. *id*: a GUID in lower case; a higher *sensitivity* is stricter."""

    id: str
    display_name: str | None = None
    description: str | None = None
    color: str | None = None
    sensitivity: int = 0
    tool_tip: str | None = None
    is_active: bool = True
    is_appliable: bool = True


class FileLabel(Record, frozen=True):
    """
    The label that a file carries.

    Attributes:
        label_id: A GUID in lower case.
        assignment_method: "standard", "privileged" or "auto".
    """

    label_id: str
    assignment_method: str | None = None
