"""A client of POST /mcp without a library: what it sends stands in the tests."""

import json
import re
from typing import Any

READER = {
    "allowedEmailOperations": ["search_emails", "view_email", "view_thread"],
    "collabAccessEnabled": False,
    "calendarAccessEnabled": False,
}
ASSISTANT = {
    **READER,
    "allowedEmailOperations": [
        *READER["allowedEmailOperations"],
        "send_email",
        "reply_to_email",
        "forward_email",
        "mark_as_read",
        "apply_labels",
    ],
    "sendMode": "draft",
}
VERSION = "2026-07-28"
_FENCE = re.compile(r"<<<([0-9a-f]{16})\n(.*)\n\1>>>(?:\n(.*))?", re.DOTALL)


def modern(
    method: str, params: dict[str, Any] | None = None, *, capabilities: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return body and headers of a request of the revision 2026-07-28."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**(params or {}), "_meta": meta},
    }
    headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
    if (named := {"tools/call": "name", "resources/read": "uri"}.get(method)) is not None:
        headers["Mcp-Name"] = body["params"][named]
    return body, headers


def legacy(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the body of a request of an earlier revision."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


def tokens(tools):
    """Return the size of a list of tools in tokens: four characters of compact JSON each."""
    text = json.dumps(list(tools.values()), separators=(",", ":"), ensure_ascii=False)
    return len(text) / 4


class Agent:
    """An agent with one token; *client* is an HTTP client that sends it."""

    def __init__(self, client: Any, *, capabilities: dict[str, Any] | None = None) -> None:
        self.client = client
        self.capabilities = capabilities

    async def send(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Return the HTTP response."""
        body, headers = modern(method, params, capabilities=self.capabilities)
        return await self.client.post("/mcp", json=body, headers=headers)

    async def tools(self) -> dict[str, dict[str, Any]]:
        """Return the listed tools by name."""
        response = await self.send("tools/list")
        assert response.status_code == 200, response.text
        return {tool["name"]: tool for tool in response.json()["result"]["tools"]}

    async def call(self, name: str, /, _more: dict[str, Any] | None = None, **given: Any) -> Any:
        """Return the result of a call; *_more* are further params."""
        params = {"name": name, "arguments": given, **(_more or {})}
        response = await self.send("tools/call", params)
        assert response.status_code == 200, response.text
        return response.json()["result"]

    async def read(self, name: str, /, **given: Any) -> tuple[Any, str]:
        """Return the data of a call that succeeds, and the line below it."""
        result = await self.call(name, **given)
        assert "isError" not in result, result
        return data_of(result)


def text_of(result: dict[str, Any]) -> str:
    """Return the only text of a result."""
    ((kind, text),) = ((each["type"], each["text"]) for each in result["content"])
    assert kind == "text"
    return text


def data_of(result: dict[str, Any]) -> tuple[Any, str]:
    """Return the data of a result and the line below; without a fence the whole is data."""
    text = text_of(result)
    match = _FENCE.search(text)
    if match is None:
        assert "_meta" not in result or "access-gateway/outsideText" not in result["_meta"]
        return json.loads(text), ""
    assert result["_meta"]["access-gateway/outsideText"] is True
    return json.loads(match[2]), match[3] or ""
