"""Tables of variants, the ratios promised for some of them, and the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.rounds import Measured, Run


@dataclass(frozen=True, slots=True)
class Promise:
    """
    Maximum cost of a variant relative to another.

    Attributes:
        name: Short name, such as "R1".
        of, to: The measured variant, and the baseline that it is compared with.
        most: The greatest allowed ratio.
    """

    name: str
    of: str
    to: str
    most: float


@dataclass(frozen=True, slots=True)
class Table:
    """
    Variants that do the same work, shown as shares of the first one.

    Attributes:
        layered: The variant whose layers are measured; None for none.
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
    Growth of a cost.

    Attributes:
        by: The growing quantity, such as "mails on the page".
        lines: Name of a line -> (size, CPU microseconds per call).
    """

    title: str
    by: str
    lines: dict[str, list[tuple[int, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """
    A figure of a whole process.

    Attributes:
        to: The figure of the plain application; None if it has none.
    """

    name: str
    value: float
    unit: str
    to: float | None = None
