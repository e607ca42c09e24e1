"""What is measured: tables of variants, and the limits that some must keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.rounds import Measured, Run


@dataclass(frozen=True, slots=True)
class Limit:
    """
    A promise.

    Attributes:
        name: "R1".
        variant: The one that must keep it.
        most: Its cost at most, as a share of the first variant's.
    """

    name: str
    variant: str
    most: float


@dataclass(frozen=True, slots=True)
class Table:
    """
    Variants that do the same work; ratios are to the first one.

    Attributes:
        calls: How often a variant does its work in one run; costs are told for one.
    """

    title: str
    variants: Mapping[str, Run]
    limits: Sequence[Limit] = ()
    note: str = ""


@dataclass(slots=True)
class Result:
    """A table with its figures."""

    table: Table
    measured: Measured

    @property
    def verdicts(self) -> list[tuple[Limit, float, bool]]:
        """Each limit, the ratio found, and whether it is kept."""
        found = []
        for limit in self.table.limits:
            ratio = self.measured.ratios[limit.variant].middle
            found.append((limit, ratio, ratio <= limit.most))
        return found


@dataclass(slots=True)
class Growth:
    """
    How a cost grows.

    Attributes:
        by: What grows: "page size".
        lines: Name of a line -> (size, CPU microseconds per call).
    """

    title: str
    by: str
    lines: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
