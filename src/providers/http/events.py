"""Events of upstream calls, for metrics and the audit log; they never say what a call was for."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallEvent:
    """
    One attempt at an upstream call that is over.

    Attributes:
        upstream: The provider's code, or "tokens" for OAuth endpoints.
        method: In capitals.
        outcome: The response's status as text, or "broken" (no response), "late" (timed out),
            "cancelled" (by the caller).
        began: On the `time.perf_counter` scale.
        ended: On the same scale, when the response was read to its end or given up.
        connection: Whose credentials were sent: a connection's id, or "token:<id>" for its token
            endpoint; None: no credentials.
    """

    upstream: str
    method: str
    outcome: str
    began: float
    ended: float
    connection: int | str | None = None


CallListener = Callable[[CallEvent], None]
