"""Deterministic chance: the same seed gives the same number in every run."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def chance(*seed: object) -> float:
    """Return a number in [0, 1) that depends on *seed* alone."""
    digest = hashlib.sha256("/".join(map(str, seed)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def pick(options: Sequence[T], *seed: object) -> T:
    """Return one of *options*; *seed* decides which."""
    return options[int(chance(*seed) * len(options))]
