"""
List columns that repeat other resources, which the rules may block.

A look-up column repeats a text of an item in another list, and some of upstream's own columns count
the contents of a folder or name the folders around an item. For a token with rules a look-up is
null and not fetched, unless every item of the other list may be seen; so is a path, unless every
item of its own list may be. The other item's number is the item's own value and stays:
docs/spec/rules.md#look-up-columns, docs/spec/rules.md#counts, docs/spec/rules.md#surroundings.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.column_masks import PATH_COLUMNS, column_names, masked_columns
from policy.refusals import InvalidInput
from policy.vocabulary import Code
from providers.collab_ids import ListKey
from providers.content.field_selection import hidden_keys
from providers.records.collab import Column, SiteList

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
    access: AccessChecker, key: ListKey, projection: AbstractSet[str]
) -> frozenset[str]:
    """
    Return the columns of a list whose values must not be shown, by the mask or by the rules.

    *projection* are the requested attributes of the list's items.
    """
    masked = masked_columns(access.caller)
    if access.unrestricted or "fields" not in projection:
        return masked
    columns = await access.records.columns(key)
    paths = await _hidden_paths(access, key, columns)
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
    return masked | COUNT_COLUMNS | paths | blocked


async def require_visible_paths(
    access: AccessChecker, site_list: SiteList, *queries: str | None
) -> None:
    """
    Refuse a filter or an order that reads the path of a folder, list or site that may be hidden.

    Raises:
        InvalidInput: A query uses such a column, or a column that is calculated from it.
    """
    used = column_names(*queries)
    columns = site_list.columns or ()
    paths = hidden_keys(columns, PATH_COLUMNS)
    if used.isdisjoint(paths) or access.unrestricted:
        return
    if not await _shows_paths(access, site_list.key):
        why = "A filter or an order cannot use paths in a list in which rules may hide folders."
        raise InvalidInput(why, code=Code.INVALID_FILTER)


async def _hidden_paths(
    access: AccessChecker, key: ListKey, columns: Sequence[Column]
) -> frozenset[str]:
    """Return the path columns if they may name something hidden."""
    has_paths = any(not PATH_COLUMNS.isdisjoint((c.name, c.looks_up)) for c in columns)
    if has_paths and await _shows_paths(access, key):
        return frozenset()
    return PATH_COLUMNS


async def _shows_paths(access: AccessChecker, key: ListKey) -> bool:
    """Return whether the site, the list and every folder in it may be seen."""
    return access.allows_site(key.site) and key in await access.fully_visible_lists([key])


def _is_built_in(column: Column) -> bool:
    """Return whether a look-up column is upstream's own: it reads no list, only the item itself."""
    return column.source is None and column.read_only
