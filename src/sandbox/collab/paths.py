"""
Normalisation of request paths.

Path addressing (``root:/a/b:/content``, ``P1%3A%2Fa%2Fb%3A/content``) is folded into the segment
before it, function calls (``search(q='x')``) become two segments, known words get the case of the
routes. See docs/spec/upstream/microsoft-files.md#ids.
"""

import re
from collections.abc import Sequence

_CALL = re.compile(
    r"^(?:microsoft\.graph\.|oneDrive\.)?(\w+)\((?:(\w+)\s*+=\s*+)?(.*)\)$", re.DOTALL
)
_WORDS = {
    word.lower(): word
    for word in (
        "me",
        "users",
        "sites",
        "drives",
        "drive",
        "root",
        "items",
        "item",
        "children",
        "content",
        "createUploadSession",
        "permissions",
        "invite",
        "createLink",
        "permanentDelete",
        "extractSensitivityLabels",
        "lists",
        "list",
        "columns",
        "contentTypes",
        "fields",
        "driveItem",
        "listItem",
        "search",
        "query",
        "getAllSites",
        "getByPath",
        "followedSites",
        "security",
        "dataSecurityAndGovernance",
        "informationProtection",
        "sensitivityLabels",
        "recycleBin",
        "permission",
    )
}


def normalize_segments(segments: Sequence[str]) -> tuple[str, ...]:
    """Return *segments* in the form that the routes match."""
    normalized: list[str] = []
    for segment in _folded(segments):
        call = _CALL.match(segment)
        if call is None or ":" in segment.partition("(")[0]:
            normalized.append(_word(segment))
            continue
        normalized.append(_word(call[1]))
        argument = call[3].strip()
        if argument:
            normalized.append(_unquoted(argument))
        elif call[2]:
            normalized.append("")
    return tuple(normalized)


def head_and_path(reference: str) -> tuple[str, tuple[str, ...] | None]:
    """Split ``root:/a/b`` into ``root`` and its path; None when there is no path."""
    head, colon, path = reference.partition(":/")
    if not colon:
        return reference, None
    return head, tuple(part for part in path.split("/") if part)


def _word(segment: str) -> str:
    plain = segment.removeprefix("microsoft.graph.").removeprefix("oneDrive.")
    head, colon, path = plain.partition(":/")
    return _WORDS.get(head.lower(), head) + colon + path


def _unquoted(argument: str) -> str:
    if len(argument) > 1 and argument[0] == argument[-1] == "'":
        return argument[1:-1].replace("''", "'")
    return argument


def _folded(segments: Sequence[str]) -> list[str]:
    """Join a path between colons to the segment before it: ``root:/a/b``."""
    folded: list[str] = []
    position = 0
    while position < len(segments):
        segment = segments[position]
        position += 1
        head, colon, rest = segment.partition(":")
        if not colon or "(" in head or (rest and not rest.startswith("/")):
            folded.append(segment)
            continue
        path_parts = [rest]
        if not rest.endswith(":"):
            while position < len(segments):
                path_parts.append(segments[position])
                position += 1
                if path_parts[-1].endswith(":"):
                    break
        path = "/".join(path_parts).removesuffix(":").strip("/")
        folded.append(f"{head}:/{path}")
    return folded
