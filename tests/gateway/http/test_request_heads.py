"""Requests that two servers may read differently: each is refused, or read in one way only."""

import pytest
import pytest_asyncio
from guarded_server import EchoApp, body, exchange, serve, statuses

HOST = b"Host: gateway.test\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST
POST = b"POST / HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


@pytest.fixture
def app():
    return EchoApp()


@pytest_asyncio.fixture
async def port(app):
    async with serve(app) as port:
        yield port


def get(target):
    return b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n"


def coded(*values, content=LAST):
    lines = [b"Transfer-Encoding:" + value + b"\r\n" for value in values]
    return POST + b"".join(lines) + b"\r\n" + content


def sized(*values, content=b"hello"):
    lines = [b"Content-Length:" + value + b"\r\n" for value in values]
    return POST + b"".join(lines) + b"\r\n" + content


def line(text):
    return GET + text + b"\r\n\r\n"


# What never reaches the application: name -> status and request.
REFUSED = {
    # Host
    "no Host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two Hosts": (400, line(b"Host: gateway.test")),
    "two Hosts, HTTP/1.0": (400, b"GET / HTTP/1.0\r\n" + HOST * 2 + b"\r\n"),
    "empty Host": (400, b"GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    "blank in Host": (400, b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    "user in Host": (400, b"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"),
    "path in Host": (400, b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    "two names in Host": (400, b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    # versions
    "HTTP/0.9": (505, b"GET / HTTP/0.9\r\n" + HOST + b"\r\n"),
    "no version": (505, b"GET /\r\n\r\n"),
    "HTTP/2.0": (505, b"GET / HTTP/2.0\r\n" + HOST + b"\r\n"),
    "HTTP/1.2": (400, b"GET / HTTP/1.2\r\n" + HOST + b"\r\n"),
    "http/1.1": (400, b"GET / http/1.1\r\n" + HOST + b"\r\n"),
    "HTTP/2 preface": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    # Transfer-Encoding
    "gzip, chunked": (501, coded(b"gzip, chunked")),
    "gzip": (501, coded(b"gzip", content=b"")),
    "identity": (501, coded(b"identity", content=b"")),
    "xchunked": (501, coded(b"xchunked")),
    '"chunked"': (501, coded(b'"chunked"')),
    "chunked;a=b": (501, coded(b"chunked;a=b")),
    "gzip and chunked": (501, coded(b"gzip", b"chunked")),
    "chunked, chunked": (400, coded(b"chunked, chunked")),
    "chunked twice": (400, coded(b"chunked", b"chunked")),
    "chunked, gzip": (400, coded(b"chunked", b"gzip")),
    "empty coding": (400, coded(b"")),
    "vertical tab before chunked": (400, coded(b"\x0bchunked")),
    "folded coding": (400, coded(b"\r\n chunked")),
    "blank before colon of coding": (400, line(b"Transfer-Encoding : chunked")),
    "coding and length": (400, coded(b"chunked\r\nContent-Length: 5")),
    "length and coding": (400, sized(b"5\r\nTransfer-Encoding: chunked", content=LAST)),
    "coding, HTTP/1.0": (
        400,
        b"POST / HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + LAST,
    ),
    # Content-Length
    "+5": (400, sized(b"+5")),
    "-5": (400, sized(b"-5")),
    "0x5": (400, sized(b"0x5")),
    "1_0": (400, sized(b"1_0")),
    "5 5": (400, sized(b"5 5")),
    "5, 5": (400, sized(b"5, 5")),
    "5 twice": (400, sized(b"5", b"5")),
    "5 and 6": (400, sized(b"5", b"6")),
    "no length": (400, sized(b"")),
    "length over 64 bits": (400, sized(b"9" * 23)),
    "no-break space behind 5": (400, sized(b"5\xa0")),
    # header lines
    "U+0000 in value": (400, line(b"X-A: a\x00b")),
    "control character in value": (400, line(b"X-A: a\x01b")),
    "DEL in value": (400, line(b"X-A: a\x7fb")),
    "CR in value": (400, line(b"X-A: a\rb")),
    "U+0000 in name": (400, line(b"X\x00A: a")),
    "blank in name": (400, line(b"X A: a")),
    "blank before colon": (400, line(b"X-A : a")),
    "no name": (400, line(b": a")),
    "no colon": (400, line(b"XA")),
    "folded by a blank": (400, line(b"X-A: a\r\n b")),
    "folded by a tab": (400, line(b"X-A: a\r\n\tb")),
    "folded empty value": (400, line(b"X-A:\r\n b")),
    "blank before the first header": (400, b"GET / HTTP/1.1\r\n " + HOST + b"\r\n"),
    # line ends
    "LF alone": (400, b"GET / HTTP/1.1\nHost: a\n\n"),
    "LF alone behind a header": (400, GET + b"X-A: b\n\r\n"),
    "LF alone behind the head": (400, GET + b"\n"),
    "LF alone behind the request line": (400, b"GET / HTTP/1.1\n" + HOST + b"\r\n"),
    "CR alone": (400, b"GET / HTTP/1.1\rHost: a\r\r"),
    # targets
    "another host": (400, get(b"http://other.test/x")),
    "another port": (400, get(b"http://gateway.test:81/x")),
    "user in target": (400, get(b"http://a@gateway.test/x")),
    "another scheme": (400, get(b"ftp://gateway.test/x")),
    "host without scheme": (400, get(b"gateway.test:80")),
    "CONNECT": (400, b"CONNECT gateway.test:80 HTTP/1.1\r\n" + HOST + b"\r\n"),
    "*": (400, b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n"),
    "relative path": (400, get(b"x")),
    "query alone": (400, get(b"?x")),
    "backslash": (400, get(b"\\x")),
    "fragment": (400, get(b"/a#b")),
    "control character in target": (400, get(b"/a\x01b")),
    "U+0000 in target": (400, get(b"/a\x00b")),
    "DEL in target": (400, get(b"/a\x7fb")),
    "tab in target": (400, get(b"/a\tb")),
    "blank in target": (400, get(b"/a b")),
    "byte above ASCII in target": (400, get(b"/a\xff")),
    "byte above ASCII in query": (400, get(b"/a?\xff")),
    "blank behind the version": (400, b"GET / HTTP/1.1 \r\n" + HOST + b"\r\n"),
    "method in lower case": (400, b"get / HTTP/1.1\r\n" + HOST + b"\r\n"),
    "unknown method": (400, b"FOO / HTTP/1.1\r\n" + HOST + b"\r\n"),
}

# What ends a body that has begun: the application gets no whole body.
BROKEN_BODIES = {
    "LF behind the size": b"5\nhello\r\n" + LAST,
    "LF behind the data": b"5\r\nhello\n" + LAST,
    "nothing behind the data": b"5\r\nhello" + LAST,
    "blank behind the size": b"5 \r\nhello\r\n" + LAST,
    "blank before the size": b" 5\r\nhello\r\n" + LAST,
    "0x": b"0x5\r\nhello\r\n" + LAST,
    "+": b"+5\r\nhello\r\n" + LAST,
    "-": b"-5\r\nhello\r\n" + LAST,
    "no size": b"\r\nhello\r\n" + LAST,
    "size over 64 bits": b"F" * 17 + b"\r\nhello\r\n" + LAST,
    "LF behind an extension": b"5;a=b\nhello\r\n" + LAST,
    "control character in an extension": b"5;a\x01b\r\nhello\r\n" + LAST,
    "U+0000 in a trailer": b"0\r\nX-A: a\x00b\r\n\r\n",
    "Content-Length in a trailer": b"0\r\nContent-Length: 5\r\n\r\n",
    "folded trailer": b"0\r\nX-A: a\r\n b\r\n\r\n",
}

# What is served: name -> request, target and size of the body.
SERVED = {
    "HTTP/1.0 without Host": (b"GET / HTTP/1.0\r\n\r\n", "/", 0),
    "Chunked": (coded(b" \tChunked ", content=b"A\r\nhellohello\r\n" + LAST), "/", 10),
    "blanks around a length": (sized(b" \t5\t "), "/", 5),
    "zeros before a length": (sized(b"005"), "/", 5),
    "chunk extension": (CHUNKED + b"5;a=b\r\nhello\r\n" + LAST, "/", 5),
    "body of GET": (GET + b"Content-Length: 5\r\n\r\nhello", "/", 5),
    "byte above ASCII in value": (line(b"X-A: a\xffb"), "/", 0),
    "blank lines first": (b"\r\n\r\n" + GET + b"\r\n", "/", 0),
    "absolute target": (get(b"HTTP://Gateway.test/x?y"), "/x", 0),
    "absolute target without path": (get(b"http://gateway.test"), "/", 0),
    "absolute target with a query alone": (get(b"http://gateway.test?/x"), "/", 0),
    "target with two slashes": (get(b"//other.test/x"), "//other.test/x", 0),
    "encoded U+0000": (get(b"/a%00b"), "/a\x00b", 0),
    "offer of a WebSocket": (line(b"Connection: Upgrade\r\nUpgrade: websocket"), "/", 0),
    "offer of HTTP/2": (line(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c"), "/", 0),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_an_ambiguous_request_is_refused_and_the_connection_ends(app, port, case):
    status, request = REFUSED[case]
    answer = await exchange(port, request, GET + b"\r\n")

    assert (statuses(answer), app.requests) == ([status], [])
    error = body(answer)
    message, request_id = error["message"], error["requestId"]
    assert error == {"error": "VALIDATION_ERROR", "message": message, "requestId": request_id}
    assert f"x-request-id: {request_id}\r\n".encode() in answer
    assert b"connection: close\r\n" in answer


@pytest.mark.parametrize("content", BROKEN_BODIES.values(), ids=BROKEN_BODIES)
async def test_a_broken_chunked_body_is_400(port, content):
    answer = await exchange(port, CHUNKED, content + GET + b"\r\n")

    assert (statuses(answer), body(answer)["error"]) == ([400], "VALIDATION_ERROR")


@pytest.mark.parametrize(("request_", "path", "size"), SERVED.values(), ids=SERVED)
async def test_an_unusual_request_is_served(port, request_, path, size):
    answer = await exchange(port, request_)

    assert statuses(answer) == [200]
    assert (body(answer)["path"], body(answer)["size"]) == (path, size)


async def test_a_target_on_another_host_is_named_as_the_fault(port):
    answer = body(await exchange(port, get(b"http://other.test/x")))
    assert answer["message"] == "The request target is not a path of this host."


async def test_blanks_around_every_header_are_removed(port):
    answer = await exchange(port, line(b"Idempotency-Key: \t k \t\r\nX-E:\r\nX-F: \t "))

    assert body(answer)["headers"][1:] == [["idempotency-key", "k"], ["x-e", ""], ["x-f", ""]]


async def test_trailers_are_no_headers(port):
    trailers = (
        b"Authorization: Bearer t\r\nX-Forwarded-For: 10.1.2.3\r\nIdempotency-Key: k\r\n"
        b"X-Request-Id: r\r\nHost: other\r\nContent-Type: a/b\r\n"
    )
    answer = await exchange(port, CHUNKED + b"5\r\nhello\r\n0\r\n" + trailers + b"\r\n")

    assert statuses(answer) == [200]
    headers = [["host", "gateway.test"], ["transfer-encoding", "chunked"]]
    assert (body(answer)["headers"], body(answer)["size"]) == (headers, 5)


async def test_a_connection_goes_on_after_trailers(port):
    answer = await exchange(port, (CHUNKED + b"0\r\nX-A: b\r\n\r\n") * 2 + GET + b"\r\n")
    assert statuses(answer) == [200, 200, 200]


@pytest.mark.parametrize(
    "request_",
    [
        POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello",
        POST
        + b"Connection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"5\r\nhello\r\n"
        + LAST,
    ],
)
async def test_the_body_of_a_request_that_offers_an_upgrade_is_no_request(app, port, request_):
    answer = await exchange(port, request_ + GET + b"\r\n")

    assert (statuses(answer), app.requests) == ([200, 200], ["/", "/"])
    assert b'"size": 5' in answer


async def test_a_request_in_the_body_of_an_offered_upgrade_is_not_served(app, port):
    hidden = b"GET /hidden HTTP/1.1\r\n" + HOST + b"\r\n"
    length = b"Content-Length: %d\r\n" % len(hidden)
    head = POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + length + b"\r\n"
    answer = await exchange(port, head, hidden)

    assert (statuses(answer), app.requests) == ([200], ["/"])
