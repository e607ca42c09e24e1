"""Finds the saved document of a path, in time that depends on the path alone."""

from collections.abc import Iterable, Mapping

import msgspec

from rest_compat.saved.document import SavedDocument

_PARAMETER = ""  # the key of the branch that any segment takes; no literal segment is empty


class _Node(msgspec.Struct):
    """Documents whose path ends here, by method, and what follows by segment."""

    documents: dict[str, SavedDocument] = msgspec.field(default_factory=dict)
    below: dict[str, "_Node"] = msgspec.field(default_factory=dict)


class Routes:
    """The saved documents as a tree of path segments; a literal segment goes before a parameter."""

    def __init__(self, documents: Iterable[SavedDocument]) -> None:
        self._root = _Node()
        for document in documents:
            node = self._root
            for segment in document.path.split("/")[1:]:
                key = _PARAMETER if segment.startswith("{") else segment
                node = node.below.setdefault(key, _Node())
            node.documents[document.method] = document

    def match(self, segments: tuple[str, ...]) -> Mapping[str, SavedDocument]:
        """Return the documents of the first path that *segments* fit, by method."""
        candidates = [(self._root, 0)]  # the last is the next to try
        while candidates:
            node, depth = candidates.pop()
            if depth == len(segments):
                if node.documents:
                    return node.documents
                continue
            segment = segments[depth]
            for key in (_PARAMETER, segment) if segment else (_PARAMETER,):
                below = node.below.get(key)
                if below is not None:
                    candidates.append((below, depth + 1))
        return {}


def path_values(document: SavedDocument, segments: tuple[str, ...]) -> Mapping[str, str]:
    """Return the path parameters of a call of *document*."""
    return {
        expected[1:-1]: segment
        for expected, segment in zip(document.path.split("/")[1:], segments, strict=True)
        if expected.startswith("{")
    }


def shape_of_path(path: str) -> str:
    """Return *path* with empty parameter names: two documents of a method may not share it."""
    return "/".join("{}" if segment.startswith("{") else segment for segment in path.split("/"))
