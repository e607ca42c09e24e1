"""`docs/reference/settings.md`: every setting with its variable, default and meaning."""

from typing import Any, get_args

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from gateway.settings import Settings

_HEAD = """# Settings

Environment variables, or lines of a file `.env` in the working directory. An empty variable is as
good as none. This table is written by code from `src/gateway/settings.py`.

| Variable | Default | Meaning |
|---|---|---|
"""


def settings_table() -> str:
    """Return the table of every setting, in the order of the class."""
    page = _HEAD
    for name, field in Settings.model_fields.items():
        meaning = (field.description or "").replace("|", "\\|")
        page += f"| `AGW_{name.upper()}` | {_default(field)} | {meaning} |\n"
    return page


def _default(field: Any) -> str:
    if SecretStr in (field.annotation, *get_args(field.annotation)):
        return "none"
    value = field.default
    if value is PydanticUndefined or value is None or value == ():
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
