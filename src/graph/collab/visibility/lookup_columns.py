"""
List columns that repeat other resources, which the rules may block.

A look-up column repeats a text of an item in another list, and some of upstream's own columns count
the contents of a folder. For a token with rules a look-up is null and not fetched, unless every
item of the other list may be seen. The other item's number is the item's own value and stays:
docs/spec/rules.md#look-up-columns, docs/spec/rules.md#counts.
"""

from collections.abc import Set as AbstractSet

from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.column_masks import masked_columns
from policy.caller import Caller
from providers.collab_ids import ListKey
from providers.records.collab import Column

# Upstream counts everything in a folder in these, hidden resources included.
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
    caller: Caller, access: AccessChecker, key: ListKey, wanted: AbstractSet[str]
) -> frozenset[str]:
    """
    Return the columns of a list whose values must not be shown, by the mask or by the rules.

    *wanted* are the requested attributes of the list's items.
    """
    masked = masked_columns(caller)
    if access.unrestricted or "fields" not in wanted:
        return masked
    columns = await access.content.columns(key)
    lookups = [column for column in columns if column.column_type == "lookup"]
    # A list in another site is not found by this key, so its look-ups are hidden.
    sources = {ListKey(key.site, column.source) for column in lookups if column.source is not None}
    visible_lists = await access.fully_visible_lists(sources) if sources else ()
    visible = {source.list for source in visible_lists}
    blocked = {
        column.name
        for column in lookups
        if column.source not in visible and not _is_built_in(column)
    }
    return masked | COUNT_COLUMNS | blocked


def _is_built_in(column: Column) -> bool:
    """Say whether a look-up column is upstream's own: it reads no list, only the item itself."""
    return column.source is None and column.read_only
