"""Bodies that are late or announced as too long, over sockets: who is told what, and when."""

import asyncio

import pytest
import pytest_asyncio
from guarded_server import body, exchange, serve
from world import ADMIN

from rest_compat import body as bodies

LIMIT, UPLOAD_LIMIT = 256 * 1024, 104_857_600  # bytes
UPLOAD = "/api/access/collab/files/upload?fileName=b&folderId="
ATTACHMENT = "/api/access/email/attachments?fileName=b"


@pytest.fixture(autouse=True)
def _short_deadlines(monkeypatch):
    monkeypatch.setattr(bodies, "READ_SECONDS", 0.6)
    monkeypatch.setattr(bodies, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(bodies, "GRACE_SECONDS", 0.5)


@pytest_asyncio.fixture
async def content_port(content):
    """A world of content, and the port at which its gateway listens."""
    async with serve(content.world.gateway) as port:
        yield content, port


def head(path, *lines, token=None, length=None):
    credential = [f"Authorization: Bearer {token}"] if token else []
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = (f"POST {path} HTTP/1.1", "Host: a", size, *credential, *lines, "", "")
    return "\r\n".join(lines).encode()


def headers(answer):
    lines = answer.rpartition(b"\r\n\r\n")[0].decode().split("\r\n")
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}


RATE = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]
MESSAGE = "The request body did not arrive in time."
ERROR = {"error": "REQUEST_TIMEOUT", "message": MESSAGE}
FILE_RESULT = {
    "success": False,
    "fileId": None,
    "errorMessage": MESSAGE,
    "errorCode": "REQUEST_TIMEOUT",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "members"),
    [
        pytest.param("/api/access/collab/folders", FILE_RESULT, id="folder"),
        pytest.param(UPLOAD, FILE_RESULT, id="upload"),
        pytest.param(ATTACHMENT, {}, id="attachment"),
        pytest.param(
            "/api/access/email/messages/send",
            {
                "success": False,
                "emailId": None,
                "threadId": None,
                "errorCode": "REQUEST_TIMEOUT",
                "errorMessage": MESSAGE,
            },
            id="mail",
        ),
    ],
)
@pytest.mark.parametrize("length", [None, 5000], ids=["chunked", "announced"])
async def test_a_late_body_is_408_with_all_of_the_response(content_port, path, members, length):
    world, port = content_port
    token = await world.token(emailAccessEnabled=True, allowedEmailOperations=["all"])
    world.forget_calls()
    target = path + world.id("boats") if path == UPLOAD else path
    begun = b"2\r\n{ \r\n" if length is None else b"{"

    answer = await exchange(port, head(target, token=token, length=length) + begun, end=False)

    error = body(answer)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert error == {**ERROR, **members, "requestId": error["requestId"]}
    received = headers(answer)
    assert [received[name] for name in RATE[:2]] == ["60", "59"]
    assert received["x-request-id"] == error["requestId"]
    assert received["connection"] == "close"
    assert (received["x-frame-options"], received["referrer-policy"]) == ("DENY", "no-referrer")
    assert [call for call in world.calls() if call["method"] != "GET"] == []


@pytest.mark.parametrize(
    ("path", "token", "errors"),
    [
        pytest.param("/graphql", "valid", [MESSAGE, "REQUEST_TIMEOUT"], id="GraphQL"),
        pytest.param("/api/operators", ADMIN, None, id="management"),
    ],
)
async def test_other_late_bodies_are_408_in_their_shape(content_port, path, token, errors):
    world, port = content_port
    token = await world.token() if token == "valid" else token

    answer = await exchange(port, head(path, token=token, length=9) + b"{", end=False)

    error = body(answer)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert set(RATE) <= headers(answer).keys()
    if errors is None:
        assert error == {**ERROR, "requestId": error["requestId"]}
    else:
        (only,) = error["errors"]
        assert [only["message"], only["extensions"]["code"]] == errors


async def test_a_late_body_without_a_token_is_401_and_charged(content_port):
    _, port = content_port
    answers = [await exchange(port, head(UPLOAD, length=9), end=False) for _ in range(2)]

    assert [answer.split(b" ", 2)[1] for answer in answers] == [b"401", b"401"]
    assert [headers(answer)[RATE[1]] for answer in answers] == ["59", "58"]


async def test_a_json_body_may_pause_for_longer_than_an_upload(content_port):
    world, port = content_port
    request = head("/api/access/collab/folders", token=await world.token(), length=2)

    async def paused():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request + b"{")
        await asyncio.sleep(bodies.IDLE_SECONDS + 0.1)
        writer.write(b"}")
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return answer

    assert (await paused()).startswith(b"HTTP/1.1 400 ")  # what is in it is checked


@pytest.mark.parametrize(
    ("path", "length"),
    [
        pytest.param("/api/access/collab/folders", LIMIT + 1, id="JSON"),
        pytest.param("/api/access/email/messages/send", 4 * 1024 * 1024 + 1, id="mail"),
        pytest.param(UPLOAD, UPLOAD_LIMIT + 1, id="upload"),
        pytest.param(ATTACHMENT, UPLOAD_LIMIT + 1, id="attachment"),
        pytest.param("/graphql", 5 * 1024 * 1024, id="GraphQL"),
    ],
)
@pytest.mark.parametrize("expects", [[], ["Expect: 100-continue"]], ids=["plain", "expecting"])
async def test_a_body_announced_as_too_long_is_413_before_any_of_it(
    content_port, monkeypatch, path, length, expects
):
    monkeypatch.setattr(bodies, "READ_SECONDS", 60.0)
    monkeypatch.setattr(bodies, "IDLE_SECONDS", 60.0)
    world, port = content_port
    token = await world.token(emailAccessEnabled=True, allowedEmailOperations=["all"])
    world.forget_calls()

    answer = await exchange(port, head(path, *expects, token=token, length=length), end=False)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer
    assert set(RATE) <= headers(answer).keys()
    assert world.calls() == []


async def test_a_body_announced_as_too_long_without_a_token_is_401(content_port):
    _, port = content_port
    answer = await exchange(port, head(UPLOAD, length=UPLOAD_LIMIT + 1), end=False)

    assert answer.startswith(b"HTTP/1.1 401 ")
