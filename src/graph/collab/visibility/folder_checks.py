"""
Checks before a change to a folder, which changes everything in it, at any depth.

Deleting, moving or sharing a folder, or changing a permission on it, requires that all of its
contents are allowed: a token must not destroy, move or share what it may not read. Rules about
places can settle that without a call; otherwise the folder is walked, and contents beyond the
bounds count as blocked. See docs/spec/rules.md#changing-a-folder.
"""

from collections import deque

from msgspec.structs import replace

from graph.collab.visibility.access import AccessChecker, AccessibleFile
from policy.rule_facts import UNKNOWN, Facts
from providers.collab_ids import ItemKey
from providers.failures import Missing
from providers.ports.collab import FileQuery, Order
from providers.records.collab import File, ListItem

MAX_PAGES = 25  # listed for one change
MAX_ENTRIES = 1000
_PAGE_SIZE = 200
# MergedContent types of folders: docs/spec/upstream/microsoft-files.md#lists.
_FOLDER_TYPE = "0x0120"
# The attributes of a list item that `require_list_item_contents_allowed` needs.
LIST_ITEM_ATTRIBUTES = frozenset({"file", "content_type_id"})


async def require_contents_allowed(access: AccessChecker, target: AccessibleFile) -> None:
    """Raise Blocked unless everything in a folder is allowed and can be checked; a file passes."""
    if not target.file.is_folder or access.allows_all_inside(_shared_facts(target)):
        return
    waiting, page_count, entry_count = deque([target.file.key]), 0, 0
    while waiting:
        folder, cursor = waiting.popleft(), None
        while True:
            page_count += 1
            if page_count > MAX_PAGES or entry_count > MAX_ENTRIES:
                raise access.unchecked_contents(target.facts, _shared_facts(target))
            children, cursor = await _list_page(access, folder, cursor)
            entry_count += len(children)
            child_facts = await access.fact_loader.load_file_facts(children)
            for child, facts in zip(children, child_facts, strict=True):
                access.require_child_allowed(target.facts, facts)
                if child.is_folder:
                    waiting.append(child.key)
            if cursor is None:
                break


async def require_list_item_contents_allowed(
    access: AccessChecker, list_item: ListItem, facts: Facts
) -> None:
    """
    Raise Blocked unless everything in a list item that is a folder is allowed; others pass.

    *list_item* was read with `LIST_ITEM_ATTRIBUTES`. A folder of a list that is not a library
    cannot be walked: rules about places must settle it.
    """
    if isinstance(list_item.file, File):
        await require_contents_allowed(access, AccessibleFile(list_item.file, facts))
        return
    content_type = list_item.content_type_id
    is_plain = isinstance(content_type, str) and not content_type.lower().startswith(_FOLDER_TYPE)
    inside = replace(facts, list_item_id=UNKNOWN)
    if not is_plain and not access.allows_all_inside(inside):
        raise access.unchecked_contents(facts, inside)


async def _list_page(
    access: AccessChecker, folder: ItemKey, cursor: str | None
) -> tuple[list[File], str | None]:
    """Read one page of a folder and the cursor of the next; a folder that is gone is empty."""
    query = FileQuery(order=Order(by="modified_time"), limit=_PAGE_SIZE)
    projection = access.fact_loader.file_attributes
    try:
        page = await access.content.files(
            [folder], query, cursor=cursor, projection=projection, reuse_listing=cursor is not None
        )
    except Missing:
        return [], None
    return list(page.items), page.next


def _shared_facts(folder: AccessibleFile) -> Facts:
    """Return the facts that all contents of a folder share."""
    return replace(
        folder.facts,
        item=UNKNOWN,
        ancestors=folder.ancestors_of_children,
        list_item_id=UNKNOWN,
        mime_type=UNKNOWN,
        label_ids=UNKNOWN,
        content_type_id=UNKNOWN,
    )
