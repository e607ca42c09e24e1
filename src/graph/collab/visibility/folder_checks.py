"""
A folder that is changed as a whole: what lies in it counts, at any depth.

Deleting, moving or sharing a folder does the same to everything in it, and so does giving or taking
a permission on it. So all of that must be allowed: a token must not destroy, carry off or show to
others what it may not reach itself. Where rules about places settle it, nothing is read; else the
folder is walked through, and more than can be looked at counts as blocked. The decisions are silent
here; ADR 0007.
"""

from collections import deque
from dataclasses import replace

from graph.collab.visibility.access import AccessChecker, AccessibleFile
from graph.context import Context
from policy.rules import UNKNOWN, Facts
from providers.content.ids import ItemKey
from providers.failures import Missing
from providers.ports.collab import FileQuery, Order
from providers.records.collab import File, Row

MAX_PAGES = 25  # of the folders that are listed for one change
MAX_ENTRIES = 1000
_PAGE = 200
_FOLDER_TYPE = "0x0120"  # and what is made from it; wire report 1D.5
ROW_ATTRIBUTES = frozenset(
    {"file", "content_type_id"}
)  # what must be known of a row for `require_row_contents_allowed`


async def require_contents_allowed(
    context: Context, access: AccessChecker, found: AccessibleFile
) -> None:
    """
    Let pass what is no folder, and a folder in which everything is allowed.

    Raises:
        Blocked: Something in it is not, or there is too much to tell.
    """
    if not found.file.is_folder or access.allows_all_inside(_inside(found)):
        return
    waiting, pages, things = deque([found.file.key]), 0, 0
    while waiting:
        folder, cursor = waiting.popleft(), None
        while True:
            pages += 1
            if pages > MAX_PAGES or things > MAX_ENTRIES:
                raise access.unchecked_contents(found.facts, _inside(found))
            children, cursor = await _listed(context, access, folder, cursor)
            things += len(children)
            for child, facts in zip(
                children, await access.fact_loader.load_file_facts(children), strict=True
            ):
                access.require_child_allowed(found.facts, facts)
                if child.is_folder:
                    waiting.append(child.key)
            if cursor is None:
                break


async def require_row_contents_allowed(
    context: Context, access: AccessChecker, row: Row, facts: Facts
) -> None:
    """
    Let pass a list item that is no folder, or one in which everything is allowed.

    *row* was read with `ROW_ATTRIBUTES`. A folder of a list that is no library cannot be walked:
    rules about places must settle it.

    Raises:
        Blocked: Something in it is not allowed, or that cannot be told.
    """
    if isinstance(row.file, File):
        await require_contents_allowed(context, access, AccessibleFile(row.file, facts))
        return
    kind = row.content_type_id
    plain = isinstance(kind, str) and not kind.lower().startswith(_FOLDER_TYPE)
    inside = replace(facts, list_item_id=UNKNOWN)
    if not plain and not access.allows_all_inside(inside):
        raise access.unchecked_contents(facts, inside)


async def _listed(
    context: Context, access: AccessChecker, folder: ItemKey, cursor: str | None
) -> tuple[list[File], str | None]:
    """Read a page of a folder; one that is gone meanwhile is empty."""
    query = FileQuery(order=Order(by="modified_time"), limit=_PAGE)
    wants = access.fact_loader.file_attributes
    try:
        page = await context.content.files([folder], query, cursor=cursor, wanted=wants)
    except Missing:
        return [], None
    return list(page.items), page.next


def _inside(found: AccessibleFile) -> Facts:
    """Return what is known of anything that lies in a folder."""
    above = found.facts.ancestors
    mine = (found.file.drive, found.file.item)
    return replace(
        found.facts,
        item=UNKNOWN,
        ancestors=above if above is UNKNOWN else above | {mine},
        list_item_id=UNKNOWN,
        mime_type=UNKNOWN,
        label_ids=UNKNOWN,
        content_type_id=UNKNOWN,
    )
