"""A plan answers exactly what graphql-core alone answers, and a plan with a fault does not."""

import os

import pytest
from plancases.comparing import Tally, differences
from plancases.faults import FAULTS
from plancases.schemas import invented, ours

from graph.plan import shapes

FEW = 60  # documents per schema, run four times each
MANY = int(os.environ.get("PLAN_CASES", "2000"))  # runs
MOST = 400  # documents until a fault must have shown

SUBJECTS = [pytest.param(invented, id="invented schema"), pytest.param(ours, id="our schema")]


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_plans_and_plain_execution_agree(subject):
    tally = Tally()
    for number in range(FEW):
        assert await differences(subject(), f"few {number}", tally) == []

    assert tally.runs > 3 * FEW  # most documents were valid
    assert tally.runs / 5 < tally.failed < tally.runs  # errors as well as answers
    assert tally.stepped > tally.runs / 8
    assert tally.mixed > tally.runs / 8


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
async def test_plans_and_plain_execution_agree_many_times(subject):
    tally, number = Tally(), 0
    while tally.runs < MANY // len(SUBJECTS):
        assert await differences(subject(), f"many {number}", tally) == []
        number += 1


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_shows(fault, monkeypatch):
    shapes._shape.cache_clear()
    with monkeypatch.context() as patch:
        fault(patch)

        shown = await _first_case_that_shows_it()
    shapes._shape.cache_clear()

    assert shown is not None


async def _first_case_that_shows_it():
    for number in range(MOST):
        subject = (invented if number % 2 else ours)()
        if await differences(subject, f"few {number}", Tally()):
            return number
    return None
