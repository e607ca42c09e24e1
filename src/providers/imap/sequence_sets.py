"""UIDs in the compact form of commands and ESEARCH answers: `1:4,7`."""

from collections.abc import Iterable

MAX_UID = 2**32 - 1


def ranges(uids: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last one of each run of these UIDs, which may come in any order."""
    runs: list[tuple[int, int]] = []
    for uid in sorted(set(uids)):
        if runs and runs[-1][1] == uid - 1:
            runs[-1] = runs[-1][0], uid
        else:
            runs.append((uid, uid))
    return runs


def write(uids: Iterable[int]) -> str:
    """Return the shortest set of these UIDs, which may come in any order; "" for none."""
    runs = ranges(uids)
    return ",".join(str(low) if low == high else f"{low}:{high}" for low, high in runs)


def read(text: str, *, most: int) -> list[range]:
    """
    Return the UIDs of a set as ranges, in its order.

    Raises:
        ValueError: It is not a set of numbers, or has more than *most* UIDs.
    """
    parts: list[range] = []
    count = 0
    for part in filter(None, text.strip().split(",")):
        low, _, high = part.partition(":")
        first, last = sorted((int(low), int(high or low)))
        count += last - first + 1
        if not (first > 0 and last <= MAX_UID and count <= most):
            raise ValueError(text[:100])
        parts.append(range(first, last + 1))
    return parts
