"""404 responses are delayed: their time does not tell blocked files from missing ones."""

import asyncio
import random
import statistics
import time
from types import SimpleNamespace

import pytest
from run_sizes import times

from graph.execution import not_found_delay

STEP = 0.05
RULE = ("mime_type", "application/zip", "allow")
FILES = ("notes", "sketch", "inner", "plan")
CALLS = times(1500)  # of each kind
SAMPLES = 20
TRIALS = 4000
SIMULATED = 2000  # decisions, each by 20 samples of each kind
SPECIFIED = 0.55  # of the decisions are right, at most; docs/spec/reliability.md#existence
# The trials share the calls, so the bound of the specification has two standard deviations more.
MOST_RIGHT = SPECIFIED + 0.1


@pytest.fixture
def stepped(content):
    """The world with the delay of a deployment."""
    content.world.gateway.services.entry._not_found_step = STEP
    return content


@pytest.fixture
def waits(monkeypatch):
    """The delays, in seconds; none is waited for."""
    recorded = []

    async def record(seconds):
        recorded.append(seconds)

    monkeypatch.setattr(not_found_delay.asyncio, "sleep", record)
    return recorded


@pytest.mark.parametrize(
    ("code", "step", "elapsed", "waited"),
    [
        ("BLOCKED", 0.1, 0.0, [0.05]),
        ("BLOCKED", 0.1, 0.01, [0.14]),
        ("NOT_FOUND", 0.1, 0.12, [0.13]),
        ("EVENT_NOT_FOUND", 0.1, 0.12, [0.13]),
        ("CALENDAR_NOT_FOUND", 0.1, 0.12, [0.13]),
        ("OPERATION_NOT_ALLOWED", 0.1, 0.12, []),
        ("PROVIDER_ERROR", 0.1, 0.12, []),
        ("BLOCKED", 0, 0.12, []),
    ],
)
async def test_a_404_waits_for_the_next_step_and_a_part(  # noqa: PLR0917 - a row of the table
    waits, monkeypatch, code, step, elapsed, waited
):
    monkeypatch.setattr(not_found_delay.time, "monotonic", lambda: 100 + elapsed)
    monkeypatch.setattr(not_found_delay._random, "uniform", lambda low, high: (low + high) / 2)
    errors = [{"extensions": {"code": code}}]
    await not_found_delay.delay(errors, 100, step)

    assert waits == pytest.approx(waited, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("milliseconds", "deviation"),
    [
        pytest.param(2.16, 0.3, id="at once"),
        pytest.param(30, 4.5, id="one step"),
        pytest.param(49.8, 7.5, id="at the border of a step"),
        pytest.param(120, 18, id="a slow upstream"),
    ],
)
async def test_twenty_delayed_responses_do_not_tell_a_blocked_file(
    waits, monkeypatch, milliseconds, deviation
):
    """The blocked file takes 0.33 ms longer, as was measured without the delay."""
    generator = random.Random(1)
    monkeypatch.setattr(not_found_delay, "_random", generator)

    async def median(extra):
        times = []
        for _ in range(SAMPLES):
            elapsed = abs(generator.gauss(milliseconds + extra, deviation)) / 1000
            monkeypatch.setattr(not_found_delay.time, "monotonic", lambda: elapsed)  # noqa: B023 - called at once
            await not_found_delay.delay([{"extensions": {"code": "BLOCKED"}}], 0.0, STEP)
            times.append(elapsed + waits.pop())
        return statistics.median(times)

    right = 0
    for _ in range(SIMULATED):
        right += await median(0.33) > await median(0)

    assert max(right, SIMULATED - right) / SIMULATED <= SPECIFIED


async def test_rest_and_graphql_delay_missing_and_blocked_files(stepped, monkeypatch):
    delayed = []

    async def record(errors, _started, step, **_):
        delayed.append(([error["extensions"]["code"] for error in errors], step))

    monkeypatch.setattr(not_found_delay, "delay", record)
    token = await stepped.block_all_token(RULE)
    missing = f"collab:drive:{stepped.resources['documents'].drive_id}:item:01NOTHING"
    for file in (stepped.id("notes"), missing):
        assert (await stepped.get(f"/files/{file}", token)).status_code == 404
        query = "query($id: String!) { collabFile(fileId: $id) { __typename } }"
        assert "BLOCKED" in str(await stepped.graphql(query, token, id=file))

    assert delayed == [(["BLOCKED"], STEP)] * 4


async def test_a_token_from_which_nothing_is_hidden_is_not_delayed(stepped, monkeypatch):
    steps = []

    async def record(_errors, _started, step, **_):
        steps.append(step)

    monkeypatch.setattr(not_found_delay, "delay", record)
    missing = f"collab:drive:{stepped.resources['documents'].drive_id}:item:01NOTHING"

    assert (await stepped.get(f"/files/{missing}", await stepped.token())).status_code == 404
    assert steps == [0.0]


@pytest.mark.slow
async def test_time_does_not_tell_blocked_files_from_missing_ones(stepped, monkeypatch):
    """The delays are added to the times of the calls, and not waited for."""
    waited = []

    async def record(seconds):
        waited.append(seconds)

    monkeypatch.setattr(not_found_delay, "asyncio", SimpleNamespace(sleep=record))
    token = await stepped.block_all_token(RULE)
    drive = stepped.resources["documents"].drive_id
    real = [stepped.id(name) for name in FILES]
    invented = [f"collab:drive:{drive}:item:01NOTHING{number}" for number in range(len(real))]
    spent = {"real": [], "invented": []}
    for number in range(CALLS):
        for kind, ids in random.sample((("real", real), ("invented", invented)), 2):
            started = time.perf_counter()
            response = await stepped.get(f"/files/{ids[number % len(ids)]}", token)
            spent[kind].append(time.perf_counter() - started + waited.pop())
            assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
            await asyncio.sleep(0)
    right = share_right(spent["real"], spent["invented"])
    medians = {kind: round(statistics.median(values) * 1000, 2) for kind, values in spent.items()}
    print(f"\nmedians {medians} ms, right {right:.3f}")  # noqa: T201

    assert waited == []
    assert right <= MOST_RIGHT


def share_right(real, invented):
    """Return how often the slower of two medians of SAMPLES times is that of the real id."""
    generator = random.Random(1)
    right = 0.0
    for _ in range(TRIALS):
        first = statistics.median(generator.sample(real, SAMPLES))
        second = statistics.median(generator.sample(invented, SAMPLES))
        right += 0.5 if first == second else first > second
    return max(right, TRIALS - right) / TRIALS
