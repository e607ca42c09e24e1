"""
No text of a caller holds the event loop, wherever it stands.

Every argument of a root field, every member of an input and every parameter of REST gets 23 hostile
texts, as long as its maximum, of 60 kB and of 1 MB. CI tries a few; `STALLS=all` tries all.
"""

import os

import pytest
import whole_world
from caller_texts import graphql_texts, rest_texts
from generated_requests import LIMITS
from hostile_texts import FEW, SIZES, UNITS, text_of

pytestmark = pytest.mark.stall

IS_WHOLE = os.environ.get("STALLS") == "all"
NAMES = tuple(UNITS) if IS_WHOLE else FEW
LONGEST_URL = 60_000  # characters; the client sends no more than 65,536


def sizes_of(text):
    """Return sizes in bytes: that of the longest accepted text, and of texts beyond it."""
    longest = text.limit.characters if text.limit else SIZES[0]
    return sorted({min(longest, SIZES[1]), *(SIZES if IS_WHOLE else SIZES[:1])})


def is_refused(text, value):
    limit = text.limit
    return limit is not None and limit.code is not None and len(value) > limit.characters


def call(served, stalls, name, request):
    """Make a call, and note its longest turn; the sandbox is not the gateway."""
    method, url, content = request
    client = served.client if "/api/access/" in url or url == "/graphql" else served.admin
    content = whole_world.as_json(content) if url == "/graphql" else content
    return stalls.measure_sync(
        name,
        lambda: served.runner.run(client.request(method, url, **content)),
        excluded=lambda: served.sandbox_time.seconds,
    )


@pytest.mark.parametrize("text", [pytest.param(each, id=each.name) for each in graphql_texts()])
def test_no_argument_and_no_member_of_graphql(served, stalls, text):
    walk(served, stalls, text)


@pytest.mark.parametrize("text", [pytest.param(each, id=each.name) for each in rest_texts()])
def test_no_parameter_and_no_member_of_rest(served, stalls, text):
    walk(served, stalls, text)


def walk(served, stalls, text):
    for name in NAMES:
        for size in sizes_of(text):
            value = text_of(name, size)
            method, url, content = text.request(served, value)
            if len(url) > LONGEST_URL:
                continue  # its head is refused before: see test_bodies_and_heads.py
            if len(content.get("content", b"")) > LIMITS["mail"]:
                continue
            before = served.upstream_calls()
            response = call(served, stalls, f"{text.name} {name}", (method, url, content))

            assert response.status_code < 500, response.text
            assert "INTERNAL_ERROR" not in response.text
            if is_refused(text, value):
                assert served.upstream_calls() == before
                assert "Input." in text.name or response.status_code in {200, 400, 413}
