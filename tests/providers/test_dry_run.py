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
def methods_sent():
    """Return the calls to upstream."""
    return []


@pytest.fixture
def upstream(methods_sent):
    def answer(request):
        methods_sent.append(request.method)
        return httpx.Response(200, stream=httpx.ByteStream(b"{}"))

    return Upstream(Origins(transport=httpx.MockTransport(answer)), BASE, connection=1)


async def test_reads_are_sent_in_a_dry_run(upstream, methods_sent):
    with dry_run() as run:
        await upstream.call("GET", "me")
        await upstream.call("POST", "$batch", json={}, changes=False)
        async with upstream.stream("GET", "me", "photo"):
            pass

    assert not run.ended
    assert methods_sent == ["GET", "POST", "GET"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_an_undeclared_write_ends_a_dry_run(method, upstream, methods_sent):
    after = False
    with dry_run() as run:
        await upstream.call(method, "me")
        after = True

    assert run.ended
    assert not after
    assert methods_sent == []


async def test_a_retryable_post_still_counts_as_a_write(upstream, methods_sent):
    with dry_run() as run:
        await upstream.call("PATCH", "me", json={}, retry=True)

    assert run.ended
    assert methods_sent == []


@pytest.mark.parametrize("retryable", [False, True])
async def test_a_streamed_write_ends_a_dry_run(retryable, upstream, methods_sent):
    with dry_run() as run:
        way = (
            upstream.open_stream("PUT", f"{BASE}/x", content=b"x")
            if retryable
            else upstream.stream("PUT", "x", content=b"x")
        )
        async with way:
            pass

    assert run.ended
    assert methods_sent == []


async def test_handlers_of_failures_do_not_continue_a_dry_run(upstream, methods_sent):
    with dry_run() as run:
        try:
            await upstream.call("DELETE", "x")
        except Exception:  # noqa: BLE001 - as broad as anybody might be
            await upstream.call("GET", "x")

    assert run.ended
    assert methods_sent == []


async def test_tasks_of_a_dry_run_belong_to_it(upstream, methods_sent):
    with dry_run() as run:
        await asyncio.gather(
            *(upstream.call(method, "x") for method in ("GET", "POST")), return_exceptions=True
        )

    assert run.ended
    assert methods_sent == ["GET"]


async def test_concurrent_requests_outside_a_dry_run_are_sent(upstream, methods_sent):
    async def real():
        await upstream.call("POST", "x", json={})

    outside = asyncio.create_task(real())
    with dry_run() as run:
        await outside
    await upstream.call("DELETE", "x")

    assert not run.ended
    assert methods_sent == ["POST", "DELETE"]


@pytest.mark.parametrize(
    ("batched", "is_sent"),
    [
        (BatchRequest(("me",)), True),
        (BatchRequest(("me", "read"), method="POST", changes=False), True),
        (BatchRequest(("me", "write"), method="POST"), False),
        (BatchRequest(("me",), method="DELETE"), False),
    ],
)
async def test_a_batch_is_a_write_when_one_of_its_calls_is(
    batched, is_sent, upstream, methods_sent
):
    batch = {"read": BatchRequest(("you",)), "it": batched}
    with dry_run() as run, suppress(ProviderFailure):  # the response is not that of a batch
        await read_all(upstream, batch)

    assert run.ended is not is_sent
    assert methods_sent == (["POST"] if is_sent else [])
