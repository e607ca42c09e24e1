"""Wildcards: patterns in which `*` stands for any characters, also for none."""

import msgspec


class Wildcard(msgspec.Struct, frozen=True):
    """
    A wildcard pattern; wildcards of the same pattern are equal.

    Callers write patterns. A regular expression would try every way to divide a text between the
    stars, so the pieces between them are looked up in order instead: linear time.
    """

    pattern: str

    def __call__(self, text: str) -> bool:
        """Return whether the whole of *text* matches; letter case counts."""
        first, *pieces = self.pattern.split("*")
        if not pieces:
            return text == first
        last = pieces.pop()
        start, end = len(first), len(text) - len(last)
        if start > end or not (text.startswith(first) and text.endswith(last)):
            return False
        for piece in pieces:
            position = text.find(piece, start, end)
            if position < 0:
                return False
            start = position + len(piece)
        return True
