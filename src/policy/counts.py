"""Numbers with their nouns, and lists within a message, for sentences."""

from collections.abc import Sequence

MAX_MESSAGE = 300  # characters of a message of an error: docs/spec/errors.md#error-body


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 row" or "2 rows"; *plural* is the noun with an s if None."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def listed(head: str, items: Sequence[str], *, in_full: Sequence[str] = ()) -> str:
    """
    Return a message: *head*, and as many of *items* as fit, then "and 3 more".

    The sentences *in_full* stand instead of several items where a message holds them all.
    """
    text = " ".join((head, *in_full))
    if in_full and (len(in_full) == 1 or len(text) <= MAX_MESSAGE):
        return text
    for count in range(min(len(items), MAX_MESSAGE // 3), -1, -1):
        others = [f"and {len(items) - count} more"] if count < len(items) else []
        text = f"{head} {', '.join([*items[:count], *others])}."
        if len(text) <= MAX_MESSAGE:
            break
    return text
