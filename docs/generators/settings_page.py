"""`docs/reference/settings.md`: every setting with its variable, default and meaning."""

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from gateway.operations.overviews.deployment import ESSENTIAL
from gateway.settings import Settings

_HEAD = """# Settings

Environment variables, or lines of a file `.env` in the working directory. An empty variable counts
as not set. `access-gateway doctor` checks them, and names those that matter for a deployment; so
does the page *Settings* of the [console](../operate/console.md).

## The settings that matter

One process needs the first four. Several processes need the others too. Each provider that people
connect by consent needs its `…_CLIENT_ID` and `…_CLIENT_SECRET` from the second table:
[Google](../operate/google.md), [Microsoft 365](../operate/microsoft.md),
[monday.com](../operate/monday.md), [Asana](../operate/asana.md).

"""
_TABLE = """| Variable | Default | Meaning |
|---|---|---|
"""


def settings_table() -> str:
    """Return the table of the settings that most deployments need, then that of all others."""
    others = [name for name in Settings.model_fields if name not in ESSENTIAL]
    return _HEAD + _table(ESSENTIAL) + "\n## All other settings\n\n" + _table(others)


def _table(names: Iterable[str]) -> str:
    table = _TABLE
    for name in names:
        field = Settings.model_fields[name]
        meaning = (field.description or "").replace("|", "\\|")
        table += f"| `AGW_{name.upper()}` | {_default(field)} | {meaning} |\n"
    return table


def _default(field: Any) -> str:
    if SecretStr in (field.annotation, *get_args(field.annotation)):
        return "none"
    value = field.default
    if value is PydanticUndefined or value is None or value == ():
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
