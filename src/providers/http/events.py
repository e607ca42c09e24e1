"""Events of upstream calls, for metrics and the audit log; they never say what a call was for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec


class CallEvent(msgspec.Struct, frozen=True):
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
        shared: Whether it was made in a `shared_lookup`.
    """

    upstream: str
    method: str
    outcome: str
    began: float
    ended: float
    connection: int | str | None = None
    shared: bool = False


in_shared_lookup: ContextVar[bool] = ContextVar("shared_lookup", default=False)


@contextmanager
def shared_lookup() -> Iterator[None]:
    """
    Mark the calls of the ``with`` block as filling a cache that all tokens share.

    They are not counted to a caller (docs/spec/graphql.md#cost): whether they are made tells what
    other tokens did.
    """
    token = in_shared_lookup.set(True)
    try:
        yield
    finally:
        in_shared_lookup.reset(token)


CallListener = Callable[[CallEvent], None]
