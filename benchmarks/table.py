"""What is measured: tables of variants, and the promises that some must keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.rounds import Measured, Run


@dataclass(frozen=True, slots=True)
class Promise:
    """
    What a variant may cost at most.

    Attributes:
        name: "R1".
        of, to: The variant that must keep it, and the one it is compared with.
        most: The greatest ratio.
    """

    name: str
    of: str
    to: str
    most: float


@dataclass(frozen=True, slots=True)
class Table:
    """
    Variants that do the same work; shown as shares of the first one.

    Attributes:
        layered: The variant of which every layer is told.
    """

    title: str
    variants: Mapping[str, Run]
    promises: Sequence[Promise] = ()
    layered: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """
    A table with its figures.

    Attributes:
        layers: Layer -> CPU microseconds, outermost first.
    """

    table: Table
    measured: Measured
    layers: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Growth:
    """
    How a cost grows.

    Attributes:
        by: What grows: "mails on the page".
        lines: Name of a line -> (size, CPU microseconds per call).
    """

    title: str
    by: str
    lines: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
