"""
Limit of what an account may run at once: docs/spec/sandbox.md#concurrency.

Each upstream of the sandbox has one account, so a limit belongs to the upstream.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from sandbox.error_bodies import mail_graph, provider_a
from sandbox.http import Request, Response


@dataclass(slots=True, kw_only=True)
class ConcurrencyLimit:
    """
    A limit and the calls that run now, inner calls of batches included.

    Attributes:
        most: Calls at once.
        roots: First path segments of the calls that count; a batch itself does not.
        refusal: Builds the response to a call beyond the limit.
    """

    most: int
    roots: frozenset[str]
    refusal: Callable[[], Response]
    running: int = field(default=0)

    def counts(self, request: Request) -> bool:
        """Whether a request counts."""
        root = request.segments[0] if request.segments else ""
        return root in self.roots and request.segments[-1] != "$batch"

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Count a call while it runs; yield False, and do not count it, when there is no room."""
        if self.running >= self.most:
            yield False
            return
        self.running += 1
        try:
            yield True
        finally:
            self.running -= 1


def _provider_a() -> ConcurrencyLimit:
    return ConcurrencyLimit(
        most=25,
        roots=frozenset({"gmail", "upload"}),
        refusal=lambda: provider_a(429, message="Too many concurrent requests for user"),
    )


def _provider_b() -> ConcurrencyLimit:
    return ConcurrencyLimit(
        most=4,
        roots=frozenset({"v1.0"}),
        refusal=lambda: mail_graph(
            429, message="Application is over its MailboxConcurrency limit."
        ),
    )


# Upstream -> factory of its limit
LIMITS: Mapping[str, Callable[[], ConcurrencyLimit]] = MappingProxyType(
    {"providerA": _provider_a, "providerB": _provider_b}
)
