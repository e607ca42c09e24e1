"""
Hits of a search, reduced to those that the rules allow.

`find_all` counts as upstream does, hidden hits included; `find_visible` counts and pages visible
hits alone, so that its answer is the same whatever is hidden: docs/spec/collab.md#search-totals.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from graph.collab.visibility.access import AccessChecker
from policy.vocabulary import RuleType
from providers.collab_ids import ListKey
from providers.content.merged_content import MergedContent
from providers.fanout import ConnectionWarning
from providers.ports.collab import SearchQuery
from providers.records.collab import File, ListItem, SearchHit, SiteList

# docs/spec/collab.md#search-totals
MAX_READ = 1000  # hits that are looked through for visible ones
_PAGE = 500  # hits of one upstream page
_STEP = 100  # hits that are decided on at once
# Rule types that a hit itself has the facts for; for other types its resource is read.
_TYPES_IN_HITS = frozenset({RuleType.FILE_ID, RuleType.DRIVE_ID})

Key = TypeVar("Key")
Resource = TypeVar("Resource")


class FoundHits(msgspec.Struct, frozen=True, kw_only=True):
    """
    Visible hits, upstream's best first.

    Attributes:
        total: How many hits there are, as the token's setting counts them.
        more: Whether more follow.
        failed: The connections that did not answer.
        warnings: Sentences for `authWarnings`.
    """

    hits: Sequence[SearchHit]
    total: int
    more: bool
    failed: Sequence[ConnectionWarning]
    warnings: Sequence[str]


async def find_all(access: AccessChecker, query: SearchQuery) -> FoundHits:
    """Search one upstream page; *start* and *total* count hits that are not shown too."""
    results = await access.content.search(query)
    page = results.items[0]
    return FoundHits(
        hits=await _visible_hits(access, page.hits),
        total=page.total,
        more=query.start + query.limit < page.total,
        failed=results.failed,
        warnings=page.warnings,
    )


async def find_visible(access: AccessChecker, query: SearchQuery) -> FoundHits:
    """
    Search for visible hits among the first `MAX_READ`; *start* and *total* count visible ones.

    *total* counts up to the end of the page. Reading ends with the first hit behind the page.
    """
    end = query.start + query.limit
    visible: dict[object, SearchHit] = {}  # a file and its list item are one hit
    failed: dict[int, ConnectionWarning] = {}
    warnings: dict[str, None] = {}
    for start in range(0, MAX_READ, _PAGE):
        results = await access.content.search(replace(query, start=start, limit=_PAGE))
        page = results.items[0]
        failed |= {warning.connection.id: warning for warning in results.failed}
        warnings |= dict.fromkeys(page.warnings)
        for step in range(0, len(page.hits), _STEP):
            for hit in await _visible_hits(access, page.hits[step : step + _STEP]):
                visible.setdefault(hit.identity, hit)
            if len(visible) > end:
                break
        if len(visible) > end or not page.more:
            break
    hits = list(visible.values())
    return FoundHits(
        hits=hits[query.start : end],
        total=min(len(hits), end),
        more=len(hits) > end,
        failed=tuple(failed.values()),
        warnings=tuple(warnings),
    )


async def _visible_hits(access: AccessChecker, hits: Sequence[SearchHit]) -> list[SearchHit]:
    """Return the visible hits; facts that rules need are read, not taken from the search index."""
    content, needs = access.content, access.fact_loader.rules.rule_types
    files = {index: hit.file for index, hit in enumerate(hits) if hit.file is not None}
    if not needs <= _TYPES_IN_HITS:
        item_keys = {index: file.key for index, file in files.items()}
        projection = access.fact_loader.file_attributes
        items = await content.items(list(item_keys.values()), projection=projection)
        files = _resources_of_type(item_keys, items, File)
    list_items = {
        index: hit.list_item for index, hit in enumerate(hits) if hit.list_item is not None
    }
    if needs:
        list_item_keys = {index: list_item.key for index, list_item in list_items.items()}
        projection = access.fact_loader.list_item_attributes
        list_items_by_key = await content.list_items_by_id(
            list(list_item_keys.values()), projection=projection
        )
        list_items = _resources_of_type(list_item_keys, list_items_by_key, ListItem)
    lists = await _read_lists(content, hits) if RuleType.DRIVE_ID in needs else {}
    visible = dict(zip(files, await access.check_files(list(files.values())), strict=True))
    visible |= zip(
        list_items, await access.check_list_items(list(list_items.values())), strict=True
    )
    return [
        hit
        for index, hit in enumerate(hits)
        if visible.get(index, _is_visible_container(access, hit, lists))
    ]


def _resources_of_type(
    keys: Mapping[int, Key], resources: Mapping[Key, object], kind: type[Resource]
) -> dict[int, Resource]:
    """Return the resources that were read, by index of their hits; failed ones are left out."""
    return {
        index: resource
        for index, key in keys.items()
        if isinstance(resource := resources.get(key), kind)
    }


async def _read_lists(
    content: MergedContent, hits: Sequence[SearchHit]
) -> Mapping[ListKey, SiteList]:
    """Read the lists among *hits*: a hit does not tell whether a list is a library."""
    keys = [hit.list.key for hit in hits if hit.list is not None]
    lists = await content.lists_by_id(keys)
    return {key: site_list for key, site_list in lists.items() if isinstance(site_list, SiteList)}


def _is_visible_container(
    access: AccessChecker, hit: SearchHit, lists: Mapping[ListKey, SiteList]
) -> bool:
    """Return whether a hit is a visible site or list; False for files and items not read."""
    if hit.list is not None:
        return bool(access.visible_lists([lists.get(hit.list.key, hit.list)]))
    return hit.site is not None and access.allows_site(hit.site.site)
