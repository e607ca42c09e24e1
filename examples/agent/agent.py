"""
A scripted agent, without a model: does four tasks of an assistant by the tools of a gateway.

    AGW_TOKEN=… python3 agent.py http://127.0.0.1:8000

It needs Python alone. What it prints is the transcript of docs/guides/agents.md; ids that are
random for each answer are replaced.
"""

import json
import os
import re
import sys
import urllib.request
from typing import Any

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol"


def send(url: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send one message; return its result."""
    meta = {
        f"{PREFIX}/protocolVersion": VERSION,
        f"{PREFIX}/clientInfo": {"name": "scripted-agent", "version": "1"},
        f"{PREFIX}/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "Authorization": f"Bearer {os.environ['AGW_TOKEN']}",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        **({"Mcp-Name": params["name"]} if "name" in params else {}),
    }
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/mcp", data, headers)
    with urllib.request.urlopen(request) as response:
        result: dict[str, Any] = json.load(response)["result"]
    return result


def call(url: str, name: str, **arguments: Any) -> str:
    """Call a tool, print call and answer, and return the answer."""
    result = send(url, "tools/call", {"name": name, "arguments": arguments})
    text: str = result["content"][0]["text"]
    shown = {**arguments, **({"confirm": "…"} if "confirm" in arguments else {})}
    print(f"\n> {name} {json.dumps(shown, ensure_ascii=False)}")
    print(without_random(text))
    return text


def without_random(text: str) -> str:
    """Replace what differs in each answer: the id of the fence, cursors, digests, decisions."""
    fence = re.search(r"<<<([0-9a-f]{16})", text)
    if fence:
        text = text.replace(fence[1], "…")
    return re.sub(r"(cursor|confirm|decision):? [^\s.]+(?=\.?$)", r"\1 …", text, flags=re.MULTILINE)


def data_of(text: str) -> Any:
    """Return the data inside the fence."""
    return json.loads(text.split("\n")[2])


def confirmed(url: str, name: str, **arguments: Any) -> str:
    """Call a tool that writes; a person would look at the effect before the second call."""
    shown = call(url, name, **arguments)
    digest = shown.rpartition("confirm: ")[2]
    return call(url, name, **arguments, confirm=digest)


def main(url: str) -> None:
    """Do the four tasks."""
    tools = send(url, "tools/list", {})["tools"]
    print("tools:", ", ".join(tool["name"] for tool in tools))

    print("\n# 1. What came in?")
    found = call(url, "find_mail", q="invoice", limit=2, fields=["subject", "from"])
    first = data_of(found)["emails"][0]["id"]
    call(url, "read_mail", id=first)

    print("\n# 2. Leave an answer for me to send.")
    confirmed(url, "draft_mail", action="reply", id=first, body="Thank you, I will look at it.")

    print("\n# 3. File it.")
    confirmed(url, "file_mail", id=first, read=True)

    print("\n# 4. What it may not do, it is told.")
    call(url, "file_mail", id=first, trash=True)
    call(url, "send_mail", action="new", to=["ada@example.org"], subject="Hi", body="Hello.")
    call(url, "find_mail", sender="ada")


if __name__ == "__main__":
    main(sys.argv[1])
