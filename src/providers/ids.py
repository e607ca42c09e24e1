"""
Mail ids of callers: ``providerA:<native>`` and ``providerB:<native>``.

The text after the first colon is opaque, and ids that are not ours match nothing:
docs/spec/email.md#ids.
"""

import re
from collections.abc import Iterable
from types import MappingProxyType

MAX_ID_LENGTH = 1024  # characters

MAIL_PREFIXES = MappingProxyType({"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"})
_PREFIX_AND_COLON = MappingProxyType({code: f"{word}:" for code, word in MAIL_PREFIXES.items()})
_PROVIDER_BY_PREFIX = MappingProxyType({word: code for code, word in MAIL_PREFIXES.items()})


def join_mail_id(provider: str, native: str) -> str:
    """Prefix a native id: ``providerA:18c…``."""
    return _PREFIX_AND_COLON[provider] + native


def split_mail_id(prefixed: str) -> tuple[str, str] | None:
    """
    Split a prefixed mail id.

    Returns:
        Provider code and native id; None when the id is not ours: its prefix is unknown, nothing
        follows the prefix, or it is longer than `MAX_ID_LENGTH`.
    """
    prefix, colon, native = prefixed.partition(":")
    provider = _PROVIDER_BY_PREFIX.get(prefix)
    if not colon or not native or provider is None or len(prefixed) > MAX_ID_LENGTH:
        return None
    return provider, native


_PROVIDER_A = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PROVIDER_B = re.compile(r"[A-Za-z0-9+/=_-]{1,512}")
_LINES_A = re.compile(rf"(?:{_PROVIDER_A.pattern}\n)*")
_LINES_B = re.compile(rf"(?:{_PROVIDER_B.pattern}\n)*")


def is_provider_a_id(native: str) -> bool:
    """Tell whether *native* has the form of provider A's ids, so that it may be put in a URL."""
    return _PROVIDER_A.fullmatch(native) is not None


def is_provider_b_id(native: str) -> bool:
    """Tell whether *native* has the form of provider B's ids, so that it may be put in a URL."""
    return _PROVIDER_B.fullmatch(native) is not None


def are_provider_a_ids(natives: Iterable[str]) -> bool:
    """Tell whether all of *natives* pass `is_provider_a_id`, at a fifth of its cost."""
    return _all_match(_LINES_A, [*natives])


def are_provider_b_ids(natives: Iterable[str]) -> bool:
    """Tell whether all of *natives* pass `is_provider_b_id`, at a fifth of its cost."""
    return _all_match(_LINES_B, [*natives])


def _all_match(lines: re.Pattern[str], natives: list[str]) -> bool:
    text = "\n".join([*natives, ""])
    # An id that holds a line break would count as two.
    return lines.fullmatch(text) is not None and text.count("\n") == len(natives)
