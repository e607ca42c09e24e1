"""Keep the mail of a token in a file by the feed of changes: AGW_TOKEN=… mirror.py URL FILE."""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

BASE, FILE = f"{sys.argv[1]}/api/access/", Path(sys.argv[2])
HEADERS = {"authorization": f"Bearer {os.environ['AGW_TOKEN']}"}


def get(path: str, **query: str) -> Any:
    return json.load(urlopen(Request(f"{BASE}{path}?{urlencode(query)}", headers=HEADERS)))


def shown(message: dict[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("subject", "from", "isRead", "labels")}


def listing() -> dict[str, Any]:
    messages, page = {}, get("email/messages", limit="50")
    while page["emails"]:
        messages |= {message["id"]: shown(message) for message in page["emails"]}
        token = page["nextPageToken"]
        page = get("email/messages", limit="50", pageToken=token) if token else {"emails": []}
    return messages


def read(name: str) -> dict[str, Any] | None:
    try:
        return shown(get(f"email/messages/{quote(name, safe='')}"))
    except HTTPError as error:
        return None if error.code == 404 else sys.exit(str(error))


state, more = json.loads(FILE.read_text()) if FILE.exists() else {}, True
while more:
    feed = get("changes", **({"since": state["cursor"]} if state else {"surfaces": "email"}))
    rows, more = feed["changes"], feed["more"]
    listed = not state or any(row["kind"] == "resync" for row in rows)
    messages = listing() if listed else state["messages"]  # after the call
    for row in rows:
        message = read(row["objectId"]) if row["kind"] not in {"gone", "resync"} else None
        messages.pop(row["objectId"], None)
        messages |= {row["objectId"]: message} if message else {}
    state = {"cursor": feed["cursor"], "messages": messages}
    FILE.with_suffix(".new").write_text(json.dumps(state))
    FILE.with_suffix(".new").replace(FILE)  # a kill leaves the old state or the new one
