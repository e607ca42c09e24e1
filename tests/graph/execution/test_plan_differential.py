"""A plan answers exactly what graphql-core alone answers, and a plan with a fault does not."""

import gc

import pytest
from plan_cases.comparing import Tally, differences
from plan_cases.faults import FAULTS
from plan_cases.schemas import invented, ours
from run_sizes import times

from graph.execution.plan import shapes

FEW = 25  # documents per schema, each run several times
MANY = times(800)  # runs
MOST = 400  # documents until a fault must have shown

# Beside what is cancelled, graphql-core's tasks are cancelled before they begin.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")


@pytest.fixture(scope="module", autouse=True)
def _nothing_left():
    """Collect unawaited coroutines in this test, not in a later one."""
    yield
    gc.collect()


SUBJECTS = [pytest.param(invented, id="invented schema"), pytest.param(ours, id="our schema")]


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
async def test_plans_and_plain_execution_agree(subject):
    tally = Tally()
    for number in range(FEW):
        assert await differences(subject(), f"few {number}", tally) == []

    assert tally.runs > 4 * FEW  # most documents were valid
    assert tally.runs / 8 < tally.failed < tally.runs  # errors as well as answers
    assert tally.stepped > tally.runs / 8
    assert tally.mixed > tally.runs / 8


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
async def test_plans_and_plain_execution_agree_many_times(subject):
    tally, number = Tally(), 0
    while tally.runs < MANY // len(SUBJECTS):
        assert await differences(subject(), f"many {number}", tally) == []
        number += 1


# Where the search for a rare one starts, to be quick; when the generator changes, it just goes on.
START = {
    "dicts taken for records": 126,
    "enum unchecked": 65,
    "inner lists uncounted": 55,
    "large numbers rounded": 206,
    "nulls in lists accepted": 54,
    "times without offset accepted": 118,
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_planted_fault_is_detected(fault, monkeypatch):
    shapes._shape.cache_clear()
    with monkeypatch.context() as patch:
        FAULTS[fault](patch)

        shown = await _shows_from(START.get(fault, 0))
    shapes._shape.cache_clear()

    assert shown


async def _shows_from(start):
    for number in range(start, start + MOST):
        if await differences(invented(), f"few {number}", Tally(), how_wrong=[0.05, 0.1]):
            return True
    return False
