"""
Measurement of CPU time in interleaved rounds.

In every round each variant runs once, in shuffled order, for the same time. The result is the
median over rounds of the ratio *within* a round, so that a busy machine slows both sides alike.
Only the CPU time of this process counts: fake upstreams run in another process.
"""

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.server import tune_garbage_collector

Run = Callable[[], Awaitable[object]]
MOST_CALLS = 20_000  # of one variant in one round


@dataclass(frozen=True, slots=True)
class Effort:
    """
    Length of a measurement.

    Attributes:
        rounds: At least nine.
        seconds: Approximate CPU time of one variant in one round.
    """

    rounds: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(low, middle, high)


@dataclass(frozen=True, slots=True)
class Measured:
    """
    Figures of one table.

    Attributes:
        micros: Variant -> CPU microseconds per call.
        costs: Variant -> CPU seconds per call of every round, in the same order.
        noise: Cost of the first variant, measured again, as a share of itself; ideally 1.00.
    """

    micros: Mapping[str, float]
    costs: Mapping[str, Sequence[float]]
    noise: Spread

    def ratio(self, of: str, to: str) -> Spread:
        """Return the cost of *of* as a share of that of *to*."""
        pairs = zip(self.costs[of], self.costs[to], strict=True)
        return Spread.of([mine / other for mine, other in pairs])


def measure(
    loop: asyncio.AbstractEventLoop, variants: Mapping[str, Run], effort: Effort
) -> Measured:
    """Measure *variants*; the first one runs twice per round, for the noise."""
    names = list(variants)
    order = [(name, variants[name]) for name in names]
    order.append((_AGAIN, variants[names[0]]))
    calls = {name: _calibrated(loop, run, effort.seconds) for name, run in variants.items()}
    calls[_AGAIN] = calls[names[0]]
    gc.unfreeze()
    gc.collect()
    tune_garbage_collector()  # the same settings for all variants
    costs: dict[str, list[float]] = {name: [] for name, _ in order}
    shuffler = random.Random(7)
    for _ in range(effort.rounds):
        shuffler.shuffle(order)
        for name, run in order:
            gc.collect(0)
            costs[name].append(_cost(loop, run, calls[name]))
    again = zip(costs.pop(_AGAIN), costs[names[0]], strict=True)
    noise = Spread.of([second / first for second, first in again])
    micros = {name: statistics.median(costs[name]) * 1e6 for name in names}
    return Measured(micros, costs, noise)


_AGAIN = "the first again"


def _calibrated(loop: asyncio.AbstractEventLoop, run: Run, seconds: float) -> int:
    """Warm *run* up, and return the number of calls that fill *seconds*."""
    _cost(loop, run, 1)
    calls = 1
    while True:
        spent = _cost(loop, run, calls) * calls
        if spent > seconds / 4 or calls >= MOST_CALLS:
            return max(1, min(MOST_CALLS, round(calls * seconds / max(spent, 1e-9))))
        calls *= 4


def _cost(loop: asyncio.AbstractEventLoop, run: Run, calls: int) -> float:
    """Return CPU seconds per call."""

    async def repeat() -> float:
        began = time.process_time()
        for _ in range(calls):
            await run()
        return time.process_time() - began

    return loop.run_until_complete(repeat()) / calls
