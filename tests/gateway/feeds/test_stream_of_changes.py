"""The stream of changes: bytes, wake-ups, resuming, ends, limits."""

import asyncio
import json
import time

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import at
from change_feed import change, make_token
from change_stream import CHANGES, manage, plant, polled, pull, reading

from gateway.feeds import streams as shared
from sandbox.calendar.records import from_instant

NARROWER = {"visibleCalendarFields": ["times", "status"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.empty(world_template, tmp_path_factory.mktemp("stream")) as agendas:
        yield agendas


async def test_a_change_wakes_once_with_the_cursor_to_pull_from(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    async with reading(agendas, token, since=begun) as reader:
        assert reader.status == 200
        assert reader.headers["content-type"] == "text/event-stream"
        assert reader.headers["cache-control"] == "no-store"
        assert "content-length" not in reader.headers
        await polled(agendas)
        assert reader.sent == b":\n\n"

        plant(agendas, "talk")
        await reader.until(lambda it: it.events)
        await polled(agendas)

    event = f'id: {begun}\nevent: change\ndata: {{"cursor":"{begun}"}}\n\n'
    assert reader.sent == b":\n\n" + event.encode()
    assert [row["kind"] for row in (await pull(agendas, token, begun))["changes"]] == ["created"]


async def test_a_stream_goes_on_where_its_client_has_pulled_to(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    async with reading(agendas, token, since=begun) as reader:
        plant(agendas, "talk")
        await reader.until(lambda it: len(it.events) == 1)
        await pull(agendas, token, reader.events[-1])
        await polled(agendas)
        assert len(reader.events) == 1
        change(agendas, "talk", title="Other talk")
        await reader.until(lambda it: len(it.events) == 2)

        (row,) = (await pull(agendas, token, reader.events[-1]))["changes"]

    assert (row["kind"], row["changed"]) == ("changed", ["title"])


async def test_further_changes_wake_a_client_that_has_not_pulled(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    async with reading(agendas, token, since=begun) as reader:
        for number in (1, 2, 3):
            plant(agendas, f"talk {number}")
            await reader.until(lambda it, number=number: len(it.events) == number)

    assert {*reader.events[1:]} <= {reader.events[0]}
    assert len((await pull(agendas, token, begun))["changes"]) == 3


async def test_polls_leave_no_state_so_that_cursors_of_the_client_stay(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    plant(agendas, "talk")
    last = (await pull(agendas, token, begun))["cursor"]
    plant(agendas, "other talk")
    async with reading(agendas, token, since=begun):
        await polled(agendas, 8)

    answer = await pull(agendas, token, last)

    assert [row["kind"] for row in answer["changes"]] == ["created"]


async def test_silence_is_filled_with_comments(agendas, streams, monkeypatch):
    monkeypatch.setattr(streams, "heartbeat_seconds", 0.05)
    monkeypatch.setattr(streams, "poll_seconds", 60)
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    async with reading(agendas, token, since=begun) as reader:
        await reader.until(lambda it: len(it.sent) >= 12)

    assert reader.sent.replace(b":\n\n", b"") == b""


async def test_the_last_event_id_counts_before_since(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    plant(agendas, "talk")
    newest = (await pull(agendas, token, begun))["cursor"]
    async with reading(agendas, token, since=newest) as reader:
        await polled(agendas)
        assert reader.events == []
    resumed = [(b"last-event-id", begun.encode())]
    async with reading(agendas, token, headers=resumed, since=newest) as reader:
        await reader.until(lambda it: it.events == [begun])


async def test_changes_of_hidden_members_alone_wake_nobody(agendas, streams):
    token = (await make_token(agendas, **NARROWER))["token"]
    plant(agendas, "talk")
    begun = (await pull(agendas, token))["cursor"]
    async with reading(agendas, token, since=begun) as reader:
        change(agendas, "talk", title="Other talk")
        await polled(agendas, 3)
        assert reader.sent == b":\n\n"
        change(agendas, "talk", end=from_instant(at(1, "11:00")))
        await reader.until(lambda it: it.events)


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("DELETE", "/api/access-tokens/{}", {}),
        ("PATCH", "/api/access-tokens/{}", {"json": {"settings": NARROWER}}),
    ],
)
async def test_a_token_that_is_revoked_or_narrowed_ends_its_streams_within_a_second(
    agendas, method, path, more
):
    made = await make_token(agendas)
    begun = (await pull(agendas, made["token"]))["cursor"]
    async with reading(agendas, made["token"], since=begun) as reader:
        await asyncio.sleep(0.2)
        assert not reader.has_ended
        await manage(agendas, method, path.format(made["id"]), **more)
        changed = time.monotonic()
        await reader.until(lambda it: it.has_ended)

    assert time.monotonic() - changed < 1
    assert reader.events == []


@pytest.mark.parametrize("status", [403, 429])
async def test_a_stream_ends_when_a_poll_is_refused(agendas, streams, monkeypatch, status):
    made = await make_token(agendas)
    begun = (await pull(agendas, made["token"]))["cursor"]

    async def refused(_scope, _query):
        return status, b"{}"

    async with reading(agendas, made["token"], since=begun) as reader:
        monkeypatch.setattr(streams, "ask", refused)
        await reader.until(lambda it: it.has_ended)


async def test_a_stream_outlives_a_poll_that_fails(agendas, streams, monkeypatch):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    ask, failures = streams.ask, iter([503, 500])

    async def failing_first(scope, query):
        status = next(failures, None)
        return (status, b"{}") if status else await ask(scope, query)

    monkeypatch.setattr(streams, "ask", failing_first)
    async with reading(agendas, token, since=begun) as reader:
        plant(agendas, "talk")
        await reader.until(lambda it: it.events)


async def test_a_stop_ends_streams_at_once(agendas, monkeypatch):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    streams = agendas.world.gateway.services.streams
    monkeypatch.setattr(streams, "_stopping", asyncio.Event())
    async with reading(agendas, token, since=begun) as reader:
        streams.stop()
        stopped = time.monotonic()
        await reader.until(lambda it: it.has_ended)

    assert time.monotonic() - stopped < 0.2
    assert reader.sent == b":\n\n"


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({}, 400, "MISSING_PARAMETER"),
        ({"since": "damaged"}, 400, "INVALID_CURSOR"),
        ({"since": "damaged", "surfaces": "email"}, 400, "INVALID_PARAMETER"),
    ],
)
async def test_bad_calls_are_refused_before_the_stream_begins(
    agendas, streams, query, status, code
):
    async with reading(agendas, await agendas.token(), **query) as reader:
        assert (reader.status, json.loads(reader.sent)["error"]) == (status, code)
    assert agendas.calls() == []


async def test_a_stream_needs_a_token_that_may_list(agendas, streams):
    made = await make_token(agendas)
    begun = (await pull(agendas, made["token"]))["cursor"]
    settings = {"json": {"settings": {"calendarAccessEnabled": False}}}
    await manage(agendas, "PATCH", f"/api/access-tokens/{made['id']}", **settings)
    agendas.world.forget_calls()
    async with agendas.client(made["token"]) as client:
        pulled = await client.get(CHANGES, params={"since": begun})
    async with reading(agendas, made["token"], since=begun) as reader:
        refused = json.loads(reader.sent)
        assert reader.status == pulled.status_code >= 400
    async with reading(agendas, None, since=begun) as reader:
        assert reader.status == 401
    assert refused == {**pulled.json(), "requestId": refused["requestId"]}
    assert agendas.calls() == []


async def test_a_head_request_opens_no_stream(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    async with reading(agendas, token, method="HEAD", since=begun) as reader:
        assert (reader.status, reader.sent, reader.has_ended) == (200, b"", True)


@pytest.mark.parametrize(
    ("limit", "owner"), [("MAX_OF_TOKEN", "of this token"), ("MAX_OF_PROCESS", "")]
)
async def test_one_stream_too_many_is_refused_before_providers_are_asked(
    agendas, streams, monkeypatch, limit, owner
):
    monkeypatch.setattr(shared, limit, 1)
    monkeypatch.setattr(streams, "poll_seconds", 60)
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    async with reading(agendas, token, since=begun):
        agendas.world.forget_calls()
        async with reading(agendas, token, since=begun) as refused:
            assert (refused.status, refused.headers["retry-after"]) == (429, "60")
            message = json.loads(refused.sent)["message"]
    assert message.startswith("1 streams of changes")
    assert owner in message
    assert agendas.calls() == []
    async with reading(agendas, token, since=begun) as reader:
        assert reader.status == 200


async def test_streams_take_no_slots_of_other_requests(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    admission = agendas.world.gateway.middleware._admission
    async with reading(agendas, token, since=begun):
        await asyncio.sleep(0)
        assert sum(caller.running for caller in admission._callers.values()) <= 1
    assert not admission._callers
