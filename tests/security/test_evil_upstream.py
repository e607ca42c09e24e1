"""
An upstream that answers anything: JSON of wrong shapes in every position, redirects, wrong types.

Answers of the sandbox are recorded and changed in one place. The gateway answers what it can, or
the documented 502; never 500, and never a status that the row does not document. `TIMES`
multiplies the changes per row.
"""

import random
from dataclasses import replace

import orjson
import pytest
from run_sizes import times

from rest_compat.openapi.components import error_statuses
from rest_compat.table import ENDPOINTS
from sandbox.control import Upstream

EXAMPLES = times(5)
READS = [row for row in ENDPOINTS if row.method == "GET" and row.surface is not None]
# A file whose length is not the announced one ends the connection; there is no response to judge.
DOCUMENT_READS = [row for row in READS if not row.streams]
QUERIES = {
    "/api/access/people": "?name=ana",
    "/api/access/collab/search": "?q=keel",
    "/api/access/calendar/events/by-contact": "?email=ana@home.example",
    "/api/access/calendar/freebusy": "?from=2026-11-20&to=2026-11-21",
}
WRONG = [
    None, True, 0, -1, 2**63, 2**70, 1.5, 1e308, "", "x", "\0", "\ud7ff", "é" * 2000, "../..",
    "2026-13-45T99:99:99Z", "0000-00-00", "https://evil.example/next", "//evil.example", [], [None],
    [[]], [{}], {}, {"": None}, {"@odata.nextLink": "https://evil.example/"}, {"error": {}},
    "a" * 9999,
]  # fmt: skip


def positions(value, path=()):
    """Yield the path of every value inside a decoded JSON document, the document's own first."""
    yield path
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from positions(member, (*path, key))


def changed(document, path, wrong):
    """Return *document* with *wrong* at *path*; `...` removes what is there."""
    if not path:
        return None if wrong is ... else wrong
    key, *rest = path
    copy = dict(document) if isinstance(document, dict) else list(document)
    if rest or wrong is not ...:
        copy[key] = changed(copy[key], rest, wrong)
    else:
        del copy[key]
    return copy


class Evil:
    """Stands before all upstreams of the sandbox, and changes what they answer."""

    def __init__(self, monkeypatch):
        self.change = None
        self.json_answers = 0
        call = Upstream.call

        async def changed_call(*arguments):
            response = await call(*arguments)
            self.json_answers += "json" in response.headers.get("content-type", "")
            return response if self.change is None else self.change(response)

        monkeypatch.setattr(Upstream, "call", changed_call)


@pytest.fixture
def evil(monkeypatch):
    return Evil(monkeypatch)


def read(served, row):
    response, _ = served.call("GET", served.url(row.path) + QUERIES.get(row.path, ""))
    return response


def require_documented(row, response, what):
    assert response.status_code in {row.status, *error_statuses(row)} - {500}, (what, response.text)
    assert "evil.example" not in response.headers.get("location", ""), what


class OnePlace:
    """Changes one place of the n-th JSON answer."""

    def __init__(self, generator, at):
        self._random = generator
        self._left = at
        self.what = None

    def __call__(self, response):
        if "json" not in response.headers.get("content-type", "") or response.status >= 300:
            return response
        self._left -= 1
        if self._left != -1:
            return response
        document = orjson.loads(response.body)
        path = self._random.choice(list(positions(document)))
        wrong = self._random.choice([..., *WRONG])
        self.what = (path, wrong)
        body = orjson.dumps(changed(document, path, wrong if wrong != 2**70 else 2**53))
        if wrong == 2**70:
            body = body.replace(b"9007199254740992", b"1180591620717411303424")
        return replace(response, body=body)


@pytest.mark.slow
@pytest.mark.parametrize("row", DOCUMENT_READS, ids=lambda row: row.document)
def test_no_json_of_a_wrong_shape_breaks_a_read(served, evil, row):
    generator = random.Random(row.document)
    read(served, row)
    warm = evil.json_answers
    read(served, row)  # once more: what is cached is not asked for again
    answers, reached = evil.json_answers - warm, 0
    for _ in range(EXAMPLES):
        evil.change = OnePlace(generator, generator.randrange(max(answers, 1)))
        response = read(served, row)
        reached += evil.change.what is not None
        require_documented(row, response, evil.change.what)
        evil.change = None
        read(served, row)  # what a broken answer left behind does no harm either
    assert reached or not answers


WHOLE = {
    "a redirect to another host": {"status": 302, "headers": {"location": "https://evil.example/"}},
    "a redirect to this machine": {"status": 307, "headers": {"location": "http://127.0.0.1:1/"}},
    "a page": {"body": b"<html>Sign in</html>", "headers": {"content-type": "text/html"}},
    "JSON that is called text": {"headers": {"content-type": "text/plain"}},
    "nothing": {"body": b""},
    "half of JSON": {"body": b'{"value":[{"id":"tr'},
    "no UTF-8": {"body": b'{"value":"\xff\xfe"}'},
    "deep JSON": {"body": b"[" * 100_000},
    "a list": {"body": b"[]"},
    "null": {"body": b"null"},
    "a status of its own": {"status": 299},
    "a strange refusal": {"status": 418, "body": b"{}"},
    "no text in a refusal": {"status": 404, "body": b'{"error":[1]}'},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_no_answer_breaks_a_read(served, evil, name):
    for row in READS:
        evil.change = lambda response: replace(response, **WHOLE[name])
        response = read(served, row)
        evil.change = None
        require_documented(row, response, row.document)
