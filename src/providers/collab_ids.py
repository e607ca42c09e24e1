"""
Prefixed ids of the collaboration content: formatting and parsing; docs/spec/collab.md#ids.

    collab:drive:<d>:item:<i>             a file or folder
    collab:drive:<d>                      a library (rules and additive endpoints)
    collab:site:<host>,<guid>,<guid>      a site
    collab:site:…:list:<guid>             a list
    collab:site:…:list:<guid>:item:<n>    a list item

Hosts and GUIDs are lowercased, so that an id has one spelling; drive and item ids are kept as they
are. The parts that `split_…` functions return are safe in an address: each is one path segment.
"""

import re
from typing import NamedTuple

MAX_ID_LENGTH = 1024  # characters
PREFIX = "collab:"
ROOT = "root"  # stands for a library's root folder where a folder is expected

_GUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_PART = r"[A-Za-z0-9!_.\-]{1,256}"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.\-]{0,251}[A-Za-z0-9])?"
_SITE = f"{_HOST},{_GUID},{_GUID}"
_NUMBER = r"[0-9]{1,10}"

_GUID_FORM = re.compile(_GUID)
_PART_FORM = re.compile(_PART)
_SITE_FORM = re.compile(_SITE)
_NUMBER_FORM = re.compile(_NUMBER)
_ITEM_ID = re.compile(f"collab:drive:({_PART}):item:({_PART})")
_DRIVE_ID = re.compile(f"collab:drive:({_PART})")
_SITE_ID = re.compile(f"collab:site:({_SITE})")
_LIST_ID = re.compile(f"collab:site:({_SITE}):list:({_GUID})")
_LIST_ITEM_ID = re.compile(f"collab:site:({_SITE}):list:({_GUID}):item:({_NUMBER})")


class ItemKey(NamedTuple):
    """A file or folder: its library, and its id there."""

    drive: str
    item: str


class ListKey(NamedTuple):
    """A list: the composite id of its site, and its GUID."""

    site: str
    list: str


class ListItemKey(NamedTuple):
    """A list item: its site, its list, and its number there."""

    site: str
    list: str
    item: str

    @property
    def of(self) -> ListKey:
        return ListKey(self.site, self.list)


def join_item(key: ItemKey) -> str:
    """Return the prefixed id of a file or folder."""
    return f"collab:drive:{key[0]}:item:{key[1]}"


def join_drive(drive: str) -> str:
    """Return the prefixed id of a library."""
    return f"collab:drive:{drive}"


def join_site(site: str) -> str:
    """Return the prefixed id of a site."""
    return f"collab:site:{site}"


def join_list(key: ListKey) -> str:
    """Return the prefixed id of a list."""
    return f"collab:site:{key[0]}:list:{key[1]}"


def join_list_item(key: ListItemKey) -> str:
    """Return the prefixed id of a list item."""
    return f"collab:site:{key[0]}:list:{key[1]}:item:{key[2]}"


def split_item(text: str) -> ItemKey | None:
    """Parse the id of a file or folder; None when malformed, or ``…:item:root``."""
    key = split_folder(text)
    return None if key is None or key.item == ROOT else key


def split_folder(text: str) -> ItemKey | None:
    """Parse the id of a folder; ``…:item:root`` is the library's root. None when malformed."""
    match = _fullmatch(_ITEM_ID, text)
    if match is None or not (is_part(match[1]) and is_part(match[2])):
        return None
    return ItemKey(match[1], match[2])


def split_drive(text: str) -> str | None:
    """Parse the id of a library; None when malformed."""
    match = _fullmatch(_DRIVE_ID, text)
    return match[1] if match is not None and is_part(match[1]) else None


def split_site(text: str) -> str | None:
    """Parse the id of a site into its composite id in lower case; None when malformed."""
    match = _fullmatch(_SITE_ID, text)
    return match[1].lower() if match is not None else None


def split_list(text: str) -> ListKey | None:
    """Parse the id of a list, in lower case; None when malformed."""
    match = _fullmatch(_LIST_ID, text)
    return ListKey(match[1].lower(), match[2].lower()) if match is not None else None


def split_list_item(text: str) -> ListItemKey | None:
    """Parse the id of a list item, in lower case; None when malformed."""
    match = _fullmatch(_LIST_ITEM_ID, text)
    if match is None:
        return None
    return ListItemKey(match[1].lower(), match[2].lower(), match[3])


def same_drive(first: str, second: str) -> bool:
    """
    Return whether two ids name one library.

    Upstream writes the hexadecimal ids of personal libraries in either letter case. Other ids
    begin with "b!" and are base64.
    """
    if first == second:
        return True
    is_cased = first.startswith(_CASED) or second.startswith(_CASED)
    return not is_cased and first.lower() == second.lower()


def same_item(first: ItemKey, second: ItemKey) -> bool:
    """Return whether two keys name one file; items of personal libraries are `{drive}!{number}`."""
    if first == second:
        return True
    is_personal = _PERSONAL_ITEM.fullmatch(first.item) is not None
    is_same = first.item.lower() == second.item.lower() if is_personal else first[1] == second[1]
    return is_same and same_drive(first.drive, second.drive)


_CASED = "b!"
_PERSONAL_ITEM = re.compile(r"[0-9a-fA-F]{1,16}![0-9]{1,20}")


def is_part(native: str) -> bool:
    """Return whether *native* is a well-formed drive or item id."""
    return _PART_FORM.fullmatch(native) is not None and native not in (".", "..")


def is_site(native: str) -> bool:
    """Return whether *native* is a well-formed composite site id."""
    return _SITE_FORM.fullmatch(native) is not None


def is_guid(native: str) -> bool:
    """Return whether *native* is a GUID, in any case."""
    return _GUID_FORM.fullmatch(native) is not None


def is_number(native: str) -> bool:
    """Return whether *native* is a well-formed number of a list item."""
    return _NUMBER_FORM.fullmatch(native) is not None


def _fullmatch(form: re.Pattern[str], text: str) -> re.Match[str] | None:
    return form.fullmatch(text) if len(text) <= MAX_ID_LENGTH else None
