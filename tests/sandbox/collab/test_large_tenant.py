"""The search for all sites is as unreliable as it is reported to be in large tenants."""

from collections import Counter

import pytest

from sandbox.collab import sites


@pytest.mark.parametrize(("limit", "missing"), [(1000, 0), (2, 1)])
async def test_search_for_all_sites_repeats_some_and_leaves_some_out(
    client, world, monkeypatch, limit, missing
):
    monkeypatch.setattr(sites, "LARGE_TENANT", limit)
    monkeypatch.setattr(sites, "LEFT_OUT", 3)
    world.store.settings.repeats_sites = False
    everything = (await client.get("/sites?search=")).json()["value"]
    world.store.settings.repeats_sites = True

    listed = (await client.get("/sites?search=*")).json()["value"]

    times = Counter(site["id"] for site in listed)
    assert len(times) == len(everything) - missing
    assert sorted(times.values(), reverse=True)[:2] == [2, 1]


def test_units_are_metered_by_default(world):
    assert world.store.settings.units == 6000
