"""The page of upstream costs is what its script measures, and keeps the bounds that it states."""

import asyncio
import re

import pytest
import upstream_cost
from paths import REPOSITORY

SIZE = re.compile(r", \d+ kB")  # of compressed answers, which differ by a few bytes
PAGE = REPOSITORY / "docs" / "reference" / "upstream-cost.md"


def committed():
    """Return the page, and its cells of the demo and of the volume accounts."""
    text = PAGE.read_text("utf-8")
    demo, volume = (upstream_cost.committed_cells(text, volume=which) for which in (False, True))
    return text, demo, volume


@pytest.mark.slow
def test_page_is_what_the_script_measures():
    text, _, volume = committed()

    costs = asyncio.run(upstream_cost.measure_all(volume=False))

    measured_page = upstream_cost.page(upstream_cost.cells(costs), volume)
    assert SIZE.sub("", measured_page) == SIZE.sub("", text)
    for row, by_profile in costs.items():
        for measured in by_profile.values():
            assert measured.status in {200, 201, 204, 403}, row.title


def test_every_row_keeps_the_bounds():
    _, demo, volume = committed()

    assert upstream_cost.violations(demo, volume) == []
    assert {row.title for row in upstream_cost.ROWS} == set(demo) == set(volume)
    for row in upstream_cost.ROWS:
        assert demo[row.title]["full"][0], row.title
        assert volume[row.title]["full"][0], row.title


@pytest.mark.parametrize(
    ("demo", "volume", "is_broken"),
    [
        pytest.param("3 (3), 1 kB", "6 (6), 1 kB", False, id="twice the requests"),
        pytest.param("2 (3), 1 kB", "6 (6), 1 kB", False, id="more calls, twice the requests"),
        pytest.param("3 (3), 1 kB", "7 (7), 1 kB", True, id="more than twice"),
        pytest.param("31 (31), 1 kB", "31 (31), 1 kB", True, id="too many calls"),
        pytest.param("3 (80), 1501 u, 1 kB", "1 (1), 1 kB", True, id="too many units"),
        pytest.param("0 (0), 0 kB", "1 (1), 1500 u, 1 kB", False, id="within"),
    ],
)
def test_bounds_are_checked(demo, volume, is_broken):
    broken = upstream_cost.violations(
        {"GET /x": {"full": (demo, "")}}, {"GET /x": {"full": (volume, "")}}
    )

    assert bool(broken) is is_broken
