"""What a watcher of the connectors is told of each upstream call: never what it was for."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallEvent:
    """
    One try at an upstream call, when it is over.

    Attributes:
        upstream: The provider's code, or what else is called ("tokens").
        method: In capitals.
        outcome: The answer's status as text, or "broken" (no answer), "late" (out of time),
            "cancelled" (nobody wanted it any more).
        began: On the `time.perf_counter` scale.
        ended: On the same scale, when the answer was read to its end or given up.
        connection: Whose credentials went along: a connection's id, or what else is called for
            ("token:7"); None: nobody's.
    """

    upstream: str
    method: str
    outcome: str
    began: float
    ended: float
    connection: int | str | None = None


CallListener = Callable[[CallEvent], None]
