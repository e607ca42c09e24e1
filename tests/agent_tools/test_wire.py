"""JSON-RPC over POST: both revisions, and what is refused before a tool is called."""

import json

import pytest
from agent_client import VERSION, Agent, legacy, modern

pytestmark = pytest.mark.asyncio(loop_scope="session")

ABOUT = {"io.modelcontextprotocol/serverInfo": {"name": "access-gateway", "version": "2026-11-20"}}


async def test_it_tells_what_it_speaks(shared_client):
    response = await Agent(shared_client).send("server/discover")

    result = response.json()["result"]
    told = result.pop("instructions")
    assert result == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}},
        "ttlMs": 60_000,
        "cacheScope": "private",
        "_meta": ABOUT,
    }
    assert told.startswith("Accounts: me@provider-a.example (email, 29), me@provider-b.example")
    assert "; times are UTC." in told
    assert len(told) <= 480


@pytest.mark.parametrize(
    ("requested", "spoken"), [("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25")]
)
async def test_an_earlier_client_is_initialized_without_a_session(shared_client, requested, spoken):
    body = legacy("initialize", {"protocolVersion": requested, "capabilities": {}})
    response = await shared_client.post("/mcp", json=body)

    assert response.status_code == 200
    result = response.json()["result"]
    assert result["protocolVersion"] == spoken
    assert result["serverInfo"] == ABOUT["io.modelcontextprotocol/serverInfo"]
    assert "mcp-session-id" not in response.headers
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    noted = await shared_client.post("/mcp", json=note)
    assert (noted.status_code, noted.content) == (202, b"")
    ping = await shared_client.post("/mcp", json=legacy("ping"))
    assert ping.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_both_revisions_list_and_call_the_same(shared_client):
    new = (await Agent(shared_client).send("tools/list")).json()["result"]
    old = (await shared_client.post("/mcp", json=legacy("tools/list"))).json()["result"]

    assert new["tools"] == old["tools"]
    assert set(old) == {"tools"}
    body = legacy("tools/call", {"name": "nothing", "arguments": {}})
    headers = {"MCP-Protocol-Version": "2025-11-25"}
    answer = (await shared_client.post("/mcp", json=body, headers=headers)).json()["result"]
    assert answer["isError"] is True


def _without(headers, name):
    return {key: value for key, value in headers.items() if key != name}


WRONG = {
    "no version header": (lambda b, h: (b, _without(h, "MCP-Protocol-Version")), 400, -32020),
    "another version": (lambda b, h: (b, {**h, "MCP-Protocol-Version": "2025-11-25"}), 400, -32020),
    "no method header": (lambda b, h: (b, _without(h, "Mcp-Method")), 400, -32020),
    "another name": (lambda b, h: (b, {**h, "Mcp-Name": "send_mail"}), 400, -32020),
    "a list": (lambda b, h: ([b], h), 400, -32600),
    "no method": (lambda b, h: ({**b, "method": 1}, h), 400, -32600),
    "a boolean as id": (lambda b, h: ({**b, "id": True}, h), 400, -32600),
    "no _meta": (lambda b, h: ({**b, "params": {}}, h), 400, -32602),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_malformed_request_reaches_no_account(shared_world, shared_client, case):
    change, status, code = WRONG[case]
    body, headers = change(*modern("tools/call", {"name": "find_mail", "arguments": {}}))

    response = await shared_client.post("/mcp", json=body, headers=headers)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert shared_world.calls() == []


async def test_a_name_in_base64_is_the_name(shared_client):
    body, headers = modern("tools/call", {"name": "find_mail", "arguments": {"limit": 1}})
    headers["Mcp-Name"] = "=?base64?ZmluZF9tYWls?="

    response = await shared_client.post("/mcp", json=body, headers=headers)

    assert "isError" not in response.json()["result"]


async def test_an_unknown_version_is_told_the_known_ones(shared_client):
    body, headers = modern("tools/list")
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2030-01-01"

    response = await shared_client.post(
        "/mcp", json=body, headers={**headers, "MCP-Protocol-Version": "2030-01-01"}
    )

    assert response.status_code == 400
    assert response.json()["error"] == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {
            "supported": [VERSION, "2025-11-25", "2025-06-18", "2025-03-26"],
            "requested": "2030-01-01",
        },
    }


@pytest.mark.parametrize("method", ["initialize", "ping", "prompts/list", "sampling/x"])
async def test_a_method_that_is_not_served_is_404(shared_client, method):
    response = await Agent(shared_client).send(method)

    assert response.status_code == 404
    assert response.json()["error"] == {"code": -32601, "message": "Method not found"}


async def test_other_methods_of_http_and_other_origins_are_refused(shared_client):
    for method in ("GET", "DELETE", "PUT"):
        response = await shared_client.request(method, "/mcp")
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
    body, headers = modern("tools/list")
    for origin, status in (
        ("https://elsewhere.example", 403),
        ("http://127.0.0.1.elsewhere.example", 403),
        ("null", 403),
        ("http://127.0.0.1:8000", 200),
        ("http://localhost:6274", 200),
    ):
        response = await shared_client.post(
            "/mcp", json=body, headers={**headers, "Origin": origin}
        )
        assert response.status_code == status, origin


async def test_a_body_that_is_no_json_is_a_parse_error(shared_client):
    for content in (b"{", b'{"a": 1, "a": 2}', b"[" * 20_000):
        response = await shared_client.post("/mcp", content=content)
        assert (response.status_code, response.json()["error"]["code"]) == (400, -32700)
    large = await shared_client.post("/mcp", content=json.dumps({"a": "x" * 300_000}))
    assert large.status_code == 413


async def test_without_a_valid_token_nothing_is_parsed(shared_world):
    async with shared_world.client("agw_wrong") as stranger:
        response = await stranger.post("/mcp", content=b"{")

    assert response.status_code == 401
    challenge = response.headers["www-authenticate"]
    assert challenge.startswith('Bearer error="invalid_token", resource_metadata="http://')
    assert response.json()["error"]["data"] == {"code": "UNAUTHENTICATED"}
    assert shared_world.calls() == []
