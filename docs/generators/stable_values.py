"""Makes answers of the demo fit for documents: the same in every run, and short."""

import json
import re
from collections.abc import Mapping
from typing import Any

PUBLIC = "http://127.0.0.1:8000"
MAX_ITEMS = 2
MAX_TEXT = 90  # characters
MAX_ID = 250
# A moment while the demo ran, or an hour later; no event of the demo begins in these minutes.
_NOW = re.compile(r"^2026-11-20T1([23]):(?:3[4-9]|4[1-4]):[\d.]+(?:Z|\+00:00)$")
_SECRET = re.compile(r"agw_[A-Za-z0-9_-]{20,}")
_READ_MEMBERS = re.compile(r"~[A-Za-z0-9_.-]{32}$")  # of a draft's version, under the demo's key
_RANDOM = {"requestId": "8f7c2a5e", "nextPageToken": "AasQ", "latencyMs": 12, "durationMs": 12.4}
_RANDOM |= {"digest": "pT3", "cursor": "AbxR", "secret": "whsec_"}
_RANDOM |= {"downloadUrl": "https://harbourlight.example/download.aspx?tempauth="}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return *value* with every occurrence of a key of *names* replaced."""
    text = json.dumps(value, ensure_ascii=False)
    for random, name in names.items():
        text = text.replace(random, name)
    return json.loads(text)


def stable(value: Any, *, base_url: str, mark: bool, key: str = "") -> Any:
    """
    Return *value* with random members replaced, and long texts and lists cut.

    *mark* adds "…" to a list that was cut; a schema may forbid that. *key* is the member's name.
    """
    if value is None:
        return None
    if key in _RANDOM:
        constant = _RANDOM[key]
        return f"{constant}…" if isinstance(constant, str) else constant
    if isinstance(value, dict):
        return {
            name: stable(member, base_url=base_url, mark=mark, key=name)
            for name, member in value.items()
        }
    if isinstance(value, list):
        items = [stable(item, base_url=base_url, mark=mark) for item in value[:MAX_ITEMS]]
        return [*items, "…"] if mark and len(value) > MAX_ITEMS else items
    return _text(value, base_url) if isinstance(value, str) else value


def _text(text: str, base_url: str) -> str:
    if match := _NOW.match(text):
        return f"2026-11-20T1{match[1]}:34:00Z"
    text = _SECRET.sub("agw_…", text.replace(base_url, PUBLIC))
    text = _READ_MEMBERS.sub("~…", text)
    longest = MAX_TEXT if " " in text else MAX_ID  # ids and links stay whole
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
