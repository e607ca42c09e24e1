"""
The committed artefacts, built from code: `./run schema` writes them, a test compares them.

    python -m gateway.artefacts
"""

from collections.abc import Mapping
from pathlib import Path

import orjson

from gateway.cli.reference import commands_page
from gateway.openapi import access_document
from gateway.reference import code_map, settings_table
from graph import schema

ROOT = Path(__file__).parents[2]  # of the checkout; an installed wheel has no artefacts


def build() -> Mapping[str, str]:
    """Return file name -> text of every artefact."""
    described = orjson.dumps(access_document(), option=orjson.OPT_INDENT_2)
    return {
        "schema.graphql": schema.sdl(),
        "openapi.json": described.decode() + "\n",
        "docs/reference/settings.md": settings_table(),
        "docs/reference/commands.md": commands_page(),
        "docs/reference/modules.md": code_map(ROOT / "src"),
    }


if __name__ == "__main__":
    for name, text in build().items():
        (ROOT / name).write_text(text, "utf-8")
