"""What a check found, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How a check ended; a warning is something that works, but not as it should."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One line of the report.

    Attributes:
        name: Of the check, the same in every version.
        remedy: What to do; None when there is nothing to do.
    """

    name: str
    outcome: Outcome
    detail: str
    remedy: str | None = None

    @property
    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "name": self.name,
            "outcome": self.outcome.value,
            "detail": self.detail,
            "remedy": self.remedy,
        }


def ok(name: str, detail: str) -> Finding:
    """All is well."""
    return Finding(name, Outcome.OK, detail)


def warn(name: str, detail: str, remedy: str) -> Finding:
    """It works, but not as it should."""
    return Finding(name, Outcome.WARN, detail, remedy)


def fail(name: str, detail: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding(name, Outcome.FAIL, detail, remedy)


def unknown(name: str, because: str) -> Finding:
    """Nothing can be said while the check *because* fails."""
    return warn(name, "not looked at", f"Mend {because!r} first.")
