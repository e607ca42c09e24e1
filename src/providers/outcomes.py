"""Writes whose outcome is unknown: docs/spec/errors.md#unknown-outcome."""

from collections.abc import Iterator
from contextlib import contextmanager

from providers.failures import Broken, OutcomeUnknown, ProviderFailure, TimedOut, Unreachable


@contextmanager
def unknown_if_ambiguous() -> Iterator[None]:
    """
    Wrap a write that must not be done twice, and the decoding of its response.

    Raises:
        OutcomeUnknown: The write failed in a way that does not say whether it happened; see
            `may_have_happened`. Other failures pass unchanged.
    """
    try:
        yield
    except ProviderFailure as failure:
        if may_have_happened(failure):
            raise OutcomeUnknown from failure
        raise


def may_have_happened(failure: ProviderFailure) -> bool:
    """
    Return whether a write that failed may have been carried out.

    True when its response was lost or cannot be decoded; False when upstream refused the write
    (4xx) or reported a failure of its own (5xx).
    """
    if isinstance(failure, Unreachable | TimedOut):
        return failure.sent
    return isinstance(failure, Broken) and not failure.failed
