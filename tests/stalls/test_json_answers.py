"""
JSON of hostile providers: how long it holds the loop.

Answers of the sandbox are recorded, made large, and played back: each list is repeated until the
response has 15 MB, or as many values as are read at all.
"""

from dataclasses import replace

import orjson
import pytest
import whole_world

from providers.http.bodies import MAX_VALUES
from rest_compat.openapi.components import error_statuses
from rest_compat.table import ENDPOINTS
from sandbox.control import Upstream

pytestmark = pytest.mark.stall
READS = [
    row for row in ENDPOINTS if row.method == "GET" and row.surface is not None and not row.streams
]
QUERIES = {
    "/api/access/people": "?name=ana",
    "/api/access/collab/search": "?q=keel",
    "/api/access/calendar/events/by-contact": "?email=ana@home.example",
    "/api/access/calendar/freebusy": "?from=2026-11-20&to=2026-11-21",
}
BYTES = 15_000_000
SIZES = {"15 MB": (BYTES, BYTES), "as many values as are read": (BYTES, MAX_VALUES)}


@pytest.fixture(scope="module")
def served(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("whole")) as world:
        yield world


def repeated(value, times):
    """Return JSON whose outermost lists are repeated."""
    if isinstance(value, dict):
        return {name: repeated(member, times) for name, member in value.items()}
    return value * times if isinstance(value, list) else value


def values(body):
    return sum(body.count(mark) for mark in (b",", b"[", b"{"))


def made_large(body, most_bytes, most_values):
    """Return a JSON body whose lists are repeated up to the bounds; as it is without lists."""
    document = orjson.loads(body)
    twice = orjson.dumps(repeated(document, 2))
    growth = len(twice) - len(orjson.dumps(document))
    if growth <= 0:
        return body
    times = min(most_bytes // growth, most_values // (values(twice) - values(body) or 1))
    return orjson.dumps(repeated(document, max(1, times - 1)))


class Playback:
    """The upstreams of the sandbox; what they have answered is answered again, made large."""

    def __init__(self, monkeypatch, most_bytes, most_values):
        self._bounds = most_bytes, most_values
        self._recorded = {}
        self.plays = False
        call = Upstream.call

        async def answer(upstream, request, target=None):
            key = upstream.name, request.method, request.path, target
            if self.plays and key in self._recorded:
                return self._recorded[key]
            response = await call(upstream, request, target)
            if "json" in response.headers.get("content-type", "") and response.status < 300:
                body = made_large(response.body, *self._bounds)
                self._recorded.setdefault(key, replace(response, body=body))
            return response

        monkeypatch.setattr(Upstream, "call", answer)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("row", READS, ids=lambda row: row.document)
def test_lists_of_any_length_hold_the_loop_for_a_moment(served, stalls, monkeypatch, row, size):
    playback = Playback(monkeypatch, *SIZES[size])
    url = served.url(row.path) + QUERIES.get(row.path, "")
    served.call("GET", url)
    playback.plays = True

    response, _ = stalls.measure_sync(
        f"JSON: {row.document}, {size}",
        lambda: served.call("GET", url),
        excluded=lambda: served.sandbox_time.seconds,
    )

    assert response.status_code in {row.status, *error_statuses(row)} - {500}, response.text
