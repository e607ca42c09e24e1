"""
Web addresses in texts, and the files and task items that they name (docs/spec/graphql.md#links).

An address is recognized by its path, because accounts may have hosts of their own. A text is read
once, in time linear in its length.
"""

import re
from urllib.parse import unquote, urlsplit

import idna
import msgspec

from providers.catalogue.tables import ITEM_PATHS

MAX_TEXT = 200_000  # characters of a text that are read
MAX_ADDRESSES = 20  # files, and task items, of a text
_MAX_LENGTH = 1_000  # characters of an address
MAX_TEXT_OF_ADDRESSES = MAX_ADDRESSES * (_MAX_LENGTH + 1)

_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f\"<>\\^`{|}]+")
_CLOSING = ".,;:!?)]'"  # what follows an address in a sentence or list
# The beginning of the path of a site; before it stands the kind of a link to an open file.
_FILE = re.compile(r"(?:/:[a-z]:/r)?(/(?:sites|teams|personal)/[^/]+/.*[^/])")


class ItemAddress(msgspec.Struct, frozen=True):
    """The web address of a task item, and the provider and id that it names."""

    url: str
    provider: str
    item_id: str


class Addresses(msgspec.Struct, frozen=True):
    """
    The addresses in a text, in order, each once.

    Attributes:
        files: Addresses of files, as they stand in the text.
    """

    files: tuple[str, ...]
    items: tuple[ItemAddress, ...]


def addresses_in(text: str, limit: int = MAX_ADDRESSES) -> Addresses:
    """Find the addresses of files and task items in a text or in HTML: *limit* of each kind."""
    files: dict[str, str] = {}
    items: dict[tuple[str, str], ItemAddress] = {}
    for match in _ADDRESS.finditer(text[:MAX_TEXT]):
        url = match[0].rstrip(_CLOSING).replace("&amp;", "&")
        item, file = item_at(url), file_at(url)
        if item is not None and len(items) < limit:
            items.setdefault((item.provider, item.item_id), item)
        elif file is not None and len(files) < limit:
            files.setdefault(file, url)
    return Addresses(tuple(files.values()), tuple(items.values()))


def file_at(url: str) -> str | None:
    """Return the decoded address of the file that *url* may lead to; None for any other one."""
    host, path = _parts(url)
    match = _FILE.fullmatch(unquote(path))
    return f"https://{host}{match[1]}" if host and match and '"' not in path else None


def item_at(url: str) -> ItemAddress | None:
    """Return the task item that *url* leads to; None for any other address."""
    host, path = _parts(url)
    for provider, pattern in ITEM_PATHS:
        match = pattern.fullmatch(path.rstrip("/"))
        if host and match:
            return ItemAddress(url, provider, match[1])
    return None


def _parts(url: str) -> tuple[str, str]:
    """Return host and path of an address; empty if it is not valid or too long."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a malformed address of IPv6
        return "", ""
    is_web = parts.scheme in {"http", "https"} and len(url) <= _MAX_LENGTH
    return (parts.netloc.casefold(), parts.path) if is_web else ("", "")


def ascii_host(name: str) -> str:
    """
    Return a host name in A-labels, as UTS 46 maps it (without its transitional rules).

    Names of ASCII alone are returned as they are. The policy compares domains of recipients in the
    same form.

    Raises:
        UnicodeError: It is not a host name, or a label is empty or too long.
    """
    encoded = name.encode("idna") if name.isascii() else idna.encode(name, uts46=True)
    return encoded.decode("ascii")
