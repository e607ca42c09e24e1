"""
Ids that callers pass in: parsed, or refused before any upstream call.

A blank, too long, unprefixed or malformed id, or one of another kind, is 400 `INVALID_ID`:
docs/spec/collab.md#invalid-ids.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from policy.refusals import InvalidInput
from policy.vocabulary import Code
from providers import collab_ids
from providers.collab_ids import ItemKey, ListItemKey, ListKey

Key = TypeVar("Key")

_PERMISSION = re.compile(r"[A-Za-z0-9!_.=\-]{1,512}")


def parse_file(text: str) -> ItemKey:
    """Parse the id of a file or folder."""
    return _parse(text, collab_ids.split_item, "fileId")


def parse_folder(text: str, name: str = "folderId") -> ItemKey:
    """Parse the id of a folder; `…:item:root` is the root of its library."""
    return _parse(text, collab_ids.split_folder, name)


def parse_drive(text: str) -> str:
    """Parse the id of a library."""
    return _parse(text, collab_ids.split_drive, "driveId")


def parse_site(text: str) -> str:
    """Parse the id of a site."""
    return _parse(text, collab_ids.split_site, "siteId")


def parse_list(site_id: str, list_id: str) -> ListKey:
    """Parse the id of a list, which must belong to the site."""
    site = parse_site(site_id)
    key = _parse(list_id, collab_ids.split_list, "listId")
    if key.site != site:
        raise _invalid("listId")
    return key


def parse_list_item(site_id: str, list_id: str, item_id: str) -> ListItemKey:
    """Parse the id of a list item, which must belong to the list."""
    list_key = parse_list(site_id, list_id)
    key = _parse(item_id, collab_ids.split_list_item, "itemId")
    if key.of != list_key or key.item != str(int(key.item)):
        raise _invalid("itemId")
    return key


def parse_permission(text: str) -> str:
    """Parse the id of a permission, which is upstream's and has no prefix."""
    if not _PERMISSION.fullmatch(text) or text in (".", ".."):
        raise _invalid("permissionId")
    return text


def _parse(text: str, split: Callable[[str], Key | None], name: str) -> Key:
    key = split(text)
    if key is None:
        raise _invalid(name)
    return key


def _invalid(name: str) -> InvalidInput:
    return InvalidInput(f"{name} is not an id of this kind.", code=Code.INVALID_ID)
