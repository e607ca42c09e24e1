"""
``opt_fields``: which fields an answer holds, as a tree.

``a.b,a.c`` and ``a.(b|c)`` ask for two fields of ``a``; ``this.`` may stand in front. What does not
exist is silently left out. Source: the vendor's page on input and output options.
"""

from collections.abc import Iterator

FieldTree = dict[str, "FieldTree"]

_MOST = 4_000  # characters


def parse(text: str) -> FieldTree | None:
    """Return the fields asked for; None when nothing is said."""
    paths = [path for path in _split(text[:_MOST], ",") if path]
    if not paths:
        return None
    tree: FieldTree = {}
    for path in paths:
        for steps in _expanded(path):
            _plant(tree, [step for step in steps if step != "this"])
    return tree


def _expanded(path: str) -> Iterator[list[str]]:
    """Yield the paths that a path with groups stands for."""
    start = path.find("(")
    end = path.find(")", start)
    if start < 0 or end < 0:
        yield [step for step in path.strip().split(".") if step]
        return
    for choice in path[start + 1 : end].split("|"):
        yield from _expanded(path[:start] + choice + path[end + 1 :])


def _plant(tree: FieldTree, steps: list[str]) -> None:
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
