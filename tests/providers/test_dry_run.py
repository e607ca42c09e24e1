"""Rehearsed calls: reads go out, and the first change ends it before anything was sent."""

import asyncio
from contextlib import suppress

import httpx
import pytest

from providers.connectors.collab.batch import BatchRequest, read_all
from providers.dry_run import dry_run
from providers.failures import ProviderFailure
from providers.http.client import Origins, Upstream

BASE = "https://up.test/v1.0"


@pytest.fixture
def asked():
    """What upstream was asked."""
    return []


@pytest.fixture
def upstream(asked):
    def answer(request):
        asked.append(request.method)
        return httpx.Response(200, stream=httpx.ByteStream(b"{}"))

    return Upstream(Origins(transport=httpx.MockTransport(answer)), BASE, connection=1)


async def test_reads_go_out_in_a_rehearsal(upstream, asked):
    with dry_run() as rehearsal:
        await upstream.call("GET", "me")
        await upstream.call("POST", "$batch", json={}, changes=False)
        async with upstream.stream("GET", "me", "photo"):
            pass

    assert not rehearsal.ended
    assert asked == ["GET", "POST", "GET"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_call_that_does_not_say_what_it_does_ends_it(method, upstream, asked):
    after = False
    with dry_run() as rehearsal:
        await upstream.call(method, "me")
        after = True

    assert rehearsal.ended
    assert not after
    assert asked == []


async def test_a_retry_is_no_promise_that_nothing_changes(upstream, asked):
    with dry_run() as rehearsal:
        await upstream.call("PATCH", "me", json={}, retry=True)

    assert rehearsal.ended
    assert asked == []


@pytest.mark.parametrize("given", [False, True])
async def test_streams_end_it_too(given, upstream, asked):
    with dry_run() as rehearsal:
        way = (
            upstream.open_stream("PUT", f"{BASE}/x", content=b"x")
            if given
            else upstream.stream("PUT", "x", content=b"x")
        )
        async with way:
            pass

    assert rehearsal.ended
    assert asked == []


async def test_what_handles_failures_does_not_go_on(upstream, asked):
    with dry_run() as rehearsal:
        try:
            await upstream.call("DELETE", "x")
        except Exception:  # noqa: BLE001 - as broad as anybody might be
            await upstream.call("GET", "x")

    assert rehearsal.ended
    assert asked == []


async def test_tasks_of_a_rehearsal_are_rehearsed(upstream, asked):
    with dry_run() as rehearsal:
        await asyncio.gather(
            *(upstream.call(method, "x") for method in ("GET", "POST")), return_exceptions=True
        )

    assert rehearsal.ended
    assert asked == ["GET"]


async def test_what_is_not_rehearsed_goes_out_meanwhile(upstream, asked):
    async def real():
        await upstream.call("POST", "x", json={})

    outside = asyncio.create_task(real())
    with dry_run() as rehearsal:
        await outside
    await upstream.call("DELETE", "x")

    assert not rehearsal.ended
    assert asked == ["POST", "DELETE"]


@pytest.mark.parametrize(
    ("one", "goes_out"),
    [
        (BatchRequest(("me",)), True),
        (BatchRequest(("me", "read"), method="POST", changes=False), True),
        (BatchRequest(("me", "write"), method="POST"), False),
        (BatchRequest(("me",), method="DELETE"), False),
    ],
)
async def test_a_batch_is_as_harmless_as_each_of_its_calls(one, goes_out, upstream, asked):
    asks = {"read": BatchRequest(("you",)), "it": one}
    with dry_run() as rehearsal, suppress(ProviderFailure):  # the answer is no batch's
        await read_all(upstream, asks)

    assert rehearsal.ended is not goes_out
    assert asked == (["POST"] if goes_out else [])
