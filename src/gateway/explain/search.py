"""
The smallest change that lets a refused call pass, found by trying.

What a refusal could do without is known (`policy.remedies.settings`); the call is rehearsed with
it, and so on until it passes or nothing helps. Then every part is left out once, and what was not
needed goes. Openings only ever allow more, so one round of leaving out is enough.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gateway.explain.dry_run import DryRunState
from gateway.explain.result import DryRunResult, ExplainedDenial
from policy.quota import DAY, HOUR, MINUTE
from policy.remedies.changes import PolicyChange
from policy.remedies.obstacles import describe_obstacle
from policy.remedies.settings import TokenState, find_remedies
from policy.vocabulary import Layer

MOST = 20  # rehearsals of one question
PATIENCE = 30.0  # seconds; no rehearsal begins after that

Rehearse = Callable[[Sequence[PolicyChange]], Awaitable[DryRunResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSearchResult:
    """
    What was found.

    Attributes:
        first: How the call goes now.
        parts: The change that lets it pass; none when none is needed, or none would do.
        obstacle: Why none would do; then *parts* lift what stops it before that.
        rehearsals: How many it took.
    """

    first: DryRunResult
    parts: tuple[PolicyChange, ...]
    obstacle: str | None
    rehearsals: int


class _Spent(Exception):
    """There may be no more rehearsals."""


class ChangeSearch:
    """One search."""

    def __init__(self, rehearse: Rehearse) -> None:
        self._rehearse = rehearse
        self._count = 0
        self._ends = time.monotonic() + PATIENCE
        self._met: set[object] = set()

    async def run(self) -> ChangeSearchResult:
        """Rehearse the call as it is, then with more and more changes."""
        first = await self._tried(())
        parts: tuple[PolicyChange, ...] = ()
        course = first
        try:
            while course.stop is not None:
                self._met.add(course.stop.signature)
                step = await self._step(course, course.stop, parts)
                if step is None:
                    return self._found(first, parts, _blame(course, course.stop))
                parts, course = step
            return self._found(first, await self._least(parts), None)
        except _Spent:
            said = f"No change was found in {self._count} rehearsals: the search was given up."
            return self._found(first, (), said)

    async def _step(
        self, course: DryRunResult, stop: ExplainedDenial, parts: tuple[PolicyChange, ...]
    ) -> tuple[tuple[PolicyChange, ...], DryRunResult] | None:
        """Return the first opening of *stop* after which it is not what stops the call."""
        if stop.problem is None:
            return None
        for opening in find_remedies(stop.problem, _standing(course.play, stop)):
            new = tuple(part for part in opening if part not in parts)
            if new:
                tried = await self._tried(parts + new)
                if tried.stop is None or tried.stop.signature not in self._met:
                    return parts + new, tried
        return None

    async def _least(self, parts: tuple[PolicyChange, ...]) -> tuple[PolicyChange, ...]:
        """Leave out what is not needed."""
        for part in parts if len(parts) > 1 else ():
            rest = tuple(one for one in parts if one is not part)
            if not self._spent and rest and (await self._tried(rest)).stop is None:
                parts = rest
        return parts

    @property
    def _spent(self) -> bool:
        return self._count >= MOST or (self._count > 0 and time.monotonic() >= self._ends)

    async def _tried(self, parts: Sequence[PolicyChange]) -> DryRunResult:
        if self._spent:
            raise _Spent
        self._count += 1
        return await self._rehearse(parts)

    def _found(
        self, first: DryRunResult, parts: tuple[PolicyChange, ...], obstacle_: str | None
    ) -> ChangeSearchResult:
        return ChangeSearchResult(
            first=first, parts=parts, obstacle=obstacle_, rehearsals=self._count
        )


_QUOTAS = MappingProxyType({MINUTE: "perMinute", HOUR: "perHour", DAY: "perDay"})


def _standing(play: DryRunState, stop: ExplainedDenial) -> TokenState:
    subject = play.subject
    return TokenState(
        settings=subject.settings,
        rules=subject.all_rules,
        connections=subject.connections,
        surface=stop.surface,
        now=subject.moment,
        spent={
            _QUOTAS[one.window.seconds]: one.spent
            for one in play.limits
            if one.layer is Layer.QUOTA
        },
        cost=sum(play.costs.values()),
    )


def _blame(course: DryRunResult, stop: ExplainedDenial) -> str:
    return describe_obstacle(stop.problem, course.play.subject.connections, stop.surface)
