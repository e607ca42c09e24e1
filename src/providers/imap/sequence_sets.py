"""UIDs in the compact form of commands and ESEARCH answers: `1:4,7`."""

from collections.abc import Iterable

MAX_UID = 2**32 - 1


def write(uids: Iterable[int]) -> str:
    """Return the shortest set of these UIDs, which may come in any order; "" for none."""
    ranges: list[list[int]] = []
    for uid in sorted(set(uids)):
        if ranges and ranges[-1][1] == uid - 1:
            ranges[-1][1] = uid
        else:
            ranges.append([uid, uid])
    return ",".join(str(low) if low == high else f"{low}:{high}" for low, high in ranges)


def read(text: str, *, most: int) -> list[range]:
    """
    Return the UIDs of a set as ranges, in its order.

    Raises:
        ValueError: It is not a set of numbers, or has more than *most* UIDs.
    """
    ranges: list[range] = []
    count = 0
    for part in filter(None, text.strip().split(",")):
        low, _, high = part.partition(":")
        first, last = sorted((int(low), int(high or low)))
        count += last - first + 1
        if not (first > 0 and last <= MAX_UID and count <= most):
            raise ValueError(text[:100])
        ranges.append(range(first, last + 1))
    return ranges
