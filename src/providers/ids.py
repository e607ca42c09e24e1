"""
Mail ids of callers: ``providerA:<native>``, ``providerB:<native>`` and ``imap:<native>``.

The text after the first colon is opaque, and ids that are not ours match nothing:
docs/spec/email.md#ids.
"""

import re
import string
from collections.abc import Sequence
from functools import partial
from types import MappingProxyType

from providers.catalogue.tables import CONNECTORS, MAIL_PREFIXES

MAX_ID_LENGTH = 1024  # characters

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


_FORMS = MappingProxyType({code: re.compile(CONNECTORS[code].mail_id) for code in MAIL_PREFIXES})
_CHARACTERS_A = (string.ascii_letters + string.digits + "_-").encode()
_CHARACTERS_B = _CHARACTERS_A + b"+/="


def is_native_id(provider: str, native: str) -> bool:
    """Return whether *native* has the form of a provider's mail ids, so that a URL may have it."""
    return _FORMS[provider].fullmatch(native) is not None


is_provider_a_id = partial(is_native_id, "PROVIDER_A")
is_provider_b_id = partial(is_native_id, "PROVIDER_B")


def _are_ids(natives: Sequence[str], *, characters: bytes, longest: int) -> bool:
    # A third of the time of a pattern for ids of real length, some 150 characters.
    text = "".join(natives)
    if not text.isascii() or text.encode().translate(None, characters):
        return False
    lengths = set(map(len, natives))
    return not lengths or (min(lengths) > 0 and max(lengths) <= longest)


# Whether all of some ids pass `is_provider_a_id` or `is_provider_b_id`, at a fraction of its cost.
are_provider_a_ids = partial(_are_ids, characters=_CHARACTERS_A, longest=128)
are_provider_b_ids = partial(_are_ids, characters=_CHARACTERS_B, longest=512)
