"""
What `person` costs over four surfaces and six connections.

Counted are the calls of a second request: the first one fills what is kept per account (ids of
mail folders, names of labels and of users).
"""

import asyncio
import re
import time
from collections import Counter
from types import SimpleNamespace

import edge_world
import pytest
import whole_world
import world as worlds

from providers.calendar import calendar_memory

PERSON = """{ person(email: "ana@home.example") {
    emails(limit: 5) { emails { subject } }
    events(limit: 5) { events { title } }
    tasks(boardId: "#", provider: "BOARDS", limit: 5) { items { name } }
    files(limit: 5) { files { name } }
} }"""
CALLS = {
    "mail of provider A: the ids": 1,
    "mail of provider A: the messages, in a batch": 1,
    "mail of provider B": 1,
    "events of provider A, in a batch": 1,
    "events of provider B, in a batch": 1,
    "boards: the items": 1,
    "content: the search": 1,
}
# In the minute of a first request, the calendars are listed before their events are read.
LISTS = {"calendars of provider A": 1, "calendars of provider B": 1}
KINDS = {
    r"GET /gmail/v1/users/me/messages": "mail of provider A: the ids",
    r"POST /batch/gmail/v1": "mail of provider A: the messages, in a batch",
    r"GET /v1.0/me/messages": "mail of provider B",
    r"POST /v1.0/\$batch": "events of provider B, in a batch",
    r"POST /batch/calendar/v3": "events of provider A, in a batch",
    r"GET /calendar/v3/users/me/calendarList": "calendars of provider A",
    r"GET /v1.0/me/calendars": "calendars of provider B",
    r"POST /v2": "boards: the items",
    r"POST /v1.0/search/query": "content: the search",
}


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("person")) as world:
        edge_world.fill(world)
        yield world


def ask(world):
    for upstream in world.world.sandbox.upstreams.values():
        upstream.calls.clear()
    query = PERSON.replace("#", world.parameters["boardId"])
    body = world.call("POST", "/graphql", json={"query": query})[0].json()
    assert "errors" not in body, body
    return body["data"]["person"]


def made_calls(world):
    """Return the calls by what they are for; the parts of a batch are one call."""
    calls = [call for wire in world.world.sandbox.upstreams.values() for call in wire.calls]
    asked = [f"{call['method']} {call['path']}" for call in calls if call["batch"] is None]
    return Counter(_kind(call) for call in asked)


def _kind(call):
    return next((kind for form, kind in KINDS.items() if re.fullmatch(form, call)), call)


@pytest.mark.slow
def test_a_person_over_all_surfaces_costs_these_calls(world):
    ask(world)
    person = ask(world)

    assert len(person["emails"]["emails"]) == 5
    assert person["events"]["events"]
    assert made_calls(world) == CALLS


def test_the_lists_of_calendars_are_read_again_after_a_minute(world, monkeypatch):
    ask(world)
    late = time.monotonic() + calendar_memory.RECENT_SECONDS + 1
    monkeypatch.setattr(calendar_memory, "time", SimpleNamespace(monotonic=lambda: late))
    ask(world)

    assert made_calls(world) == CALLS | LISTS


def test_all_connections_are_asked_at_the_same_time_and_one_of_them_twice(world, monkeypatch):
    """Calls of the second wave began when one of the first was answered; there is no third."""
    ask(world)
    sandbox, waves, answered = world.world.sandbox, [], 0
    answer = sandbox._answer

    async def slowly(scope, receive):
        nonlocal answered
        wave = answered
        waves.append((wave, f"{scope['method']} {scope['path']}"))
        for _ in range(300):  # steps of the event loop, in which other calls can begin
            await asyncio.sleep(0)
        answered = max(answered, wave + 1)
        return await answer(scope, receive)

    monkeypatch.setattr(sandbox, "_answer", slowly)
    ask(world)

    assert [wave for wave, _ in waves] == [0] * 6 + [1]
    assert waves[-1][1].endswith("/batch/gmail/v1")


def test_a_page_of_fifty_mails_of_two_mailboxes_is_read_in_two_batches_of_provider_a(world):
    """A third batch would read the two messages that tell whether there are more."""
    mails = [
        worlds.mail(
            f"p{number}",
            worlds.BO,
            "me@a.example",
            "Hull",
            "Text.\n",
            at=f"2026-10-{number // 24 + 1:02}T{number % 24:02}:00:00",
        )
        for number in range(48)
    ]
    world.world.sandbox.state.mails.add_many("provider-a", mails)
    for upstream in world.world.sandbox.upstreams.values():
        upstream.calls.clear()
    query = "{ emails(limit: 50) { emails { id receivedAt } hasMore nextPageToken } }"
    page = world.call("POST", "/graphql", json={"query": query})[0].json()["data"]["emails"]
    batches = made_calls(world)["mail of provider A: the messages, in a batch"]
    again = query.replace("50", f'50, pageToken: "{page["nextPageToken"]}"')
    rest = world.call("POST", "/graphql", json={"query": again})[0].json()["data"]["emails"]

    assert batches == 2
    assert 46 <= len(page["emails"]) <= 50
    assert page["hasMore"]
    ids = [email["id"] for email in (*page["emails"], *rest["emails"])]
    times = [email["receivedAt"] for email in (*page["emails"], *rest["emails"])]
    assert len(set(ids)) == len(ids) > 60
    assert times == sorted(times, reverse=True)
