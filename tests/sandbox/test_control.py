import asyncio
import json
import zlib
from base64 import b64encode
from datetime import UTC, datetime

import httpx
import pytest

from gateway.graceful_stop import NO_DRAIN, Server
from gateway.server import _config, bind
from sandbox.app import Sandbox, create
from sandbox.http import ConnectionCut, json_response, parse_target

RAW = b"From: a@x.test\r\nTo: me@x.test\r\nSubject: s\r\n\r\nhi"
LIST = "/provider-a/gmail/v1/users/me/messages"


@pytest.fixture
def sandbox() -> Sandbox:
    return create(None, public_base="http://sandbox.test/sandbox")


@pytest.fixture
async def client(sandbox):
    token = sandbox.state.tokens.issue("providerA", "me@x.test", ["gmail.modify"])
    transport = httpx.ASGITransport(app=sandbox)
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://sandbox.test", headers=headers
    ) as client:
        yield client


async def test_an_unknown_token_gets_the_upstreams_401(client):
    response = await client.get(LIST, headers={"authorization": "Bearer nonsense"})

    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    error = response.json()["error"]
    assert (error["code"], error["status"]) == (401, "UNAUTHENTICATED")
    assert error["errors"][0]["reason"] == "authError"


async def test_a_token_of_another_upstream_or_an_expired_one_is_refused(sandbox, client):
    other = sandbox.state.tokens.issue("providerB", "me", ["Mail.Read"])
    expired = sandbox.state.tokens.issue("providerA", "me", ["gmail.modify"], lifetime_seconds=0)

    for token in (other, expired):
        response = await client.get(LIST, headers={"authorization": f"Bearer {token}"})
        assert response.status_code == 401


async def test_the_call_log_lists_calls_until_it_is_deleted(client):
    await client.get(f"{LIST}?q=a&q=b", headers={"prefer": "x"})
    (call,) = (await client.get("/calls/providerA")).json()["calls"]

    assert call["method"] == "GET"
    assert call["path"] == "/gmail/v1/users/me/messages"
    assert call["query"] == {"q": ["a", "b"]}
    assert call["headers"]["prefer"] == "x"
    assert (call["bodySize"], call["batch"], call["fault"]) == (0, None, None)
    assert "authorization" not in json.dumps(call).lower()

    assert (await client.delete("/calls/provider-a")).status_code == 204
    assert (await client.get("/calls/provider-a")).json() == {"calls": []}


async def test_a_fault_applies_to_matching_calls_up_to_its_count(client):
    fault = {"kind": "429", "count": 2, "retryAfter": 7, "match": "q=lease"}
    assert (await client.put("/faults/provider-a", json=fault)).status_code == 200

    statuses = [
        (await client.get(LIST, params=query)).status_code
        for query in ({}, {"q": "lease"}, {"q": "lease"}, {"q": "lease"})
    ]
    assert statuses == [200, 429, 429, 200]
    calls = (await client.get("/calls/provider-a")).json()["calls"]
    assert [call["fault"] for call in calls] == [None, "429", "429", None]


async def test_a_throttling_fault_of_provider_a_says_its_time_in_the_text(client):
    await client.put("/faults/provider-a", json={"kind": "429", "count": 1, "retryAfter": 7})
    response = await client.get(LIST)
    error = response.json()["error"]
    text, _, ends = error["message"].rpartition(" ")
    seconds = (datetime.fromisoformat(ends) - datetime.now(UTC)).total_seconds()
    assert "retry-after" not in response.headers
    assert error["errors"][0]["reason"] == "rateLimitExceeded"
    assert text == "User-rate limit exceeded.  Retry after"
    assert 0 < seconds <= 7

    await client.put("/faults/provider-a", json={"kind": "403", "reason": "userRateLimitExceeded"})
    response = await client.get(LIST)
    assert response.status_code == 403
    assert response.json()["error"]["errors"] == [
        {
            "message": "Insufficient Permission",
            "domain": "usageLimits",
            "reason": "userRateLimitExceeded",
        }
    ]
    assert (await client.delete("/faults/provider-a")).status_code == 204
    assert (await client.get(LIST)).status_code == 200


async def test_several_faults_can_be_set(client):
    faults = [{"kind": "500", "match": "/labels"}, {"kind": "503", "match": "/messages"}]
    await client.put("/faults/provider-a", json=faults)

    assert (await client.get(LIST)).status_code == 503
    assert (await client.get(LIST.replace("messages", "labels"))).status_code == 500


@pytest.mark.parametrize(
    "fault",
    [{}, {"kind": "200"}, {"kind": "429", "count": -1}, {"kind": "429", "often": 1}, "429"],
    ids=["no kind", "no failure", "a negative count", "an unknown member", "no object"],
)
async def test_an_invalid_fault_is_refused(client, fault):
    assert (await client.put("/faults/provider-a", json=fault)).status_code == 400


async def test_a_reset_cuts_the_connection(client, sandbox):
    await client.put("/faults/provider-a", json={"kind": "reset"})
    with pytest.raises(ConnectionCut):
        await client.get(LIST)


async def test_a_lost_response_still_executes_the_call(client, sandbox):
    await client.put("/faults/provider-a", json={"kind": "lostAnswer", "count": 1})
    with pytest.raises(ConnectionResetError):
        await client.post(f"{LIST}/send", json={"raw": b64encode(RAW).decode()})

    assert [mail.folder for mail in sandbox.state.mails.all("provider-a")] == ["sent"]


async def test_a_spoilt_response_still_executes_the_call(client, sandbox):
    await client.put("/faults/provider-a", json={"kind": "spoiltAnswer", "count": 1})
    response = await client.post(f"{LIST}/send", json={"raw": b64encode(RAW).decode()})

    assert (response.status_code, response.text) == (200, '{"value": [{"id": "tru')
    assert [mail.folder for mail in sandbox.state.mails.all("provider-a")] == ["sent"]


async def test_a_lost_response_cuts_the_connection_of_a_real_server(sandbox):
    token = sandbox.state.tokens.issue("providerA", "me@x.test", ["gmail.modify"])
    headers = {"authorization": f"Bearer {token}"}
    listener, base = bind("127.0.0.1", 0)
    started = asyncio.Event()
    server = Server(_config(sandbox, NO_DRAIN), started=started.set)
    serving = asyncio.create_task(server._serve([listener]))
    await started.wait()

    async with httpx.AsyncClient(base_url=base, headers=headers) as client:
        await client.put("/faults/provider-a", json={"kind": "lostAnswer", "count": 1})
        with pytest.raises(httpx.TransportError):
            await client.post(f"{LIST}/send", json={"raw": b64encode(RAW).decode()})
    server.should_exit = True
    await serving

    assert [mail.folder for mail in sandbox.state.mails.all("provider-a")] == ["sent"]


async def test_a_timeout_sends_no_response(client):
    await client.put("/faults/provider-a", json={"kind": "timeout", "count": 1})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.get(LIST)

    await client.put("/faults/provider-a", json={"kind": "timeout", "delay": 0})
    with pytest.raises(ConnectionCut):
        await client.get(LIST)


async def test_response_faults_spoil_the_body(client):
    async def response_with(fault):
        await client.put("/faults/provider-a", json=fault)
        return await client.get(LIST)

    malformed = await response_with({"kind": "malformed"})
    assert malformed.status_code == 200
    with pytest.raises(ValueError):
        malformed.json()
    page = await response_with({"kind": "html"})
    assert page.headers["content-type"].startswith("text/html")
    for kind in ("slow", "drip"):
        response = await response_with({"kind": kind, "delay": 0})
        assert response.json() == {"resultSizeEstimate": 0}
    repeated = await response_with({"kind": "repeatedNextLink"})
    assert repeated.json()["nextPageToken"] == "0"


@pytest.mark.slow
async def test_a_gzip_bomb_is_small_before_decompression(sandbox, client):
    await client.put("/faults/provider-a", json={"kind": "gzipbomb"})
    async with client.stream("GET", LIST) as response:
        packed = b"".join([piece async for piece in response.aiter_raw()])

    assert len(packed) < 2_000_000
    assert zlib.decompressobj(wbits=31).decompress(packed, 10) == b'{"value": '


async def test_faults_and_the_call_log_see_graphql_documents(sandbox, client):
    async def handle(_request):
        return json_response({"data": {}})

    sandbox.upstreams["tasks"].mounts.clear()
    sandbox.mount("tasks", ("v2",), handle)
    token = sandbox.state.tokens.issue("tasks", "me", ["boards:read"])
    await client.put("/faults/tasks", json={"kind": "429", "match": "boards"})

    async def post(document):
        body = {"query": document, "variables": {"secret": 1}}
        return await client.post("/tasks/v2", json=body, headers={"authorization": token})

    assert (await post("{me{id}}")).json() == {"data": {}}
    throttled = await post("{boards{id}}")
    assert throttled.status_code == 429
    assert throttled.json()["errors"][0]["extensions"]["code"] == "RATE_LIMIT_EXCEEDED"
    calls = (await client.get("/calls/tasks")).json()["calls"]
    assert [call["document"] for call in calls] == ["{me{id}}", "{boards{id}}"]
    assert "secret" not in json.dumps(calls)


PAGE = {"value": [{"id": "1"}], "@odata.nextLink": "http://sandbox.test/sandbox/collab/v1.0/x?a=2"}


async def test_next_link_faults_repeat_the_page_or_leave_the_origin(sandbox, client):
    async def handle(_request):
        return json_response(PAGE)

    sandbox.upstreams["collab"].mounts.clear()
    sandbox.mount("collab", ("v1.0",), handle)
    token = sandbox.state.tokens.issue("collab", "me", ["Files.Read.All"])

    async def next_link(kind):
        await client.put("/faults/collab", json={"kind": kind})
        headers = {"authorization": f"Bearer {token}"}
        response = await client.get("/collab/v1.0/a%2Fb?a=1", headers=headers)
        return response.json()["@odata.nextLink"]

    assert await next_link("repeatedNextLink") == (
        "http://sandbox.test/sandbox/collab/v1.0/a%2Fb?a=1"
    )
    assert (await next_link("foreignNextLink")).startswith("https://foreign.example/")


async def test_handlers_that_share_a_prefix_are_tried_in_order(sandbox, client):
    async def first(request):
        return json_response({"mine": True}) if request.segments[1:] == ("a",) else None

    async def second(request):
        return json_response({"yours": request.grant is not None})

    sandbox.upstreams["collab"].mounts.clear()
    sandbox.mount("collab", ("v9",), first)
    sandbox.mount("collab", ("v9",), second, is_open=True)

    assert (await client.get("/collab/v9/a")).status_code == 401
    token = sandbox.state.tokens.issue("collab", "me", [])
    headers = {"authorization": f"Bearer {token}"}
    assert (await client.get("/collab/v9/a", headers=headers)).json() == {"mine": True}
    assert (await client.get("/collab/v9/b", headers=headers)).json() == {"yours": True}


async def test_control_paths_answer_loopback_clients_only(sandbox):
    transport = httpx.ASGITransport(app=sandbox, client=("192.0.2.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as remote:
        assert (await remote.get("/calls/provider-a")).status_code == 403
        assert (await remote.put("/faults/provider-a", json={"kind": "500"})).status_code == 403


async def test_unknown_paths_are_404(client):
    for path in ("/calls/nobody", "/faults", "/nobody/x", "/provider-a/nothing"):
        assert (await client.get(path)).status_code == 404


async def test_it_serves_under_a_root_path(sandbox):
    token = sandbox.state.tokens.issue("providerA", "me@x.test", ["gmail.modify"])
    transport = httpx.ASGITransport(app=sandbox, root_path="/sandbox")
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as client:
        response = await client.get(f"/sandbox{LIST}", headers={"authorization": f"Bearer {token}"})

    assert response.json() == {"resultSizeEstimate": 0}


def test_an_id_may_contain_a_slash():
    assert parse_target("/a/b%2Fc%3D/d?x=1&y=") == (("a", "b/c=", "d"), (("x", "1"), ("y", "")))
    assert parse_target("/") == ((), ())


async def test_provider_a_keeps_the_refresh_token(sandbox, client):
    refresh = sandbox.state.tokens.issue_refresh("providerA", "me@x.test", ["gmail.readonly"])
    form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": "c"}
    for _ in range(2):
        body = (await client.post("/oauth/provider-a/token", data=form)).json()
        assert sorted(body) == ["access_token", "expires_in", "scope", "token_type"]
        token = body["access_token"]
        headers = {"authorization": f"Bearer {token}"}
        assert (await client.get(LIST, headers=headers)).status_code == 200

    sandbox.state.tokens.revoke(refresh)
    refused = await client.post("/oauth/provider-a/token", data=form)
    assert refused.status_code == 400
    assert refused.json() == {
        "error": "invalid_grant",
        "error_description": "Token has been expired or revoked.",
    }


async def test_provider_b_rotates_the_refresh_token(sandbox, client):
    refresh = sandbox.state.tokens.issue_refresh("providerB", "me@x.test", ["Mail.Read"])
    form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": "c"}
    path = "/oauth/provider-b/common/oauth2/v2.0/token"
    first = (await client.post(path, data=form)).json()
    reused = await client.post(path, data=form)
    second = await client.post(path, data={**form, "refresh_token": first["refresh_token"]})

    assert first["scope"] == "Mail.Read"
    assert sandbox.state.tokens.read("providerB", first["access_token"]) is not None
    assert reused.status_code == 400
    assert (reused.json()["error"], reused.json()["error_codes"]) == ("invalid_grant", [70000])
    assert second.status_code == 200


async def test_client_credentials_return_an_app_only_token(sandbox, client):
    form = {
        "grant_type": "client_credentials",
        "client_id": "app",
        "client_secret": "secret",
        "scope": "https://graph.example/.default",
    }
    path = "/oauth/provider-b/{}/oauth2/v2.0/token"
    body = (await client.post(path.format("t1"), data=form)).json()
    grant = sandbox.state.tokens.read("collab", body["access_token"])

    assert "refresh_token" not in body
    assert grant is not None
    assert (grant.app_only, grant.account) == (True, "app")
    assert (await client.post(path.format("common"), data=form)).status_code == 400
