"""
Prefixed ids: split, join, refuse what is not ours. Ids fail closed.

Mail: ``providerA:<native>`` and ``providerB:<native>``; the text after the first colon is opaque.
Source: contract, General behaviours 2; decisions 5.10.
"""

import re
from collections.abc import Iterable
from types import MappingProxyType

MAX_ID_LENGTH = 1024  # characters; decisions 5.10 and 8.1

MAIL_PREFIXES = MappingProxyType({"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"})
_BEFORE_NATIVE = MappingProxyType({code: f"{word}:" for code, word in MAIL_PREFIXES.items()})
_PROVIDER_BY_PREFIX = MappingProxyType({word: code for code, word in MAIL_PREFIXES.items()})


def join_mail_id(provider: str, native: str) -> str:
    """Prefix *native* with its provider's word: ``providerA:18c…``."""
    return _BEFORE_NATIVE[provider] + native


def split_mail_id(prefixed: str) -> tuple[str, str] | None:
    """
    Split a prefixed mail id.

    Returns:
        ``(provider code, native id)``, or None when the id is not one of
        ours: unknown or missing prefix, empty rest, or over 1,024 characters.
    """
    prefix, colon, native = prefixed.partition(":")
    provider = _PROVIDER_BY_PREFIX.get(prefix)
    if not colon or not native or provider is None or len(prefixed) > MAX_ID_LENGTH:
        return None
    return provider, native


_PROVIDER_A = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PROVIDER_B = re.compile(r"[A-Za-z0-9+/=_-]{1,512}")
_MANY_A = re.compile(rf"(?:{_PROVIDER_A.pattern}\n)*")
_MANY_B = re.compile(rf"(?:{_PROVIDER_B.pattern}\n)*")


def is_provider_a_id(native: str) -> bool:
    """Whether *native* has the form of provider A's ids, so that it may stand in an address."""
    return _PROVIDER_A.fullmatch(native) is not None


def is_provider_b_id(native: str) -> bool:
    """Whether *native* has the form of provider B's ids, so that it may stand in an address."""
    return _PROVIDER_B.fullmatch(native) is not None


def are_provider_a_ids(natives: Iterable[str]) -> bool:
    """Whether all of *natives* pass `is_provider_a_id`, at a fifth of its cost."""
    return _are(_MANY_A, [*natives])


def are_provider_b_ids(natives: Iterable[str]) -> bool:
    """Whether all of *natives* pass `is_provider_b_id`, at a fifth of its cost."""
    return _are(_MANY_B, [*natives])


def _are(lines: re.Pattern[str], natives: list[str]) -> bool:
    text = "\n".join([*natives, ""])
    # One with a line's end in it would count as two.
    return lines.fullmatch(text) is not None and text.count("\n") == len(natives)
