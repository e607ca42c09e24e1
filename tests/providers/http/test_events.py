"""Every attempt is reported with its upstream, outcome and duration, without its content."""

import asyncio

import httpx
import msgspec
import pytest

from providers.failures import ProviderFailure
from providers.http.client import Origins, Upstream

BASE = "https://up.test"


def watched(server, **options):
    attempts = []
    origins = Origins(transport=httpx.MockTransport(server))
    origins.listener = attempts.append
    return Upstream(origins, BASE, connection=1, name="PROVIDER_A", **options), attempts


@pytest.mark.parametrize(
    ("status", "tries"), [(200, ["200"]), (404, ["404"]), (429, ["429"]), (503, ["503", "503"])]
)
async def test_every_attempt_is_reported_with_its_status(status, tries):
    upstream, attempts = watched(lambda _: httpx.Response(status, json={}))

    try:
        await upstream.call("GET", "canary", params=[("q", "canary")])
    except ProviderFailure:
        assert status != 200

    assert [(attempt.upstream, attempt.method, attempt.outcome) for attempt in attempts] == [
        ("PROVIDER_A", "GET", outcome) for outcome in tries
    ]
    assert all(attempt.began <= attempt.ended for attempt in attempts)
    assert "canary" not in str([msgspec.structs.astuple(attempt) for attempt in attempts])


async def test_an_attempt_without_a_response_is_broken():
    def server(_):
        raise httpx.ConnectError("canary")

    upstream, attempts = watched(server)
    with pytest.raises(ProviderFailure):
        await upstream.call("POST", "a", json={})

    assert {attempt.outcome for attempt in attempts} == {"broken"}


async def test_an_attempt_that_times_out_is_late():
    async def server(_):
        await asyncio.Event().wait()

    upstream, attempts = watched(server)
    with pytest.raises(ProviderFailure):
        await upstream.call("GET", "a", deadline=0.01)

    assert [attempt.outcome for attempt in attempts] == ["late"]


async def test_an_abandoned_attempt_is_cancelled():
    arrived = asyncio.Event()

    async def server(_):
        arrived.set()
        await asyncio.Event().wait()

    upstream, attempts = watched(server)
    task = asyncio.create_task(upstream.call("GET", "a"))
    await arrived.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert [attempt.outcome for attempt in attempts] == ["cancelled"]
