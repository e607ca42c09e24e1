"""
Builds the committed artefacts from code: `./run schema` writes them, a test compares them.

    python docs/generators/artefacts.py
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import orjson
from commands_page import commands_page
from errors_page import errors_page
from limits_page import limits_page
from metrics_page import metrics_page
from modules_page import code_map
from settings_page import settings_table
from token_settings_page import token_settings_page

from gateway.http.api_descriptions import access_document
from graph import schema

ROOT = Path(__file__).parents[2]


def _openapi() -> str:
    return orjson.dumps(access_document(), option=orjson.OPT_INDENT_2).decode() + "\n"


# File name -> what builds its text.
ARTEFACTS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "schema.graphql": schema.sdl,
        "openapi.json": _openapi,
        "docs/reference/settings.md": settings_table,
        "docs/reference/token-settings.md": token_settings_page,
        "docs/reference/metrics.md": metrics_page,
        "docs/reference/commands.md": commands_page,
        "docs/reference/limits.md": limits_page,
        "docs/reference/errors.md": errors_page,
        "docs/reference/modules.md": lambda: code_map(ROOT / "src"),
    }
)


if __name__ == "__main__":
    for name, build in ARTEFACTS.items():
        (ROOT / name).write_text(build(), "utf-8")
