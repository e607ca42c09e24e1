"""The quota units of provider A's mail."""

import httpx
import pytest

from sandbox.app import create
from sandbox.http import Request
from sandbox.quota_units import price

MESSAGES = "/provider-a/gmail/v1/users/me/messages"
RAW = b"From: a@x.test\r\nTo: b@y.test\r\nSubject: Plan\r\n\r\nWords.\r\n"


@pytest.fixture(name="sides")
async def create_sides():
    """Return the sandbox with one message, a client, and a clock that tests move."""
    sandbox = create(None, public_base="http://sandbox.test")
    mail = sandbox.state.mails.add("provider-a", RAW, folder="inbox")
    clock = [1000.0]
    sandbox.upstreams["providerA"].quota.clock = lambda: clock[0]
    sandbox.upstreams["providerA"].concurrency = None
    token = sandbox.state.tokens.issue("providerA", "me", ["https://mail.google.com/"])
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=sandbox),
        base_url="http://sandbox.test",
        headers={"authorization": f"Bearer {token}"},
    ) as client:
        yield sandbox, client, clock, mail.id


PRICES = {
    "GET gmail/v1/users/me/messages": 5,
    "GET gmail/v1/users/me/messages/18c": 20,
    "GET gmail/v1/users/me/messages/18c/attachments/ANG": 5,
    "POST gmail/v1/users/me/messages/18c/trash": 5,
    "GET gmail/v1/users/me/threads/18c": 40,
    "GET gmail/v1/users/me/labels": 1,
    "GET gmail/v1/users/me/profile": 1,
    "POST gmail/v1/users/me/messages/send": 100,
    "POST gmail/v1/users/me/drafts": 10,
    "POST upload/gmail/v1/users/me/drafts": 10,
    "POST gmail/v1/users/me/drafts/send": 100,
    "DELETE gmail/v1/users/me/drafts/r-1": 10,
    "POST batch/gmail/v1": 0,
    "GET calendar/v3/users/me/calendarList": 0,
}


@pytest.mark.parametrize(("call", "units"), PRICES.items(), ids=PRICES.keys())
def test_a_call_has_its_price(call, units):
    method, _, path = call.partition(" ")

    assert price(Request(method=method, segments=tuple(path.split("/")), query=())) == units


async def batch(client, message_id, count):
    part = "--x\r\nContent-Type: application/http\r\n\r\nGET {} HTTP/1.1\r\n\r\n\r\n"
    answer = await client.post(
        "/provider-a/batch/gmail/v1",
        content=part.format(f"/gmail/v1/users/me/messages/{message_id}") * count + "--x--\r\n",
        headers={"content-type": "multipart/mixed; boundary=x"},
    )
    return answer.text


async def test_a_minute_has_six_thousand_units(sides):
    sandbox, client, clock, message_id = sides
    for _ in range(3):
        assert (await batch(client, message_id, 100)).count("HTTP/1.1 200 OK") == 100
    upstream = sandbox.upstreams["providerA"]
    assert upstream.quota.spent == 6000
    assert [call["units"] for call in upstream.calls] == [0, *[20] * 100] * 3

    too_many = await client.get(MESSAGES)
    error = too_many.json()["error"]
    assert too_many.status_code == 429
    assert error["message"].startswith("User-rate limit exceeded.  Retry after 20")
    assert "retry-after" not in too_many.headers
    again = await client.get(MESSAGES)
    assert (again.status_code, again.json()["error"]["errors"][0]["reason"]) == (
        403,
        "rateLimitExceeded",
    )
    assert "retry-after" not in again.headers
    assert [call["fault"] for call in upstream.calls][-2:] == ["quota", "quota"]
    text = await batch(client, message_id, 2)
    assert (text.count("HTTP/1.1 429"), text.count("HTTP/1.1 403")) == (1, 1)

    clock[0] += 60.0
    assert (await client.get(MESSAGES)).status_code == 200
    assert upstream.quota.spent == 5


async def test_calls_can_be_counted_only(sides):
    sandbox, client, _, message_id = sides
    sandbox.upstreams["providerA"].quota.allowance = None

    for _ in range(4):
        assert (await batch(client, message_id, 100)).count("HTTP/1.1 200 OK") == 100

    assert sandbox.upstreams["providerA"].quota.spent == 8000
