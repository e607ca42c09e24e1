"""
Ids that callers hand in: read, or refused before anything is asked upstream. Decisions 8.1.

What is blank, too long, without the prefix, of the wrong kind or of the wrong structure is one
answer: 400 `INVALID_ID`.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from policy.refusals import InvalidInput
from policy.vocabulary import Code
from providers.content import ids as collab_ids
from providers.content.ids import ItemKey, ListKey, RowKey

Key = TypeVar("Key")

_PERMISSION = re.compile(r"[A-Za-z0-9!_.=\-]{1,512}")


def parse_file(text: str) -> ItemKey:
    """Read the id of a file or folder."""
    return _read(text, collab_ids.split_item, "fileId")


def parse_folder(text: str, name: str = "folderId") -> ItemKey:
    """Read the id of a folder; `…:item:root` is the top of its library."""
    return _read(text, collab_ids.split_folder, name)


def parse_site(text: str) -> str:
    """Read the id of a site."""
    return _read(text, collab_ids.split_site, "siteId")


def parse_list(site_id: str, list_id: str) -> ListKey:
    """Read the id of a list, which must be one of the site."""
    of = parse_site(site_id)
    key = _read(list_id, collab_ids.split_list, "listId")
    if key.site != of:
        raise _invalid("listId")
    return key


def parse_row(site_id: str, list_id: str, item_id: str) -> RowKey:
    """Read the id of a list item, which must be one of the list."""
    of = parse_list(site_id, list_id)
    key = _read(item_id, collab_ids.split_row, "itemId")
    if key.of != of or key.item != str(int(key.item)):
        raise _invalid("itemId")
    return key


def parse_permission(text: str) -> str:
    """Read the id of a permission, which upstream gives and no prefix marks."""
    if not _PERMISSION.fullmatch(text) or text in (".", ".."):
        raise _invalid("permissionId")
    return text


def _read(text: str, split: Callable[[str], Key | None], name: str) -> Key:
    key = split(text)
    if key is None:
        raise _invalid(name)
    return key


def _invalid(name: str) -> InvalidInput:
    return InvalidInput(f"{name} is not an id of this kind.", code=Code.INVALID_ID)
