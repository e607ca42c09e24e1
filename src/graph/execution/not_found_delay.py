"""
The delay of 404 responses: to a whole step of time after the start of the request, and at random.

A thing that exists but is blocked is decoded and judged, a missing one is not; without the delay
the response time tells them apart. A token from which nothing is hidden is not delayed. See
docs/spec/reliability.md#existence.
"""

import asyncio
import random
import time
from collections.abc import Collection
from typing import Any

from policy.vocabulary import Code

_random = random.SystemRandom()
# Answers to an id that does not exist, and to one that the token may not know of.
DELAYED = frozenset({Code.BLOCKED, Code.NOT_FOUND, Code.EVENT_NOT_FOUND, Code.CALENDAR_NOT_FOUND})


async def delay(
    errors: Collection[dict[str, Any]], started: float, step: float, *, are_all: bool = True
) -> None:
    """
    Wait if any of *errors* is about a missing thing.

    It waits until a whole number of steps has passed, and then for a random part of a step: timers
    are a millisecond coarse, and what is left of a difference must not show in medians.

    Args:
        errors: GraphQL errors as they are sent.
        started: When the request started, by `time.monotonic`.
        step: In seconds; 0 delays nothing.
        are_all: Whether there are no further errors, which may be about a missing thing.
    """
    is_missing = any(error["extensions"]["code"] in DELAYED for error in errors)
    if step and (is_missing or not are_all):
        rest = -(time.monotonic() - started) % step
        await asyncio.sleep(rest + _random.uniform(0, step))
