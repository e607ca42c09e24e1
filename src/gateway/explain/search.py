"""
Search for the smallest change that lets a refused call pass, by dry runs.

`policy.remedies.settings` proposes remedies for a refusal. The call runs dry with one of them, and
so on until it passes or no remedy helps. Then every part is left out once; parts that are not
needed stay out. Remedies only ever allow more, so one such round is enough.
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

MAX_DRY_RUNS = 20  # per question
TIMEOUT_SECONDS = 30.0  # after that, no dry run begins

RunDry = Callable[[Sequence[PolicyChange]], Awaitable[DryRunResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSearchResult:
    """
    Result of a search.

    Attributes:
        first: Result of the call without changes.
        parts: The change that lets it pass; empty when none is needed or none helps.
        obstacle: Why no change helps; then *parts* lift the refusals that come before.
        dry_runs: Number of dry runs.
    """

    first: DryRunResult
    parts: tuple[PolicyChange, ...]
    obstacle: str | None
    dry_runs: int


class _BudgetSpent(Exception):
    """No more dry runs are allowed."""


class ChangeSearch:
    """One search; used once."""

    def __init__(self, run_dry: RunDry) -> None:
        self._run_dry = run_dry
        self._count = 0
        self._deadline = time.monotonic() + TIMEOUT_SECONDS
        self._seen: set[object] = set()

    async def run(self) -> ChangeSearchResult:
        """Run the call dry as it is, then with more and more changes."""
        first = result = await self._try(())
        parts: tuple[PolicyChange, ...] = ()
        try:
            while (denial := result.denial) is not None:
                self._seen.add(denial.signature)
                step = await self._step(result, denial, parts)
                if step is None:
                    connections = result.state.subject.connections
                    obstacle = describe_obstacle(denial.problem, connections, denial.surface)
                    return self._result(first, parts, obstacle)
                parts, result = step
            return self._result(first, await self._minimize(parts), None)
        except _BudgetSpent:
            obstacle = f"No change was found in {self._count} dry runs; the search was stopped."
            return self._result(first, (), obstacle)

    async def _step(
        self, result: DryRunResult, denial: ExplainedDenial, parts: tuple[PolicyChange, ...]
    ) -> tuple[tuple[PolicyChange, ...], DryRunResult] | None:
        """Return *parts* with the first remedy that lifts *denial*, and the result with them."""
        if denial.problem is None:
            return None
        for remedy in find_remedies(denial.problem, _token_state(result.state, denial)):
            new = tuple(part for part in remedy if part not in parts)
            if new:
                next_result = await self._try(parts + new)
                if next_result.denial is None or next_result.denial.signature not in self._seen:
                    return parts + new, next_result
        return None

    async def _minimize(self, parts: tuple[PolicyChange, ...]) -> tuple[PolicyChange, ...]:
        for part in parts if len(parts) > 1 else ():
            rest = tuple(other for other in parts if other is not part)
            if not self._is_spent and rest and (await self._try(rest)).denial is None:
                parts = rest
        return parts

    @property
    def _is_spent(self) -> bool:
        return self._count >= MAX_DRY_RUNS or (
            self._count > 0 and time.monotonic() >= self._deadline
        )

    async def _try(self, parts: Sequence[PolicyChange]) -> DryRunResult:
        if self._is_spent:
            raise _BudgetSpent
        self._count += 1
        return await self._run_dry(parts)

    def _result(
        self, first: DryRunResult, parts: tuple[PolicyChange, ...], obstacle: str | None
    ) -> ChangeSearchResult:
        return ChangeSearchResult(first=first, parts=parts, obstacle=obstacle, dry_runs=self._count)


_QUOTAS = MappingProxyType({MINUTE: "perMinute", HOUR: "perHour", DAY: "perDay"})


def _token_state(state: DryRunState, denial: ExplainedDenial) -> TokenState:
    subject = state.subject
    return TokenState(
        settings=subject.settings,
        rules=subject.all_rules,
        connections=subject.connections,
        surface=denial.surface,
        now=subject.moment,
        spent={
            _QUOTAS[limit.window.seconds]: limit.spent
            for limit in state.limits
            if limit.layer is Layer.QUOTA
        },
        cost=sum(state.costs.values()),
    )
