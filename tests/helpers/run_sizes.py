"""How much tests of random cases and of many rounds do: ten times as much with `TIMES=10`."""

import os

TIMES = float(os.environ.get("TIMES", "1"))


def times(count: int) -> int:
    """Return *count*, which CI does, multiplied as the run asks for."""
    return max(1, round(count * TIMES))
