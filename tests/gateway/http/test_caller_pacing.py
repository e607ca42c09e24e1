"""A caller that uses most of a worker's time waits while others call; nobody else does."""

import asyncio
from itertools import count
from types import SimpleNamespace

import pytest
from waiting_application import settled

from gateway.http import caller_pacing
from gateway.http.caller_pacing import CallerPacing, Meter, Metered, MeteredTasks, caller_of

HEAVY, HONEST = 1, 2


async def use(pacing, caller, seconds):
    """Run a request that keeps the loop busy for some seconds, as its meter shows."""
    visit = await pacing.begin(caller)
    visit.add(seconds)
    visit.end()


async def test_nobody_waits_while_nobody_else_calls():
    pacing = CallerPacing()
    for _ in range(5):
        await use(pacing, HEAVY, 60)

    begun = [asyncio.create_task(pacing.begin(HEAVY)) for _ in range(50)]
    await settled()
    assert all(task.done() for task in begun)


async def test_a_caller_that_used_too_much_waits_for_others():
    pacing = CallerPacing()
    await use(pacing, HEAVY, 60)
    other = await pacing.begin(HONEST)
    waiting = asyncio.create_task(pacing.begin(HEAVY))
    await settled()
    assert not waiting.done()
    other.end()
    await use(pacing, HONEST, 0.001)

    assert not waiting.done()
    (await waiting).end()  # after a quarter of a second and a half


async def test_the_requests_of_a_caller_begin_in_order_as_it_can_pay(monkeypatch):
    monkeypatch.setattr(caller_pacing, "MAX_DEBT", 0.001)
    pacing, order = CallerPacing(), []

    async def request(number):
        visit = await pacing.begin(HEAVY)
        order.append((number, sum(not task.done() for task in requests)))
        visit.add(1)
        visit.end()

    await use(pacing, HEAVY, 60)
    other = await pacing.begin(HONEST)
    requests = [asyncio.create_task(request(number)) for number in range(3)]
    await asyncio.gather(*requests)
    other.end()

    assert order == [(0, 3), (1, 2), (2, 1)]  # one after another


async def test_a_request_that_waits_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(caller_pacing, "WAIT_SECONDS", 0.01)
    pacing = CallerPacing()
    await use(pacing, HEAVY, 60)
    other = await pacing.begin(HONEST)

    assert await pacing.begin(HEAVY) is None
    other.end()


@pytest.mark.slow
async def test_cancelled_requests_cost_nothing():
    pacing = CallerPacing()
    await use(pacing, HEAVY, 60)
    other = await pacing.begin(HONEST)
    waiting = [asyncio.create_task(pacing.begin(HEAVY)) for _ in range(3)]
    await settled()
    for task in waiting[:2]:
        task.cancel()
    (await waiting[2]).end()
    other.end()

    assert pacing._running == 0
    assert [task.cancelled() for task in waiting] == [True, True, False]


async def test_a_request_that_is_cancelled_as_it_may_begin_is_ended(monkeypatch):
    pacing = CallerPacing()
    await use(pacing, HEAVY, 60)
    other = await pacing.begin(HONEST)
    waiting = asyncio.create_task(pacing.begin(HEAVY))
    await settled()
    account = pacing._accounts[HEAVY]
    account.balance, account.updated = 1.0, asyncio.get_running_loop().time()
    pacing._let_begin(account, asyncio.get_running_loop())
    waiting.cancel()
    await settled()
    other.end()

    assert waiting.cancelled()
    assert (pacing._running, account.running) == (0, 0)


@pytest.fixture
def _second_per_step(monkeypatch):
    """Let each step of a coroutine take a second."""
    seconds = count()
    clock = SimpleNamespace(perf_counter=lambda: next(seconds))
    monkeypatch.setattr(caller_pacing, "time", clock)


@pytest.mark.usefixtures("_second_per_step")
async def test_steps_of_a_request_and_of_its_tasks_are_measured():
    pacing = CallerPacing()

    async def child():
        return 1

    async def work():
        await asyncio.sleep(0)
        assert await asyncio.gather(child(), child()) == [1, 1]

    async with MeteredTasks().running():
        visit = await pacing.begin(HEAVY)
        await visit.measure(work())

    assert visit.seconds == 3 + 2


async def test_results_and_exceptions_of_measured_coroutines_pass():
    async def work(result):
        try:
            await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
        if isinstance(result, Exception):
            raise result
        return result

    assert await Metered(work(1), Meter()) == 1
    with pytest.raises(ValueError, match="two"):
        await Metered(work(ValueError("two")), Meter())
    loop = asyncio.get_running_loop()
    assert await asyncio.Task(Metered(work(3), Meter()), loop=loop) == 3


async def test_measured_tasks_can_be_cancelled_at_any_step():
    ends = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ends.append("cleaned up")

    async def cancel_after(rounds):
        task = asyncio.Task(Metered(work(), Meter()), loop=asyncio.get_running_loop())
        for _ in range(rounds):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    await cancel_after(0)  # it never began, and no coroutine is left over
    assert ends == []
    await cancel_after(2)
    assert ends == ["cleaned up"]


def test_a_caller_is_known_by_its_credential_and_else_by_its_address():
    def scope(address, *values):
        headers = [(b"host", b"a"), *((b"authorization", value) for value in values)]
        return {"client": (address, 1), "headers": headers}

    assert caller_of(scope("a", b"Bearer x")) == caller_of(scope("b", b"bearer  x"))
    assert caller_of(scope("a", b"Bearer x")) != caller_of(scope("a", b"Bearer y"))
    assert caller_of(scope("a")) != caller_of(scope("b"))
    assert caller_of({"client": None, "headers": []}) == caller_of({"headers": []})
