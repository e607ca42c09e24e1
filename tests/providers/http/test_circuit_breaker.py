"""The breaker against a plain model of its rule, and the budget."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from providers.http.resilience import CircuitBreaker, CircuitOpen, RetryBudget


class Hand:
    """A clock turned by hand."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds

    def now(self):
        return self.seconds

    async def sleep(self, seconds):
        self.seconds += seconds


class BreakerRules(RuleBasedStateMachine):
    """The model keeps every outcome since the last change and counts anew each time."""

    permits = Bundle("permits")

    def __init__(self):
        super().__init__()
        self.clock = Hand()
        self.breaker = CircuitBreaker(self.clock)
        self.outcomes: list[tuple[float, bool]] = []
        self.opened: float | None = None
        self.probe = None

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 5.0, 11.0]))
    def wait(self, seconds):
        self.clock.seconds += seconds

    @rule(target=permits, calls=st.integers(1, 12))
    def ask(self, calls):
        permits = []
        for _ in range(calls):
            resting = self.opened is not None and (
                self.probe is not None or self.clock.seconds < self.opened + CircuitBreaker.REST
            )
            try:
                permit = self.breaker.admit()
            except CircuitOpen:
                assert resting
                continue
            assert not resting
            if self.opened is not None:
                self.probe = permit
            permits.append(permit)
        return multiple(*permits)

    @rule(permit=consumes(permits), succeeded=st.sampled_from([True, False, False, None]))
    def settle(self, permit, succeeded):
        self.breaker.settle(permit, succeeded=succeeded)
        if permit is self.probe:
            self.probe = None
            if succeeded is not None:
                self.outcomes = []
                self.opened = None if succeeded else self.clock.seconds
        elif self.opened is None and succeeded is not None and self._counts(permit):
            self._count(succeeded)

    def _counts(self, permit):
        """Whether the permit is of this generation, or its outcome just ended that one."""
        generation = self.breaker._generation
        return permit.generation == generation or (
            self.breaker.open and permit.generation == generation - 1
        )

    def _count(self, succeeded):
        now = self.clock.seconds
        self.outcomes.append((now, succeeded))
        recent = [was for at, was in self.outcomes if at > now - CircuitBreaker.WINDOW]
        if len(recent) >= CircuitBreaker.CALLS and recent.count(False) * 2 >= len(recent):
            self.opened = now
            self.outcomes = []

    @precondition(lambda self: self.opened is None)
    @rule(target=permits)
    def storm(self):
        """Twenty failures at once."""
        for _ in range(CircuitBreaker.CALLS):
            self.settle(self.breaker.admit(), False) if not self.breaker.open else None
        return multiple()

    @invariant()
    def is_open_exactly_when_the_model_is(self):
        assert self.breaker.open is (self.opened is not None)


TestBreaker = BreakerRules.TestCase
TestBreaker.settings = settings(stateful_step_count=40)


def outcomes(breaker, *, succeeded, count):
    for _ in range(count):
        breaker.settle(breaker.admit(), succeeded=succeeded)


def test_nineteen_failures_are_too_few_and_the_twentieth_opens():
    breaker = CircuitBreaker(Hand())
    outcomes(breaker, succeeded=False, count=19)
    assert not breaker.open

    outcomes(breaker, succeeded=False, count=1)
    assert breaker.open


def test_failures_older_than_the_window_do_not_count():
    clock = Hand()
    breaker = CircuitBreaker(clock)
    outcomes(breaker, succeeded=False, count=19)
    clock.seconds = 10.0
    outcomes(breaker, succeeded=False, count=19)

    assert not breaker.open


def test_a_cancelled_probe_allows_another():
    clock = Hand()
    breaker = CircuitBreaker(clock)
    outcomes(breaker, succeeded=False, count=20)
    clock.seconds = CircuitBreaker.REST
    breaker.settle(breaker.admit(), succeeded=None)

    assert breaker.open
    assert breaker.admit().probe


def test_an_outcome_of_an_earlier_generation_is_ignored():
    clock = Hand()
    breaker = CircuitBreaker(clock)
    early = breaker.admit()
    outcomes(breaker, succeeded=False, count=20)
    breaker.settle(early, succeeded=True)

    assert breaker.open


def test_one_retry_is_granted_per_ten_calls():
    budget = RetryBudget()
    granted = 0
    for _ in range(1000):
        budget.deposit()
        granted += budget.withdraw()

    assert 100 <= granted <= 100 + RetryBudget.MAX
