"""Tables of the reference documentation that are written by code: `docs/reference`."""

import ast
from collections.abc import Iterator
from pathlib import Path
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
    rows = [
        f"| `AGW_{name.upper()}` | {_default(field)} | {_escaped(field.description or '')} |"
        for name, field in Settings.model_fields.items()
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _default(field: Any) -> str:
    if SecretStr in (field.annotation, *get_args(field.annotation)):
        return "none"
    value = field.default
    if value is PydanticUndefined or value is None or value == ():
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


_PACKAGES = ("policy", "providers", "graph", "rest_compat", "gateway")  # in import order


def code_map(sources: Path) -> str:
    """Return one sentence per module below *sources*: the first of its docstring."""
    lines = ["# Code map", "", "One sentence per file, in import order; written by code.", ""]
    for package in _PACKAGES:
        lines += [f"## {package}", "", "| File | Answers |", "|---|---|"]
        lines += [f"| `{name}` | {_escaped(said)} |" for name, said in _modules(sources / package)]
        lines.append("")
    return "\n".join(lines)


def _modules(package: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(package.rglob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        first = " ".join(said.strip().split("\n\n")[0].split())
        yield str(path.relative_to(package)), first
