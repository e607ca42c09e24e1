"""The page of upstream costs is what its script measures, and first pages are cheap."""

import asyncio

import pytest
import upstream_cost
from paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "upstream-cost.md"


def without_mail(page):
    """The lines of a page, without those of mail: their figures follow the mail connectors."""
    return [line for line in page.splitlines() if "/email/" not in line]


@pytest.mark.slow
def test_page_is_what_the_script_measures():
    costs = asyncio.run(upstream_cost.measure_all(volume=False))

    assert without_mail(upstream_cost.page(costs, {})) == without_mail(PAGE.read_text("utf-8"))
    for row, by_profile in costs.items():
        for measured in by_profile.values():
            assert measured.status in {200, 201, 204, 403}, row.title
            assert measured.first.calls <= upstream_cost.MOST_CALLS, row.title
