"""`docs/reference/token-settings.md`: every setting of an access token, from the code."""

import json
from collections.abc import Iterable

from pydantic import TypeAdapter

from gateway.operations.settings_views import TokenSettings
from policy.settings import DEFAULTS, OF_NEW_TOKENS

_HEAD = """# Settings of access tokens

The JSON object `settings` of a token. This page is written by code from
`src/gateway/operations/settings_views.py` and `src/policy/settings.py`.
[Access tokens](../operate/tokens.md) shows how they are used.

| Setting | Default | Meaning | Example |
|---|---|---|---|
"""
_WORDS = """
## Words

| Setting | Words |
|---|---|
"""
_EXAMPLES = {
    "timeframePastDays": 30,
    "timeframeFutureDays": 90,
    "allowedCalendarIds": [1, 2],
    "taskBoards": [{"boardId": "4210400051", "allowCreate": False}],
    "writableTaskFields": ["status"],
    "allowedConnectionIds": [1],
    "accounts": {"2": {"allowedEmailOperations": ["read_only"]}},
    "recipientRules": {"allow": ["@work.example"], "block": ["ceo@work.example"]},
    "quota": {"perMinute": 30, "perDay": 2000},
}


def token_settings_page() -> str:
    """Return the page: a table of all settings, and one of the words that they take."""
    described = TypeAdapter(TokenSettings).json_schema()
    rows, words, defaults = [], [], {**DEFAULTS, **OF_NEW_TOKENS}
    for name, schema in described["properties"].items():
        known = [word for word in _enum(schema, described["$defs"]) if word is not None]
        if known:
            words.append(f"| `{name}` | {', '.join(f'`{word}`' for word in known)} |\n")
        meaning = schema.get("description", "").replace("|", "\\|")
        example = json.dumps(_example(name, known))
        rows.append(f"| `{name}` | `{json.dumps(defaults[name])}` | {meaning} | `{example}` |\n")
    return _HEAD + "".join(rows) + _WORDS + "".join(words)


def _example(name: str, known: list[str]) -> object:
    if name in _EXAMPLES:
        return _EXAMPLES[name]
    if isinstance(DEFAULTS[name], list):
        return known[:2]
    return not DEFAULTS[name] if isinstance(DEFAULTS[name], bool) else known[0]


def _enum(schema: dict, components: dict) -> Iterable[str]:
    """Yield the words of an enumeration, of the items of a list, or of a referenced schema."""
    if "$ref" in schema:
        yield from _enum(components[schema["$ref"].rpartition("/")[2]], components)
    yield from schema.get("enum", ())
    for part in (schema.get("items"), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        if isinstance(part, dict) and schema.get("type") != "object":
            yield from _enum(part, components)
