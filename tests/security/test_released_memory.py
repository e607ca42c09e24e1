"""
A request releases what it holds with its response; the garbage collector has nothing to find.

A frame in a reference cycle keeps its local values: bodies, documents, records of upstreams. The
usual cycle is that of an exception and a variable of a frame which the exception passed.
"""

import gc
from collections import Counter
from pathlib import Path
from types import FrameType, MappingProxyType

import orjson
import pytest

import gateway
from rest_compat.table import ENDPOINTS

pytestmark = pytest.mark.slow  # each test collects all objects of the session several times

SOURCES = Path(gateway.__file__).parents[1]
PACKAGES = ("gateway", "rest_compat", "graph", "providers", "policy")
REQUESTS = ("rest_compat", "graph")  # their frames hold what the caller sent
UPSTREAMS = ("provider-a", "provider-b", "collab", "tasks")
MISSING = dict.fromkeys(
    ("emailId", "threadId", "eventId", "boardId", "fileId", "siteId", "listId", "itemId"), "none"
)
LARGE = orjson.dumps({"to": [{"email": "a"}] * 400, "body": "b" * 50_000, "name": {}, "fields": 1})


def left_to_the_collector(call, packages=PACKAGES):
    """Make *call*; return which frames of *packages* it left in reference cycles."""
    call()  # what is made once is made
    gc.collect()
    gc.freeze()  # for good: the collector passes over the tests' own million objects
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        call()
        gc.collect()
        frames = [kept for kept in gc.garbage if isinstance(kept, FrameType)]
        return Counter(
            frame.f_code.co_qualname
            for frame in frames
            if Path(frame.f_code.co_filename).is_relative_to(SOURCES)
            and Path(frame.f_code.co_filename).relative_to(SOURCES).parts[0] in packages
        )
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def call_all(served, *, methods=frozenset(), body=b"", ids=MappingProxyType({})):
    """Make a call of each row of the REST table, of *methods* if there are any."""
    for row in ENDPOINTS:
        if not methods or row.method in methods:
            served.call(row.method, served.url(row.path, **ids), content=body)


BODIES = {"empty": b"{}", "large": LARGE, "nested": b"[" * 50_000, "absent": b""}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("ids", [{}, MISSING], ids=["existing", "missing"])
def test_a_rest_call_leaves_no_frame(served, body, ids):
    assert left_to_the_collector(lambda: call_all(served, body=BODIES[body], ids=ids)) == {}


@pytest.mark.slow  # every read, with retries, several times
@pytest.mark.parametrize("kind", ["403", "500", "reset", "malformed"])
def test_a_failing_upstream_leaves_no_frame(served, kind):
    for upstream in UPSTREAMS:
        served.call("PUT", f"/sandbox/faults/{upstream}", json={"kind": kind})
    try:
        assert left_to_the_collector(lambda: call_all(served, methods={"GET"}), REQUESTS) == {}
    finally:
        for upstream in UPSTREAMS:
            served.call("DELETE", f"/sandbox/faults/{upstream}")


DOCUMENTS = {
    "syntax": "{" * 500,
    "validation": "{" + "a " * 500 + "}",
    "cost": "{" + "accessToken{id} " * 500 + "}",
    "refused": '{ email(emailId: "none") { id } }',
    "mutation": 'mutation { modifyEmail(emailId: "none", input: {markAsRead: true}) { success } }',
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_leaves_no_frame(served, document):
    body = orjson.dumps({"query": document})

    assert left_to_the_collector(lambda: served.call("POST", "/graphql", content=body)) == {}


MANAGEMENT = {
    "unknown members": ("POST", "/api/access-tokens", LARGE),
    "no object": ("POST", "/api/operators", b"[]"),
    "nothing there": ("GET", "/api/access-tokens/none", b""),
    "wrong page": ("GET", "/api/decisions?pageToken=none", b""),
}


@pytest.mark.parametrize("request_", MANAGEMENT.values(), ids=MANAGEMENT)
def test_a_management_call_leaves_no_frame(served, request_):
    method, url, body = request_

    assert left_to_the_collector(lambda: served.call(method, url, content=body)) == {}
