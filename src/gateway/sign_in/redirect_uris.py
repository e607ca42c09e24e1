"""
Redirect URIs: which ones a client may register, and which one of a request is registered.

Exact text alone is equal (RFC 9700), but for the port of a loopback address (RFC 8252, 7.3).
"""

import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

MAX_URI = 512  # characters
LOOPBACK = ("127.0.0.1", "localhost", "::1")
# ASCII without blanks, quotes, `<`, `>`, backslash, `^`, backtick, braces and `|`.
_PLAIN = re.compile(r"[!#-&(-;=?-\[\]_a-z~]+")
_HOST = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?")
_PRIVATE_SCHEME = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")  # com.example.app


def is_usable(uri: str) -> bool:
    """Return whether *uri* may be registered: https, http on loopback, or a scheme of an app."""
    parts = _split(uri)
    if parts is None:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return parts.hostname in LOOPBACK
    return _PRIVATE_SCHEME.fullmatch(parts.scheme) is not None


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Return whether *uri* is one of those *registered*; the port of a loopback address is free."""
    return is_usable(uri) and any(_is_same(uri, each) for each in registered)


def source_of(uri: str) -> str:
    """Return the source expression of a content security policy for a usable *uri*."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"{parts.scheme}:"


def destination_of(uri: str) -> str:
    """Return where a usable *uri* leads, for people: a host, this computer, or a scheme."""
    parts = urlsplit(uri)
    if parts.scheme == "http":
        return f"a program on this computer ({parts.hostname})"
    return parts.hostname or f"an app on this device ({parts.scheme})"


def _is_same(uri: str, registered: str) -> bool:
    return uri == registered or (_without_port(uri) or uri) == _without_port(registered)


def _without_port(uri: str) -> str | None:
    """Return a URI of a loopback address without its port; None for another one."""
    parts = _split(uri)
    if parts is None or parts.scheme != "http" or parts.hostname not in LOOPBACK:
        return None
    return parts._replace(netloc=parts.hostname or "").geturl()


def _split(uri: str) -> SplitResult | None:
    """Return the parts of *uri*; None: it has characters, a user or a fragment that it must not."""
    if len(uri) > MAX_URI or not _PLAIN.fullmatch(uri) or "#" in uri or "@" in uri:
        return None
    try:
        parts = urlsplit(uri)
        is_whole = parts.port is None or parts.port > 0
    except ValueError:
        return None
    is_plain = not parts.netloc or _HOST.fullmatch(parts.netloc)
    return parts if is_whole and is_plain and uri.startswith(f"{parts.scheme}:") else None
