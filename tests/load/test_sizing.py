"""The tables of the sizing page are those that `./run sizing` writes, but for times and bytes."""

import pytest
import sizing

pytestmark = pytest.mark.slow

CALLS = 3


def test_tables_are_those_that_the_script_writes():
    costs, sizes = sizing.measure_all(CALLS)
    text = sizing.PAGE.read_text("utf-8")

    assert sizing.masked(sizing.page(text, costs, sizes)) == sizing.masked(text)
    for store in sizing.STORES:
        assert min(sizes[store].seconds.values()) > 0
        assert min(sizes[store].bytes.values()) > 0
