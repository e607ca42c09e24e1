"""The limits of what an account may run at once."""

import asyncio

import httpx
import pytest

from sandbox.app import create

LABELS = "/provider-a/gmail/v1/users/me/labels"
MESSAGES = "/provider-b/v1.0/me/messages"


@pytest.fixture(name="sides")
async def create_sides():
    """Return the sandbox, and a client that may call both mailboxes."""
    sandbox = create(None, public_base="http://sandbox.test")
    transport = httpx.ASGITransport(app=sandbox)
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as client:
        tokens = {
            "provider-a": sandbox.state.tokens.issue(
                "providerA", "me", ["https://mail.google.com/"]
            ),
            "provider-b": sandbox.state.tokens.issue("providerB", "me", ["Mail.ReadWrite"]),
        }

        async def call(method, path, **options):
            token = tokens[path.split("/")[1]]
            headers = {"authorization": f"Bearer {token}", **options.pop("headers", {})}
            return await client.request(method, path, headers=headers, **options)

        yield sandbox, call


async def at_once(call, path, count):
    answers = await asyncio.gather(*(call("GET", path) for _ in range(count)))
    return answers, [answer.status_code for answer in answers]


async def test_provider_b_runs_four_calls_at_once(sides):
    sandbox, call = sides
    answers, statuses = await at_once(call, MESSAGES, 6)

    assert statuses == [200] * 4 + [429] * 2
    assert answers[5].json()["error"]["code"] == "ApplicationThrottled"
    assert "MailboxConcurrency" in answers[5].json()["error"]["message"]
    assert "retry-after" not in answers[5].headers
    assert [entry["fault"] for entry in sandbox.upstreams["providerB"].calls].count(
        "concurrency"
    ) == 2
    assert (await at_once(call, MESSAGES, 4))[1] == [200] * 4


async def batch_b(call, count):
    requests = [{"id": str(n), "method": "GET", "url": "/me/messages?$top=1"} for n in range(count)]
    answer = await call("POST", "/provider-b/v1.0/$batch", json={"requests": requests})
    return [part["status"] for part in answer.json()["responses"]]


async def test_one_batch_of_provider_b_fits_and_two_do_not(sides):
    _, call = sides
    assert await batch_b(call, 20) == [200] * 20

    both = await asyncio.gather(batch_b(call, 20), batch_b(call, 20))
    assert 429 in (*both[0], *both[1])


async def test_a_call_beside_a_batch_of_provider_b_is_too_many(sides):
    _, call = sides
    parts, single = await asyncio.gather(batch_b(call, 20), call("GET", MESSAGES))
    assert 429 in (*parts, single.status_code)


async def batch_a(call, count):
    part = "--x\r\nContent-Type: application/http\r\n\r\nGET {} HTTP/1.1\r\n\r\n\r\n"
    path = LABELS.removeprefix("/provider-a")
    answer = await call(
        "POST",
        "/provider-a/batch/gmail/v1",
        content=part.format(path) * count + "--x--\r\n",
        headers={"content-type": "multipart/mixed; boundary=x"},
    )
    return answer.text


@pytest.mark.parametrize(("count", "refused"), [(25, 0), (26, 1), (50, 25)])
async def test_provider_a_runs_twenty_five_parts_of_a_batch(sides, count, refused):
    _, call = sides
    text = await batch_a(call, count)

    assert text.count("HTTP/1.1 200 OK") == count - refused
    assert text.count("HTTP/1.1 429 Too Many Requests") == refused
    assert text.count("Too many concurrent requests for user") == refused * 2


async def test_a_limit_can_be_switched_off(sides):
    sandbox, call = sides
    sandbox.upstreams["providerB"].concurrency = None
    assert (await at_once(call, MESSAGES, 9))[1] == [200] * 9
