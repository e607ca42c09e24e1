"""Writes of which nobody knows whether they were done. Source: decisions 5.9; reliability F2."""

from collections.abc import Iterator
from contextlib import contextmanager

from providers.failures import Broken, OutcomeUnknown, ProviderFailure, TimedOut, Unreachable


@contextmanager
def unknown_if_ambiguous() -> Iterator[None]:
    """
    Stand around a write that must not be done twice, and around the reading of its answer.

    Raises:
        OutcomeUnknown: It may have been done; see `may_have_happened`.
    """
    try:
        yield
    except ProviderFailure as failure:
        if may_have_happened(failure):
            raise OutcomeUnknown from failure
        raise


def may_have_happened(failure: ProviderFailure) -> bool:
    """
    Whether a write that failed so may have been done all the same.

    That is so when the answer is lost or cannot be read, and not when upstream says no (4xx) or
    that it failed (5xx).
    """
    if isinstance(failure, Unreachable | TimedOut):
        return failure.sent
    return isinstance(failure, Broken) and not failure.failed
