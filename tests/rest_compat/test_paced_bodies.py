"""Deadlines of request bodies: the whole of a JSON body, pauses and rate of an upload."""

import asyncio

import pytest
from virtual_time import run

from policy.refusals import Refusal
from rest_compat.body import PacedBody

KIB = 1024


def sender(*pieces):
    """Return a `receive` that sends *pieces*: (seconds to wait, bytes); then nothing more."""
    left = list(pieces)

    async def receive():
        if not left:
            await asyncio.Event().wait()
        seconds, size = left.pop(0)
        await asyncio.sleep(seconds)
        return {"type": "http.request", "body": b"x" * size, "more_body": True}

    return receive


async def receive_all(body):
    """Return how many pieces arrive, and after how many seconds it is 408."""
    loop, pieces = asyncio.get_running_loop(), 0
    began = loop.time()
    try:
        while True:
            await body()
            pieces += 1
    except Refusal as problem:
        code = problem.code
    assert code == "REQUEST_TIMEOUT"
    return pieces, round(loop.time() - began, 3)


@pytest.mark.parametrize(
    ("is_upload", "pieces", "expected"),
    [
        pytest.param(False, [], (0, 15), id="JSON, nothing"),
        pytest.param(False, [(14, 1)], (1, 15), id="JSON, a pause"),
        pytest.param(False, [(2, 1)] * 9, (7, 15), id="JSON, drop by drop"),
        pytest.param(False, [(2, 100 * KIB)] * 9, (7, 15), id="JSON, however much"),
        pytest.param(True, [], (0, 10), id="an upload, nothing"),
        pytest.param(True, [(9, 400 * KIB), (11, 1)], (1, 12.5), id="an upload, too little"),
        pytest.param(True, [(9, 4000 * KIB), (11, 1)], (1, 19), id="an upload, a pause"),
        pytest.param(True, [(2, 1)] * 9, (4, 10), id="an upload, drop by drop"),
        pytest.param(True, [(0.5, 20 * KIB)] * 100, (100, 60), id="an upload at its rate"),
        pytest.param(True, [(0, 640 * KIB)] + [(3, 1)] * 9, (7, 20), id="an upload gets slow"),
    ],
)
def test_a_body_may_take_so_long(is_upload, pieces, expected):
    assert run(receive_all(PacedBody(sender(*pieces), is_upload=is_upload))) == expected


@pytest.mark.parametrize("is_upload", [False, True], ids=["JSON", "upload"])
def test_only_waiting_counts(is_upload):
    async def read():
        body = PacedBody(sender((4, 1), (4, 1)), is_upload=is_upload)
        await body()
        await asyncio.sleep(60)
        return await body()

    assert len(run(read())["body"]) == 1


@pytest.mark.parametrize("is_upload", [False, True], ids=["JSON", "upload"])
def test_a_late_body_stays_late(is_upload):
    async def read():
        body = PacedBody(sender((0, 5000 * KIB)), is_upload=is_upload)
        return await receive_all(body), await receive_all(body)

    assert run(read())[1] == (0, 0)


def test_after_its_end_the_disconnect_is_awaited():
    left = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive():
        if left:
            return left.pop()
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def read():
        body = PacedBody(receive, is_upload=False)
        await body()
        return await body()

    assert run(read()) == {"type": "http.disconnect"}
