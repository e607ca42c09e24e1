"""The feed for agents: a resource, and `subscriptions/listen`, frame by frame."""

import asyncio
import json
import time

import calendar_world
import pytest
import pytest_asyncio
from agent_client import Agent, legacy
from change_feed import make_token
from change_stream import listening, manage, plant, polled, pull
from world import ADMIN

from gateway.feeds import streams as shared

FEED = "changes://feed"
ABOUT = {"name": "access-gateway", "version": "2026-11-20"}
SUBSCRIPTION = {"io.modelcontextprotocol/subscriptionId": 1}
ENDED = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": ABOUT, **SUBSCRIPTION},
    },
}
NO_CALENDAR = {"calendarAccessEnabled": False}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.empty(world_template, tmp_path_factory.mktemp("listen")) as agendas:
        yield agendas


def told(name, **params):
    return {
        "jsonrpc": "2.0",
        "method": f"notifications/{name}",
        "params": {"_meta": SUBSCRIPTION, **params},
    }


def acknowledged(**notifications):
    return told("subscriptions/acknowledged", notifications=notifications)


async def ask(agendas, token, method, **params):
    async with agendas.client(token) as client:
        return await Agent(client).send(method, params)


async def read(agendas, token, uri):
    result = (await ask(agendas, token, "resources/read", uri=uri)).json()["result"]
    (content,) = result["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "application/json")
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    return json.loads(content["text"])


async def test_the_feed_is_listed_and_read_as_by_rest(agendas):
    token = await agendas.token()
    listed = (await ask(agendas, token, "resources/list")).json()["result"]
    (resource,) = listed["resources"]
    assert (resource["uri"], resource["name"]) == (FEED, "changes")
    assert (listed["ttlMs"], listed["cacheScope"]) == (60_000, "private")
    (template,) = (await ask(agendas, token, "resources/templates/list")).json()["result"][
        "resourceTemplates"
    ]
    assert template["uriTemplate"] == "changes://feed{?since,surfaces,limit}"

    begun = await read(agendas, token, FEED)
    plant(agendas, "talk")
    rows = await read(agendas, token, f"{FEED}?since={begun['cursor']}&limit=5")

    assert begun["changes"] == []
    assert [row["kind"] for row in rows["changes"]] == ["created"]
    by_rest = await pull(agendas, token, begun["cursor"])
    assert [row["id"] for row in rows["changes"]] == [row["id"] for row in by_rest["changes"]]


@pytest.mark.parametrize(
    ("uri", "code", "status"),
    [
        ("changes://other", -32602, 400),
        (f"{FEED}/x", -32602, 400),
        (f"{FEED}?since=damaged", -32602, 400),
    ],
)
async def test_another_resource_and_a_bad_cursor_are_refused(agendas, uri, code, status):
    response = await ask(agendas, await agendas.token(), "resources/read", uri=uri)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert agendas.calls() == []


async def test_a_change_updates_the_feed_from_the_cursor_to_read(agendas, streams):
    token = await agendas.token()
    begun = (await pull(agendas, token))["cursor"]
    uri = f"{FEED}?since={begun}"
    async with listening(agendas, token, resourceSubscriptions=[uri]) as reader:
        assert (reader.status, reader.headers["content-type"]) == (200, "text/event-stream")
        assert reader.headers["x-accel-buffering"] == "no"
        await polled(agendas)
        assert reader.messages == [acknowledged(resourceSubscriptions=[uri])]
        plant(agendas, "talk")
        await reader.until(lambda it: len(it.messages) == 2)
        await polled(agendas)

    assert reader.messages[1:] == [told("resources/updated", uri=uri)]
    assert [row["kind"] for row in (await read(agendas, token, uri))["changes"]] == ["created"]


async def test_who_listens_from_now_on_is_told_the_cursor(agendas, streams):
    token = await agendas.token()
    plant(agendas, "earlier talk")
    async with listening(agendas, token, resourceSubscriptions=["x://y", FEED]) as reader:
        await polled(agendas)
        assert reader.messages == [acknowledged(resourceSubscriptions=[FEED])]
        plant(agendas, "talk")
        await reader.until(lambda it: len(it.messages) == 2)
        uri = reader.messages[1]["params"]["uri"]
        rows = await read(agendas, token, uri)
        await polled(agendas)
        plant(agendas, "another talk")
        await reader.until(lambda it: len(it.messages) == 3)

    assert uri.startswith(f"{FEED}?since=")
    assert [row["kind"] for row in rows["changes"]] == ["created"]
    (row,) = (await read(agendas, token, reader.messages[2]["params"]["uri"]))["changes"]
    assert row["id"] not in [each["id"] for each in rows["changes"]]


async def test_polls_are_calls_of_the_agent_that_count(agendas, streams):
    made = await make_token(agendas)
    async with listening(agendas, made["token"], resourceSubscriptions=[FEED]):
        await polled(agendas, 3)
    async with agendas.client(ADMIN) as admin:
        query = {"tokenId": made["id"], "limit": 50}
        rows = (await admin.get("/api/decisions", params=query)).json()["decisions"]

    calls = [(row["door"], row["operation"]) for row in rows if row["door"] != "admin"]
    assert len(calls) >= 3
    assert {*calls} == {("agent", "changes")}


async def test_a_revoked_token_ends_its_stream_with_a_result_within_a_second(agendas):
    made = await make_token(agendas)
    wanted = {"toolsListChanged": True, "resourceSubscriptions": [FEED]}
    async with listening(agendas, made["token"], **wanted) as reader:
        await manage(agendas, "DELETE", f"/api/access-tokens/{made['id']}")
        revoked = time.monotonic()
        await reader.until(lambda it: it.has_ended)

    assert time.monotonic() - revoked < 1
    assert reader.messages == [acknowledged(**wanted), ENDED]


@pytest.mark.parametrize("feed", [[], [FEED]])
async def test_a_changed_token_is_told_that_its_tools_are(agendas, feed):
    made = await make_token(agendas)
    wanted = {"toolsListChanged": True, **({"resourceSubscriptions": feed} if feed else {})}
    async with listening(agendas, made["token"], **wanted) as reader:
        settings = {"json": {"settings": NO_CALENDAR}}
        await manage(agendas, "PATCH", f"/api/access-tokens/{made['id']}", **settings)
        changed = time.monotonic()
        await reader.until(lambda it: it.has_ended)

    assert time.monotonic() - changed < 1
    assert reader.messages == [acknowledged(**wanted), told("tools/list_changed"), ENDED]


async def test_a_saved_document_that_is_new_is_told(agendas, streams):
    token = await agendas.token()
    async with listening(agendas, token, toolsListChanged=True) as reader:
        document = "query Day { calendarEvents(limit: 1) { events { id } } }"
        body = {"document": document, "method": "GET", "path": "/api/saved/day"}
        await manage(agendas, "PUT", "/api/documents/day", json=body)
        await reader.until(lambda it: len(it.messages) == 2)

    assert reader.messages == [acknowledged(toolsListChanged=True), told("tools/list_changed")]
    assert agendas.calls() == []


async def test_nothing_to_tell_ends_at_once(agendas, streams):
    wanted = {"promptsListChanged": True, "resourceSubscriptions": ["file:///x"]}
    async with listening(agendas, await agendas.token(), **wanted) as reader:
        await reader.until(lambda it: it.has_ended)

    assert reader.messages == [acknowledged(), ENDED]
    assert agendas.calls() == []


async def test_a_stop_ends_with_a_result(agendas, monkeypatch):
    streams = agendas.world.gateway.services.streams
    monkeypatch.setattr(streams, "_stopping", asyncio.Event())
    async with listening(agendas, await agendas.token(), toolsListChanged=True) as reader:
        streams.stop()
        await reader.until(lambda it: it.has_ended)

    assert reader.messages == [acknowledged(toolsListChanged=True), ENDED]


@pytest.mark.parametrize("feed", [[], [FEED]])
@pytest.mark.parametrize("limit", ["MAX_OF_TOKEN", "MAX_OF_PROCESS"])
async def test_one_stream_too_many_is_refused(agendas, streams, monkeypatch, limit, feed):
    monkeypatch.setattr(shared, limit, 1)
    monkeypatch.setattr(streams, "poll_seconds", 60)
    token = await agendas.token()
    async with listening(agendas, token, toolsListChanged=True):
        wanted = {"toolsListChanged": True, "resourceSubscriptions": feed}
        async with listening(agendas, token, **wanted) as refused:
            assert (refused.status, refused.headers["retry-after"]) == (429, "60")
            error = json.loads(refused.sent)["error"]

    assert (error["code"], error["data"]["code"]) == (-32000, "RATE_LIMITED")
    assert agendas.calls() == []


async def test_a_token_that_may_not_list_has_no_feed(agendas, streams):
    made = await make_token(agendas, **NO_CALENDAR)
    listed = await ask(agendas, made["token"], "resources/list")
    assert listed.json()["result"]["resources"] == []
    discovered = (await ask(agendas, made["token"], "server/discover")).json()["result"]
    assert discovered["capabilities"] == {"tools": {"listChanged": True}}
    for refused in (
        await ask(agendas, made["token"], "resources/read", uri=FEED),
        await ask(
            agendas,
            made["token"],
            "subscriptions/listen",
            notifications={"resourceSubscriptions": [FEED]},
        ),
    ):
        assert refused.status_code == 422
        assert refused.json()["error"]["code"] == -32000
        assert refused.json()["error"]["data"]["code"] == "EMAIL_NOT_ENABLED"
    async with listening(agendas, None, toolsListChanged=True) as reader:
        assert reader.status == 401
    assert agendas.calls() == []


@pytest.mark.parametrize("wanted", [None, [], {"resourceSubscriptions": "changes://feed"}])
async def test_what_is_no_filter_is_refused(agendas, streams, wanted):
    response = await ask(
        agendas, await agendas.token(), "subscriptions/listen", notifications=wanted
    )

    assert (response.status_code, response.json()["error"]["code"]) == (400, -32602)


async def test_earlier_revisions_have_neither(agendas):
    async with agendas.client(await agendas.token()) as client:
        for method in ("resources/list", "resources/read", "subscriptions/listen"):
            response = await client.post("/mcp", json=legacy(method))
            assert response.json()["error"]["code"] == -32601
        begun = await client.post("/mcp", json=legacy("initialize"))
    assert begun.json()["result"]["capabilities"] == {"tools": {}}
