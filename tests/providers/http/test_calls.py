"""Requests of the HTTP client, and the outcomes of their responses."""

import asyncio
import gzip
import logging
import time

import httpx
import msgspec
import pytest

from providers.failures import (
    Broken,
    Conflicted,
    Locked,
    Missing,
    NeedsReauth,
    OutOfSpace,
    Refused,
    Stale,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.http.client import Origins, Upstream, deadline
from providers.http.retry_after import parse_retry_after
from providers.write_fence import fenced

BASE = "https://up.test/v1.0"
NOW = 1_780_000_000.0  # 2026-05-28T20:26:40Z


class Fixed:
    def __init__(self, value="token", scheme="Bearer"):
        self.scheme = scheme
        self._value = value

    async def token(self, *, rejected=None):
        if rejected is not None:
            raise NeedsReauth
        return self._value


class Server:
    """Answers with what it is given, in turn, the last one again and again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    async def __call__(self, request):
        await request.aread()
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(
            answer.status_code, headers=answer.headers, stream=httpx.ByteStream(answer.content)
        )


def connect(server, **options):
    return Upstream(Origins(transport=httpx.MockTransport(server)), BASE, connection=1, **options)


def ok(content=b"{}", status=200, **headers):
    return httpx.Response(
        status, content=content, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


async def test_a_read_sends_its_user_agent_and_accept_headers():
    server = Server(ok())
    await connect(server, credentials=Fixed()).call(
        "GET", "me", "a b", params=[("$top", "5"), ("q", "x&y")]
    )

    [request] = server.asked
    assert str(request.url) == f"{BASE}/me/a%20b?%24top=5&q=x%26y"
    assert dict(request.headers) == {
        "host": "up.test",
        "accept": "application/json",
        "accept-encoding": "gzip",
        "user-agent": "access-gateway (gzip)",
        "authorization": "Bearer token",
    }


async def test_an_empty_scheme_sends_the_bare_token():
    server = Server(ok())
    await connect(server, credentials=Fixed(scheme="")).call("GET", "me")

    assert server.asked[0].headers["authorization"] == "token"


async def test_json_is_sent_with_its_content_type_and_given_headers_override():
    server = Server(ok())
    await connect(server).call(
        "PATCH", "me", json={"a": [1, None]}, headers={"if-match": "*", "accept": "text/plain"}
    )

    [request] = server.asked
    assert request.content == b'{"a":[1,null]}'
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "text/plain"
    assert request.headers["if-match"] == "*"


async def test_a_response_has_lower_case_headers_and_a_decompressed_body():
    def server(request):
        return httpx.Response(
            201,
            headers={"ETag": '"1"', "Content-Encoding": "gzip", "Content-Length": "49"},
            stream=httpx.ByteStream(gzip.compress(b'{"a":') + gzip.compress(b"1}")),
        )

    answer = await connect(server).call("POST", "things")

    assert answer.status == 201
    assert answer.headers == {"etag": '"1"'}
    assert answer.decode(dict[str, int]) == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(gzip.compress(b"") * 101 + gzip.compress(b"{}"), id="102 members"),
        # stored blocks of no bytes, in one member
        pytest.param(gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * 4_000_000, id="20 MB"),
    ],
)
async def test_compressed_bodies_without_content_are_broken(body):
    """They would pass any limit of the decompressed size."""

    def server(request):
        headers = {"Content-Encoding": "gzip"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(body))

    with pytest.raises(Broken):
        await connect(server).call("GET", "me")


class Shape(msgspec.Struct):
    name: str


BODIES = {
    "not JSON": b"<html>",
    "nothing": b"",
    "not UTF-8": b'{"name":"\xff"}',
    "too deep": b"[" * 100_000,
    "another type": b'{"name":1}',
    "a missing member": b"{}",
    "something after the end": b'{"name":"a"} x',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_body_that_cannot_be_decoded_is_broken(body):
    answer = await connect(Server(ok(body))).call("GET", "me")
    with pytest.raises(Broken):
        answer.decode(Shape)


STATUSES = {
    400: Refused,
    403: Refused,
    404: Missing,
    405: Refused,
    408: TimedOut,
    409: Conflicted,
    410: Missing,
    412: Stale,
    418: Refused,
    423: Locked,
    500: Broken,
    504: TimedOut,
    507: OutOfSpace,
    599: Broken,
    301: Broken,
    304: Broken,
}


@pytest.mark.parametrize(("status", "failure"), STATUSES.items())
async def test_each_status_maps_to_one_failure(status, failure):
    with pytest.raises(failure) as caught:
        await connect(Server(ok(status=status))).call("POST", "things")

    assert type(caught.value) is failure
    if isinstance(caught.value, Refused):
        assert caught.value.status == status


async def test_an_accepted_status_is_returned():
    server = Server(ok(status=302, location="https://elsewhere.test/file?sig=1"))
    answer = await connect(server).call("GET", "content", accept=(302,))

    assert (answer.status, answer.headers["location"]) == (302, "https://elsewhere.test/file?sig=1")
    assert len(server.asked) == 1


async def test_the_classifier_overrides_the_status():
    def classify(answer):
        return Locked() if b"locked" in answer.body else None

    upstream = connect(Server(ok(b"locked", 400), ok(b"other", 400)), classify=classify)
    with pytest.raises(Locked):
        await upstream.call("POST", "a")
    with pytest.raises(Refused):
        await upstream.call("POST", "a")


async def test_a_failing_classifier_falls_back_to_the_status():
    upstream = connect(Server(ok(b"<html>", 404)), classify=lambda answer: answer.decode(Shape))
    with pytest.raises(Missing):
        await upstream.call("GET", "a")


async def test_a_throttle_found_by_the_classifier_is_remembered():
    server = Server(ok(b"rateLimitExceeded", 403))
    upstream = connect(server, classify=lambda _: Throttled(40))
    for _ in range(2):
        with pytest.raises(Throttled) as caught:
            await upstream.call("GET", "a")
        assert caught.value.retry_after == 40

    assert len(server.asked) == 1


async def test_a_throttle_reported_in_a_2xx_response_can_be_remembered():
    server = Server(ok())
    upstream = connect(server)
    await upstream.call("POST", "v2")

    assert upstream.throttled(7).retry_after == 7
    with pytest.raises(Throttled):
        await upstream.call("POST", "v2")
    assert len(server.asked) == 1


async def test_401_without_credentials_needs_reauth():
    with pytest.raises(NeedsReauth):
        await connect(Server(ok(status=401))).call("GET", "a")


async def test_401_of_a_new_token_names_the_reconnect_url():
    class Renewing:
        scheme = "Bearer"

        async def token(self, *, rejected=None):
            if rejected == "new":
                raise NeedsReauth(reconnect_url="https://gw.example/r/1")
            return "old" if rejected is None else "new"

    server = Server(ok(status=401))
    with pytest.raises(NeedsReauth) as caught:
        await connect(server, credentials=Renewing()).call("GET", "a")

    assert caught.value.reconnect_url == "https://gw.example/r/1"
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("failure", "expected", "sent"),
    [
        (Unreachable(sent=True), Unreachable, False),
        (TimedOut(sent=True), TimedOut, False),
        (Broken(), Unreachable, False),
        (Refused(status=401, word="invalid_client"), Unreachable, False),
    ],
)
async def test_a_token_that_cannot_be_fetched_leaves_a_write_unsent(failure, expected, sent):
    class Failing:
        scheme = "Bearer"

        async def token(self, *, rejected=None):
            raise failure

    server = Server(ok())
    with pytest.raises(expected) as caught:
        await connect(server, credentials=Failing()).call("POST", "a")

    assert caught.value.sent is sent
    assert server.asked == []


@pytest.mark.parametrize(
    ("method", "retry", "requests"),
    [("GET", None, 2), ("GET", False, 1), ("POST", None, 1), ("POST", True, 2), ("PUT", None, 1)],
)
async def test_only_repeatable_calls_are_retried(method, retry, requests):
    server = Server(httpx.ReadError("reset"), ok())
    upstream = connect(server)
    if requests == 1:
        with pytest.raises(Unreachable):
            await upstream.call(method, "a", retry=retry)
    else:
        assert (await upstream.call(method, "a", retry=retry)).status == 200

    assert len(server.asked) == requests


async def test_a_body_over_the_limit_is_broken():
    upstream = connect(Server(ok(b"x" * 1001)))
    with pytest.raises(Broken):
        await upstream.call("GET", "a", max_bytes=1000)

    assert len((await upstream.call("GET", "a", max_bytes=1001)).body) == 1001


async def test_a_request_past_its_deadline_is_not_sent():
    server = Server(ok())
    upstream = connect(server)
    mark = deadline.set(time.monotonic() - 1)
    try:
        with pytest.raises(TimedOut) as caught:
            await upstream.call("POST", "a")
    finally:
        deadline.reset(mark)

    assert caught.value.sent is False
    assert server.asked == []


async def test_a_call_ends_by_the_deadline_of_the_request_it_serves():
    async def silent(request):
        await asyncio.Event().wait()

    mark = deadline.set(time.monotonic() + 0.02)
    try:
        with pytest.raises(TimedOut) as caught:
            await connect(silent).call("POST", "a")
    finally:
        deadline.reset(mark)

    assert caught.value.sent is True


async def test_calls_of_one_connection_share_its_concurrency_limit():
    running = most = 0

    async def slow(request):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return ok()

    origins = Origins(transport=httpx.MockTransport(slow))
    mine = [Upstream(origins, BASE, connection=1, concurrency=4) for _ in range(20)]
    await asyncio.gather(*(upstream.call("GET", "a") for upstream in mine))

    assert most == 4


async def test_cookies_of_one_account_are_not_sent_for_another():
    server = Server(ok(set_cookie="session=mine"))
    origins = Origins(transport=httpx.MockTransport(server))
    for connection in (1, 2):
        await Upstream(origins, BASE, connection=connection).call("GET", "a")

    assert ["cookie" in request.headers for request in server.asked] == [False, False]


async def test_calls_are_not_logged(caplog):
    caplog.set_level(logging.DEBUG)
    await connect(Server(ok()), credentials=Fixed("secret")).call(
        "GET", "search", params=[("q", "private words")]
    )

    assert [r for r in caplog.records if r.name.startswith(("httpx", "providers"))] == []


async def test_an_app_of_this_process_serves_its_origin():
    async def app(scope, receive, send):
        assert (scope["path"], scope["query_string"]) == ("/sandbox/me", b"a=b")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"from":"app"}'})

    origins = Origins(apps={"http://localhost:9": app})
    upstream = Upstream(origins, "http://localhost:9/sandbox", connection=1)
    answer = await upstream.call("GET", "me", params=[("a", "b")])

    assert answer.decode(dict) == {"from": "app"}
    await origins.aclose()


async def test_an_app_that_ends_without_a_response_is_unreachable():
    async def app(scope, receive, send):
        pass

    upstream = Upstream(
        Origins(apps={"http://localhost:9": app}), "http://localhost:9", connection=1
    )
    with pytest.raises(Unreachable) as caught:
        await upstream.call("POST", "a")

    assert caught.value.sent is True


async def test_a_streamed_response_is_read_chunk_by_chunk():
    server = Server(ok(b"hello", content_type="text/plain"))
    async with connect(server, credentials=Fixed()).stream("GET", "file") as answer:
        body = b"".join([piece async for piece in answer.chunks])

    assert (answer.status, answer.headers["content-type"], body) == (200, "text/plain", b"hello")
    assert server.asked[0].headers["authorization"] == "Bearer token"


async def test_a_streamed_error_is_raised_on_entering():
    with pytest.raises(Missing):
        async with connect(Server(ok(status=404))).stream("GET", "file"):
            pytest.fail("there is nothing to read")


async def test_a_stream_over_the_limit_is_broken():
    with pytest.raises(Broken):
        async with connect(Server(ok(b"x" * 100))).stream("GET", "file", max_bytes=10) as answer:
            [piece async for piece in answer.chunks]


async def test_an_exception_of_the_reader_passes_unchanged():
    with pytest.raises(OSError, match="disk full"):
        async with connect(Server(ok())).stream("GET", "file"):
            raise OSError("disk full")


async def test_a_preauthenticated_url_is_called_without_credentials():
    server = Server(ok(b"bytes"))
    upstream = connect(server, credentials=Fixed(), hosts=("cdn.test",))
    async with upstream.open_stream("GET", "https://cdn.test/f?sig=1") as answer:
        assert [piece async for piece in answer.chunks] == [b"bytes"]

    assert "authorization" not in server.asked[0].headers


async def test_our_credentials_never_leave_our_origin():
    upstream = connect(Server(ok()), credentials=Fixed(), hosts=("cdn.test",))
    with pytest.raises(Broken):
        upstream.open_stream("GET", "https://cdn.test/f", authorized=True)


async def test_a_streamed_upload_is_sent_with_its_length():
    async def body():
        yield b"ab"
        yield b"cd"

    server = Server(ok(status=308, range="bytes=0-3"))
    async with connect(server).open_stream(
        "PUT", f"{BASE}/upload/1", content=body(), headers={"content-length": "4"}, accept=(308,)
    ) as answer:
        assert (answer.status, answer.headers["range"]) == (308, "bytes=0-3")

    assert server.asked[0].content == b"abcd"
    assert server.asked[0].headers["content-length"] == "4"


RETRY_AFTER = {
    None: None,
    "1": 1,
    "0": None,
    " 41 ": 41,
    "3600": 3600,
    "99999999999999999999": 86_400,
    "-5": None,
    "1.5": 2,
    "soon": None,
    "": None,
    "²": None,
    "Thu, 28 May 2026 20:27:00 GMT": 20,
    "Thu, 28 May 2026 20:26:00 GMT": 1,
    "Thu, 28 May 9999 20:26:00 GMT": 86_400,
    "Thu, 99 May 2026 20:26:00 GMT": None,
}


@pytest.mark.parametrize(("value", "seconds"), RETRY_AFTER.items())
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert parse_retry_after(value, NOW) == seconds


class Fence:
    """Confirms the first *times* calls."""

    def __init__(self, times):
        self.times = times
        self.asked = 0

    async def confirm(self):
        self.asked += 1
        if self.asked > self.times:
            raise PermissionError


async def test_a_fence_is_asked_before_every_attempt_of_a_write():
    server, fence = Server(httpx.ConnectError("refused"), ok()), Fence(times=2)
    with fenced(fence):
        await connect(server).call("POST", "send", content=b"x")

    assert (len(server.asked), fence.asked) == (2, 2)


async def test_a_write_that_its_fence_refuses_is_not_sent():
    server, fence = Server(ok()), Fence(times=0)
    with fenced(fence):
        with pytest.raises(PermissionError):
            await connect(server).call("POST", "send", content=b"x")
        with pytest.raises(PermissionError):
            async with connect(server).stream("PUT", "upload", content=b"x"):
                pass

    assert (server.asked, fence.asked) == ([], 2)


async def test_reads_and_unfenced_writes_ask_no_fence():
    server, fence = Server(ok()), Fence(times=0)
    with fenced(fence):
        await connect(server).call("GET", "me")
        await connect(server).call("POST", "$batch", json={}, changes=False)
    await connect(server).call("POST", "send", content=b"x")

    assert (len(server.asked), fence.asked) == (3, 0)
