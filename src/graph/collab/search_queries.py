"""Root query `collabSearch`: full-text search over all content, reduced to the visible hits."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

import strawberry

from graph.collab import ids
from graph.collab.failures import auth_warnings, translate_failures
from graph.collab.types import CollabSearchPage
from graph.collab.views import CollabSearchHitView, CollabSearchPageView
from graph.collab.visibility.access import AccessChecker, open_access
from graph.context import Info
from graph.masking.guards import guarded
from policy.caller import Caller
from policy.refusals import InvalidInput
from policy.vocabulary import Code, CollabField, CollabOp, RuleType, Surface
from providers.collab_ids import ListKey
from providers.content.merged_content import MergedContent
from providers.ports.collab import SearchQuery
from providers.records.collab import File, Row, SearchHit, SiteList

# docs/spec/collab.md#search
MAX_LIMIT = 100
MAX_START = 10_000
MAX_TEXT = 1000  # characters
ENTITY_TYPES = ("driveItem", "listItem", "list", "site")

Argument = strawberry.argument

# Mask word -> the selectors that read its fields.
_SELECTORS_OF_WORD = {
    CollabField.NAME: ("title", "filename", "name"),
    CollabField.MIME_TYPE: ("filetype", "fileextension"),
    CollabField.OWNERS: (
        "author",
        "createdby",
        "modifiedby",
        "editor",
        "authorowsuser",
        "editorowsuser",
        "lastmodifiedby",
    ),
    CollabField.WEB_VIEW_LINK: (
        "path",
        "url",
        "originalpath",
        "serverredirectedurl",
        "spsiteurl",
        "spweburl",
        "site",
    ),
    CollabField.CONTENT_TYPE: ("contenttype", "contenttypeid", "spcontenttype"),
    CollabField.MODIFIED_TIME: (
        "lastmodifiedtime",
        "write",
        "modifiedowsdate",
        "lastmodifiedtimeforretention",
    ),
    CollabField.CREATED_TIME: ("created", "createdowsdate"),
    CollabField.SIZE: ("size",),
    CollabField.DESCRIPTION: ("description",),
    CollabField.SHARED_WITH: ("sharedwithusersowsuser", "sharedwithdetails"),
    CollabField.SENSITIVITY_LABEL: ("informationprotectionlabelid", "sensitivitylabel"),
    CollabField.SITE_NAME: ("sitename", "sitetitle"),
    CollabField.PARENT_FOLDER: ("parentlink",),
}
_WORD_OF_SELECTOR = {name: word for word, names in _SELECTORS_OF_WORD.items() for name in names}
_SELECTOR = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*(?::(?!//)|>=|<=|<>|=|>|<)")
_QUOTED = re.compile(r'"[^"]*"')
# Rule types that a hit itself has the facts for; for other types its resource is read.
_TYPES_IN_HITS = frozenset({RuleType.FILE_ID, RuleType.DRIVE_ID})


@guarded(CollabOp.SEARCH_CONTENT, returns=CollabSearchPage, max_limit=MAX_LIMIT)
@translate_failures
async def collab_search(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    *,
    q: Annotated[
        str | None,
        Argument(
            description=(
                'Words, "phrases", `OR`, `NOT`, `field:value`, trailing `*`. Required. Free text '
                "looks into everything, also where fields are hidden."
            )
        ),
    ] = None,
    entity_types: Annotated[
        str | None,
        Argument(
            description="Comma-separated: `driveItem`, `listItem`, `list`, `site`; all if absent."
        ),
    ] = None,
    site_id: Annotated[str | None, Argument(description="A site to search in.")] = None,
    from_: Annotated[
        int | None, Argument(name="from", description="The index of the first hit, 0 to 10000.")
    ] = 0,
    limit: Annotated[int | None, Argument(description="1 to 100; more is lowered to 100.")] = 25,
) -> CollabSearchPageView:
    """Search files, list items, lists and sites; `total` counts hits that are not shown too."""
    context = info.context
    site = ids.parse_site(site_id) if site_id else None
    query = SearchQuery(
        text=_text(q),
        entity_types=_entity_types(entity_types),
        start=_start(from_),
        limit=context.clamp_limit(limit, default=25, maximum=MAX_LIMIT),
        site=site,
    )
    access = open_access(context)
    _require_unmasked_selectors(query.text, context.caller)
    if site is not None:
        results = await access.read_in_site(site, lambda: context.content.search(query))
    else:
        results = await context.content.search(query)
    page = results.items[0]
    hits = await _visible_hits(access, page.hits)
    return CollabSearchPageView(
        hits=tuple(_view(hit, context.caller, access) for hit in hits),
        from_=query.start,
        total=page.total,
        more_results_available=query.start + query.limit < page.total,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=auth_warnings(context, results.failed, page.warnings),
    )


async def _visible_hits(access: AccessChecker, hits: Sequence[SearchHit]) -> list[SearchHit]:
    """Return the visible hits; facts that rules need are read, not taken from the search index."""
    content, needs = access.content, access.fact_loader.rules.rule_types
    files = {index: hit.file for index, hit in enumerate(hits) if hit.file is not None}
    if not needs <= _TYPES_IN_HITS:
        item_keys = {index: file.key for index, file in files.items()}
        wanted = access.fact_loader.file_attributes
        items = await content.items(list(item_keys.values()), wanted=wanted)
        files = {
            index: item
            for index, key in item_keys.items()
            if isinstance(item := items.get(key), File)
        }
    rows = {index: hit.row for index, hit in enumerate(hits) if hit.row is not None}
    if needs:
        row_keys = {index: row.key for index, row in rows.items()}
        wanted = access.fact_loader.row_attributes
        rows_by_key = await content.rows_by_id(list(row_keys.values()), wanted=wanted)
        rows = {
            index: row
            for index, key in row_keys.items()
            if isinstance(row := rows_by_key.get(key), Row)
        }
    lists = await _read_lists(content, hits) if RuleType.DRIVE_ID in needs else {}
    visible = dict(zip(files, await access.check_files(list(files.values())), strict=True))
    visible |= zip(rows, await access.check_rows(list(rows.values())), strict=True)
    return [
        hit
        for index, hit in enumerate(hits)
        if visible.get(index, _is_visible_container(access, hit, lists))
    ]


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
    """Say whether a hit is a visible site or list; False for a file or row that was not read."""
    if hit.list is not None:
        return bool(access.visible_lists([lists.get(hit.list.key, hit.list)]))
    return hit.site is not None and access.allows_site(hit.site.site)


def _view(hit: SearchHit, caller: Caller, access: AccessChecker) -> CollabSearchHitView:
    return CollabSearchHitView(
        entity_type=hit.entity_type,
        id=hit.id,
        title=hit.title,
        summary=hit.summary if _may_show_summary(hit, caller, access) else None,
        web_url=hit.web_url,
        last_modified_date_time=hit.last_modified_date_time,
    )


def _may_show_summary(hit: SearchHit, caller: Caller, access: AccessChecker) -> bool:
    """
    Say whether a summary may be shown: it quotes fields that the mask may hide, names included.

    The summary of a list item also quotes texts that its look-ups repeat from other lists, and
    does not tell which: docs/spec/masks.md#collab-summaries, docs/spec/rules.md#look-up-columns.
    """
    is_row = hit.entity_type == "listItem"
    word = CollabField.FIELD_VALUES if is_row else CollabField.DESCRIPTION
    if caller.hides(word) or caller.hides(CollabField.NAME):
        return False
    return access.unrestricted or not is_row


def _text(q: str | None) -> str:
    text = (q or "").strip()
    if not text:
        raise InvalidInput("q must not be empty.", code=Code.INVALID_QUERY)
    if len(text) > MAX_TEXT:
        raise InvalidInput(f"q may have at most {MAX_TEXT} characters.", code=Code.INVALID_QUERY)
    if text.count('"') % 2:
        raise InvalidInput("q has a quote that is not closed.", code=Code.INVALID_QUERY)
    return text


def _entity_types(names: str | None) -> frozenset[str]:
    types = [name.strip() for name in (names or "").split(",") if name.strip()]
    if any(name not in ENTITY_TYPES for name in types):
        raise InvalidInput(f"entityTypes must be among {', '.join(ENTITY_TYPES)}.")
    return frozenset(types or ENTITY_TYPES)


def _start(from_: int | None) -> int:
    if (from_ or 0) < 0:
        raise InvalidInput("from must be at least 0.")
    return min(from_ or 0, MAX_START)


def _require_unmasked_selectors(text: str, caller: Caller) -> None:
    """Raise FieldNotVisible if a selector reads a masked field; an unknown one reads a column."""
    for match in _SELECTOR.finditer(_QUOTED.sub('""', text)):
        name = match[1].lower()
        word = _WORD_OF_SELECTOR.get(name, CollabField.FIELD_VALUES)
        caller.require_visible(f"The selector {name}", word)
