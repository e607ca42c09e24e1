"""Every example of the pages and of the REST reference runs, and its answer is the present one."""

import examples
import pytest
from paths import REPOSITORY


@pytest.mark.slow
def test_examples_have_present_answers():
    """`./run examples` writes them anew."""
    outdated = [
        name for name, text in examples.results() if (REPOSITORY / name).read_text("utf-8") != text
    ]

    assert outdated == []
