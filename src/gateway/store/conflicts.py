"""
Repetition of transactions that PostgreSQL rolled back because of another one.

A deadlock, a serialization failure or a connection that was lost before the commit means that
nothing was written and that the same transaction may succeed now. Every function that writes in a
transaction is therefore `retried`; see docs/spec/reliability.md#database-failures.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from gateway.store.database import TransactionConflict

P = ParamSpec("P")
R = TypeVar("R")

MAX_ATTEMPTS = 5
_PAUSE_SECONDS = 0.02  # at most, after the first attempt; doubled after each further one


def retried(work: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """
    Run *work* again, up to `MAX_ATTEMPTS` times, when its transaction was rolled back by another.

    *work* has no effect besides its transaction, or one that may happen again. The last conflict is
    raised as it came.
    """

    @wraps(work)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for attempt in range(1, MAX_ATTEMPTS):
            try:
                return await work(*args, **kwargs)
            except Exception as failure:
                if not _is_conflict(failure):
                    raise
            # Without the pause, two transactions might meet again and again.
            await asyncio.sleep(random.uniform(0, _PAUSE_SECONDS * 2**attempt))  # noqa: S311
        return await work(*args, **kwargs)

    return run


def _is_conflict(failure: Exception) -> bool:
    """Return whether *failure* is a conflict, or an answer that was made of one."""
    return isinstance(failure, TransactionConflict) or isinstance(
        failure.__cause__, TransactionConflict
    )
