"""
Members of upstreams' answers that are null: what the vendors' documents call nullable or may omit.

Each read is made while one member of the answers is null wherever it stands.
"""

from dataclasses import replace

import calendar_world
import orjson
import pytest
import whole_world

from rest_compat.table import ENDPOINTS
from sandbox.calendar.records import Attendee
from sandbox.control import Upstream

READS = [
    row for row in ENDPOINTS if row.method == "GET" and row.surface is not None and not row.streams
]
QUERIES = {
    "/api/access/email/messages/{emailId}": "?includeBody=true",
    "/api/access/collab/search": "?q=keel",
    "/api/access/calendar/events/by-contact": "?email=ana@home.example",
    "/api/access/calendar/events": "?from=2020-01-01&to=2030-01-01",
    "/api/access/calendar/freebusy": "?from=2026-11-20&to=2026-11-21",
}
# Without them there is nothing to be read: ids, lists of pages, and the frames of answers.
NEEDED = {"id", "gid", "value", "responses", "status", "body", "labels", "hitsContainers"}
NEEDED |= {"data", "boards", "board", "items_page", "items", "messages", "drafts"}
# Google leaves members without a value out, and writes no null.
NEEDED |= {"payload", "snippet", "labelIds", "internalDate"}
# Of one read alone: without its part and its type, no attachment has a text; without its message, a
# draft has neither version nor content.
NEEDED_BY = {
    "email/get_email_attachment_text": {"attachmentId", "mimeType", "partId", "parts"},
    "email/get_draft": {"message"},
}


@pytest.fixture(scope="module")
def served(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("nulls")) as world:
        meeting = calendar_world.meeting(
            calendar_world.at(1, "09:00"),
            calendar_world.at(1, "10:00"),
            "Keel",
            organiser=Attendee(email="ann@home.example", name="Ann"),
            attendees=(Attendee(email="bo@home.example", name="Bo"),),
        )
        for calendar in ("work", "office"):
            world.agendas.plant(calendar, "keel", meeting)
        yield world


def with_null(value, name):
    """Return JSON in which every member of a name is null."""
    if isinstance(value, dict):
        return {key: None if key == name else with_null(item, name) for key, item in value.items()}
    return [with_null(item, name) for item in value] if isinstance(value, list) else value


def names(value):
    """Return the names of all members."""
    if isinstance(value, dict):
        return set(value).union(*map(names, value.values()))
    return set().union(*map(names, value)) if isinstance(value, list) else set()


class Answers:
    """The answers of the sandbox, of which one member may be null; `names` are those seen."""

    def __init__(self, monkeypatch):
        self.null, self.names = None, set()
        call = Upstream.call

        async def answer(upstream, request, target=None):
            response = await call(upstream, request, target)
            if "json" not in response.headers.get("content-type", "") or response.status >= 300:
                return response
            document = orjson.loads(response.body)
            self.names |= names(document)
            if self.null is None:
                return response
            return replace(response, body=orjson.dumps(with_null(document, self.null)))

        monkeypatch.setattr(Upstream, "call", answer)


@pytest.mark.slow
@pytest.mark.parametrize("row", READS, ids=lambda row: row.document)
def test_a_member_that_is_null_is_absent(served, monkeypatch, row):
    answers = Answers(monkeypatch)
    url = served.url(row.path) + QUERIES.get(row.path, "")
    expected, _ = served.call("GET", url)
    statuses = {}
    for name in sorted(answers.names - NEEDED - NEEDED_BY.get(row.document, set())):
        answers.null = name
        response, _ = served.call("GET", url)
        if response.status_code != expected.status_code:
            statuses[name] = response.status_code
    assert statuses == {}
