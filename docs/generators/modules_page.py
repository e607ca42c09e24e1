"""`docs/reference/modules.md`: one sentence per module, from its docstring."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

_HEAD = """# Code map

One sentence per file, in import order; written by code. Each folder opens with its legend.
"""
_PACKAGES = ("policy", "providers", "graph", "rest_compat", "gateway", "sandbox")  # import order


def code_map(sources: Path) -> str:
    """Return the page of the packages in *sources*."""
    lines = [_HEAD]
    for package in _PACKAGES:
        lines += [f"## {package}", ""]
        for folder in _folders(sources / package):
            lines += _section(folder, sources)
    return "\n".join(lines).rstrip() + "\n"


def _folders(package: Path) -> Iterator[Path]:
    """Yield *package* and the folders below it that have modules, each before its own."""
    yield package
    for folder in sorted(path for path in package.rglob("*") if path.is_dir()):
        if any(folder.glob("*.py")):
            yield folder


def _section(folder: Path, sources: Path) -> Iterator[str]:
    modules = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    if folder.parent != sources:
        yield from (f"### {folder.relative_to(sources)}", "")
    if legend := _docstring(folder / "__init__.py"):
        yield from (_paragraphs(legend)[0], "")
    if modules:
        yield from ("| File | Contents |", "|---|---|")
        for path in modules:
            first = _paragraphs(_docstring(path))[0].replace("|", "\\|")
            yield f"| `{path.relative_to(sources)}` | {first} |"
        yield ""


def _docstring(path: Path) -> str:
    """Return the docstring that *path* begins with, without parsing what follows it."""
    text = path.read_text("utf-8") if path.exists() else ""
    if not text.startswith('"""'):
        return ""
    literal = text[: text.index('"""', 3) + 3]
    return inspect.cleandoc(ast.literal_eval(literal))


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.strip().split("\n\n")]
