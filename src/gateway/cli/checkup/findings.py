"""The result of a check, and its remedy."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """Outcome of a check; a warning: it works, but not as it should."""

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


def ok(name: str, detail: str) -> Finding:
    """Return a finding: nothing is wrong."""
    return Finding(name, Outcome.OK, detail)


def warn(name: str, detail: str, remedy: str) -> Finding:
    """Return a finding: it works, but not as it should."""
    return Finding(name, Outcome.WARN, detail, remedy)


def fail(name: str, detail: str, remedy: str) -> Finding:
    """Return a finding: it does not work."""
    return Finding(name, Outcome.FAIL, detail, remedy)


def unknown(name: str, failed: str) -> Finding:
    """Return a finding: the check was not made because the check *failed* failed."""
    return warn(name, "not checked", f"Fix {failed!r} first.")
