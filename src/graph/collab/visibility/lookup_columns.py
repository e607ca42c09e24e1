"""
Columns of list items that tell of other things than the item: what they tell may be blocked.

A look-up repeats a text of an item in another list, and some of upstream's own columns count what
lies in a folder. To a token with rules a look-up is null unless every item of the other list may be
seen, which is settled before anything of it is fetched; the number of the other item is the item's
own value and stays. Contract, "Layer 3"; ADR 0007.
"""

from collections.abc import Set as AbstractSet

from graph.collab.visibility import column_masks
from graph.collab.visibility.access import AccessChecker
from graph.context import Context
from providers.content.ids import ListKey
from providers.records.collab import Column

# What upstream counts in a folder, hidden things among it.
COUNT_COLUMNS = frozenset(
    {
        "ItemChildCount",
        "FolderChildCount",
        "SMTotalSize",
        "SMTotalFileStreamSize",
        "SMTotalFileCount",
    }
)


async def find_hidden_columns(
    context: Context, access: AccessChecker, key: ListKey, wants: AbstractSet[str]
) -> frozenset[str]:
    """
    Return the columns of a list whose values must not be shown.

    Args:
        context: Who asks, and what is asked.
        access: What the token's rules allow.
        key: The list, something of which may be seen.
        wants: The attributes of its items that are to be shown.
    """
    hidden = column_masks.masked_columns(context.caller)
    if access.unrestricted or "fields" not in wants:
        return hidden
    lookups = [one for one in await context.content.columns(key) if one.column_type == "lookup"]
    # A list in another site is not found by this address, so it stays closed.
    looked_into = {ListKey(key.site, one.source) for one in lookups if one.source is not None}
    seen = (
        {one.list for one in await access.fully_visible_lists(looked_into)}
        if looked_into
        else set()
    )
    closed = {one.name for one in lookups if one.source not in seen and not _is_own(one)}
    return hidden | COUNT_COLUMNS | closed


def _is_own(one: Column) -> bool:
    """Whether a column is upstream's own, which looks into no list and tells of the item itself."""
    return one.source is None and one.read_only
