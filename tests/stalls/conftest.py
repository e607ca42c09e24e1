"""Notes how long calls hold the event loop; `./run stalls` prints the worst."""

import asyncio
import time

import loop_stopwatch
import pytest
import whole_world
from time_bounds import time_bound

WORST = 10
PROBE_SECONDS = 0.25  # for `/healthz` beside a hostile answer
PROPERTY = "stall"  # of a test's report: (name, seconds)


@pytest.fixture
def stalls(request, _canaries):
    """The figures of the test, which fails at its end if a call held the loop too long."""
    figures = loop_stopwatch.Stalls(lambda: _canaries.cpu_seconds)
    yield figures
    request.node.user_properties += [(PROPERTY, figure) for figure in figures.seconds.items()]
    assert figures.too_long() == {}


@pytest.fixture
def beside_probes(client):
    """Return a function that makes a call, while `/healthz` is asked all the time."""

    async def probe(waits):
        while True:
            began = time.perf_counter()
            response = await client.get("/healthz")
            waits.append(time.perf_counter() - began)
            assert response.status_code == 200
            await asyncio.sleep(0.005)

    async def run(call):
        waits = []
        probes = asyncio.create_task(probe(waits))
        try:
            response = await call()
        finally:
            probes.cancel()
        # The hostile server of the test is a thread of this process, and takes time as well.
        assert max(waits) < time_bound(PROBE_SECONDS)
        return response

    return run


@pytest.fixture(scope="module")
def served(world_template, tmp_path_factory):
    """A gateway over all its upstreams, driven from ordinary functions."""
    with whole_world.opened(world_template, tmp_path_factory.mktemp("whole")) as world:
        yield world


def pytest_terminal_summary(terminalreporter):
    """Print the longest turns of the event loop, in milliseconds."""
    figures = {
        figure
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, figure in getattr(report, "user_properties", ())
        if name == PROPERTY
    }
    if figures:
        terminalreporter.section("longest turns of the event loop")
    for name, seconds in sorted(figures, key=lambda figure: -figure[1])[:WORST]:
        terminalreporter.write_line(f"{seconds * 1000:6.1f} ms  {name}")
