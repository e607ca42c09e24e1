"""
Parser of ``opt_fields``: the requested fields as a tree.

``a.b,a.c`` and ``a.(b|c)`` request two fields of ``a``; a leading ``this.`` is ignored. Unknown
fields are left out silently. See docs/spec/upstream/asana.md#fields.
"""

from collections.abc import Iterator

FieldTree = dict[str, "FieldTree"]

_MAX_LENGTH = 4_000  # characters


def parse(text: str) -> FieldTree | None:
    """Return the requested fields; None when *text* names none."""
    paths = [path for path in _split(text[:_MAX_LENGTH], ",") if path]
    if not paths:
        return None
    tree: FieldTree = {}
    for path in paths:
        for steps in _expand(path):
            _insert(tree, [step for step in steps if step != "this"])
    return tree


def _expand(path: str) -> Iterator[list[str]]:
    """Yield the paths that a path with groups stands for, each as its steps."""
    start = path.find("(")
    end = path.find(")", start)
    if start < 0 or end < 0:
        yield [step for step in path.strip().split(".") if step]
        return
    for choice in path[start + 1 : end].split("|"):
        yield from _expand(path[:start] + choice + path[end + 1 :])


def _insert(tree: FieldTree, steps: list[str]) -> None:
    for step in steps:
        tree = tree.setdefault(step, {})


def _split(text: str, separator: str) -> Iterator[str]:
    depth, piece = 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == separator and depth <= 0:
            yield piece.strip()
            piece = ""
        else:
            piece += letter
    yield piece.strip()
