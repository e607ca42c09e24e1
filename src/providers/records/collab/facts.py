"""Facts of records: what rules are evaluated on, which upstream may not tell."""

from enum import Enum, auto
from typing import Final, Literal, TypeAlias


class UnknownType(Enum):
    """The type of UNKNOWN, the value of a fact that upstream did not tell."""

    UNKNOWN = auto()


UNKNOWN: Final = UnknownType.UNKNOWN
Fact: TypeAlias = str | Literal[UnknownType.UNKNOWN] | None
Unknown: TypeAlias = Literal[UnknownType.UNKNOWN]
