"""Message of a 404 for an unknown path: the documentation, and the nearest known path."""

from collections.abc import Iterable, Sequence

from policy.vocabulary import nearest

NOTHING = "There is nothing at this path. The calls are described at /docs/."
MAX_SEGMENT = 60  # characters of a segment that are compared

Pattern = tuple[str, ...]  # the segments of a path; parameters are in braces


def describe_unknown(segments: Sequence[str], patterns: Iterable[Pattern]) -> str:
    """Return the message of a 404 for *segments*, which is none of *patterns*."""
    nearest = _nearest([segment for segment in segments if segment], [*patterns])
    if nearest is None:
        return NOTHING
    path = "/".join(("", *nearest))
    return f"There is nothing at this path. Did you mean {path}? The calls are described at /docs/."


def _nearest(segments: Sequence[str], patterns: Sequence[Pattern]) -> Pattern | None:
    """Return the pattern that *segments* follow longest; None unless they name a surface."""
    followed = 0
    for index, segment in enumerate(segments):
        options = dict.fromkeys(pattern[index] for pattern in patterns if len(pattern) > index)
        chosen = segment if segment in options else _like(segment, options)
        if chosen is None:
            break
        patterns = [pattern for pattern in patterns if pattern[index : index + 1] == (chosen,)]
        followed += 1
    if not patterns or followed < min(len(segments), len(("api", "access", "surface"))):
        return None
    return min(patterns, key=lambda pattern: abs(len(pattern) - len(segments)))


def _like(segment: str, options: Iterable[str]) -> str | None:
    """Return the literal that is most like *segment*, else the parameter at its place."""
    literals = [option for option in options if not option.startswith("{")]
    return nearest(segment[:MAX_SEGMENT].lower(), literals) or next(
        (option for option in options if option not in literals), None
    )
