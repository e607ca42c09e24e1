"""Ten kinds of requests that try to make the gateway work or store much, written as bytes."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from urllib.parse import quote

SEND = "/api/access/email/messages/send"
FILES = "/api/access/collab/files"
SEARCH = "/api/access/collab/search"
KINDS = (
    "bodies",
    "trailers",
    "wildcards",
    "documents",
    "chunks",
    "headers",
    "ids",
    "page tokens",
    "selectors",
    "patterns",
)
# Rules of the token that sends "patterns": wildcards that backtracking matchers try in many ways.
PATTERNS = [f"text/{'*a' * 60}{number}" for number in range(50)]
_MAIL_BYTES = 4 * 1024 * 1024 - 100
_JSON_BYTES = 256 * 1024 - 100


def requests_of(kind: str, headers: Mapping[str, str]) -> Iterator[bytes]:
    """Yield requests of a kind without end; *headers* go with each of them."""
    heads = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "x", **headers}.items())
    return _MAKERS[kind](heads)


def _get(heads: str, path: str, **query: str) -> bytes:
    text = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"GET {path}{'?' if text else ''}{text} HTTP/1.1\r\n{heads}\r\n".encode()


def _post(heads: str, path: str, body: bytes) -> bytes:
    lines = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"POST {path} HTTP/1.1\r\n{heads}{lines}\r\n".encode() + body


def _chunked(heads: str, path: str, chunks: bytes, trailers: bytes = b"") -> bytes:
    lines = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    head = f"POST {path} HTTP/1.1\r\n{heads}{lines}\r\n".encode()
    return head + chunks + b"0\r\n" + trailers + b"\r\n"


def _filled(opening: bytes, item: bytes, closing: bytes, size: int) -> bytes:
    return opening + b",".join([item] * (size // (len(item) + 1))) + closing


@cache
def _large_bodies(heads: str) -> tuple[bytes, ...]:
    return (
        _post(heads, SEND, _filled(b'{"to":[', b"{}", b"]}", _MAIL_BYTES)),
        _post(heads, SEND, _filled(b'{"to":[', b'{"email":"a"}', b"]}", _MAIL_BYTES)),
        _post(heads, SEND, b"[" * _MAIL_BYTES),
        _post(heads, SEND, _filled(b'{"body":"', b"\\n", b'"}', _MAIL_BYTES)),
        _post(heads, "/api/access/collab/folders", _filled(b"{", b'"a":1', b"}", _JSON_BYTES)),
    )


def _bodies(heads: str) -> Iterator[bytes]:
    while True:
        yield from _large_bodies(heads)


def _trailers(heads: str) -> Iterator[bytes]:
    body = b'{"query":"{accessToken{name}}"}'
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    few = b"".join(b"X-T%d: %s\r\n" % (number, b"a" * 300) for number in range(99))
    many = b"".join(b"X-T%d: %s\r\n" % (number, b"a" * 8000) for number in range(500))
    long = b"X-T: " + b"a" * 4_000_000
    requests = [_chunked(heads, "/graphql", chunk, trailers) for trailers in (few, many, long)]
    while True:
        yield from requests


def _wildcards(heads: str) -> Iterator[bytes]:
    requests = [
        _get(heads, FILES, name="*a" * 100),
        _get(heads, SEARCH, q=" ".join(f"filename:{letter}*" for letter in "abcdefghij")),
        _get(heads, SEARCH, q="*a" * 200),
        _get(heads, "/api/access/email/messages", q="*a" * 200),
        _get(heads, "/api/access/email/messages", **{"from": "*e*@*"}),
    ]
    while True:
        yield from requests


def _documents(heads: str) -> Iterator[bytes]:
    """Yield documents of which no two are equal, so that no cache knows them."""
    names = range(100)
    fragments = "".join(f" fragment F{name} on Query{{accessToken{{id}}}}" for name in names)
    spreads = "".join(f"...F{name} " for name in names)
    aliases = "".join(f"a{name}:accessToken{{id}} " for name in range(500))
    deep = "{" + "a{" * 2000 + "a" + "}" * 2001
    for number in count():
        for document in (
            "{" + spreads + "}" + fragments,
            "{" + aliases + "}",
            deep,
            "{__schema{types{name fields{name type{name ofType{name}}}}}}",
            "{" + "accessToken{id} " * 1000 + "}",
            "{accessToken{id}" + " @include(if:true)" * 500 + "}",
        ):
            body = json.dumps({"query": f"{document} #{number}"}).encode()
            yield _post(heads, "/graphql", body)


def _chunks(heads: str) -> Iterator[bytes]:
    requests = [
        _chunked(heads, SEND, b"1\r\n \r\n" * 200_000),
        _chunked(heads, "/graphql", b"1\r\n \r\n" * 60_000),
        _chunked(heads, SEND, b"1;" + b"x" * 1000 + b"\r\n \r\n" + b"1;a=b\r\n \r\n" * 50_000),
    ]
    while True:
        yield from requests


def _headers(heads: str) -> Iterator[bytes]:
    lines = [
        "".join(f"X-{number}: {'a' * 300}\r\n" for number in range(90)),
        "".join(f"X-Forwarded-For: {'10.0.0.1, ' * 30}\r\n" for _ in range(90)),
        f"Prefer: {'a=b; c, ' * 3500}\r\n",
        f"Accept: {'a/b;q=0.1, ' * 2500}\r\n",
        f"Cookie: {'a=b; ' * 6000}\r\n",
        "".join(f"X-{number}: a\r\n" for number in range(5000)),
    ]
    requests = [_get(heads + more, "/api/access/token") for more in lines]
    while True:
        yield from requests


def _ids(heads: str) -> Iterator[bytes]:
    texts = ["a" * 8000, "providerA:" + "%2e" * 3000, "collab:drive:" + ":item:" * 900]
    texts += ["providerB:" + "%C3%A9" * 1500, "." * 8000, "..%2f" * 1500]
    paths = ("/api/access/email/messages/", f"{FILES}/", "/api/access/calendar/events/")
    while True:
        for text in texts:
            for path in paths:
                yield _get(heads, path + text)


def _page_tokens(heads: str) -> Iterator[bytes]:
    texts = ["A" * 4096, "A" * 20_000, "gAAAAAB" + "x" * 4000, "=" * 4096, "é" * 2000]
    paths = ("/api/access/email/messages", FILES, "/api/access/collab/sites")
    while True:
        for text in texts:
            for path in paths:
                yield _get(heads, path, pageToken=text)


def _selectors(heads: str) -> Iterator[bytes]:
    texts = [
        " ".join(f"author:a{number}" for number in range(40)),
        " OR ".join(f"lastmodifiedtime>2020-01-{day:02}" for day in range(1, 20)),
        "(" * 200 + "author:a" + ")" * 200,
        "author:" * 60,
        '"' + "a" * 400,
        " ".join(f"x{number}:y" for number in range(80)),
    ]
    while True:
        for text in texts:
            yield _get(heads, SEARCH, q=text)


def _patterns(heads: str) -> Iterator[bytes]:
    while True:
        yield _get(heads, FILES, limit="100")


_MAKERS = dict(
    zip(
        KINDS,
        (
            _bodies,
            _trailers,
            _wildcards,
            _documents,
            _chunks,
            _headers,
            _ids,
            _page_tokens,
            _selectors,
            _patterns,
        ),
        strict=True,
    )
)
