"""Root query `collabSearch`: everything there is, with the hits that may be seen."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

import strawberry

from graph.collab import ids
from graph.collab.failures import translate_failures
from graph.collab.file_queries import told
from graph.collab.paging import applied_limit
from graph.collab.types import CollabSearchPage
from graph.collab.views import SearchHitView, SearchPageView
from graph.collab.visibility.access import AccessChecker
from graph.context import Info
from graph.masking.guards import guarded
from policy.caller import Caller
from policy.refusals import InvalidInput
from policy.vocabulary import Code, CollabField, CollabOp, RuleType, Surface
from providers.content.ids import ListKey
from providers.content.merged_content import MergedContent
from providers.ports.collab import SearchQuery
from providers.records.collab import File, Row, SearchHit, SiteList

MAX_LIMIT = 100  # decisions 8.12
MAX_START = 10_000  # decisions 8.12
MAX_TEXT = 1000  # characters; decisions 8.12
ENTITY_TYPES = ("driveItem", "listItem", "list", "site")

Argument = strawberry.argument

# Selector -> the mask word of what it looks at.
_SELECTORS: Mapping[str, CollabField] = MappingProxyType(
    {
        "title": CollabField.NAME,
        "filename": CollabField.NAME,
        "name": CollabField.NAME,
        "filetype": CollabField.MIME_TYPE,
        "fileextension": CollabField.MIME_TYPE,
        "author": CollabField.OWNERS,
        "createdby": CollabField.OWNERS,
        "modifiedby": CollabField.OWNERS,
        "editor": CollabField.OWNERS,
        "path": CollabField.WEB_VIEW_LINK,
        "contenttype": CollabField.CONTENT_TYPE,
        "lastmodifiedtime": CollabField.MODIFIED_TIME,
        "write": CollabField.MODIFIED_TIME,
        "created": CollabField.CREATED_TIME,
        "size": CollabField.SIZE,
        "description": CollabField.DESCRIPTION,
        "createdowsdate": CollabField.CREATED_TIME,
        "modifiedowsdate": CollabField.MODIFIED_TIME,
        "lastmodifiedtimeforretention": CollabField.MODIFIED_TIME,
        "authorowsuser": CollabField.OWNERS,
        "editorowsuser": CollabField.OWNERS,
        "lastmodifiedby": CollabField.OWNERS,
        "sharedwithusersowsuser": CollabField.SHARED_WITH,
        "sharedwithdetails": CollabField.SHARED_WITH,
        "contenttypeid": CollabField.CONTENT_TYPE,
        "spcontenttype": CollabField.CONTENT_TYPE,
        "informationprotectionlabelid": CollabField.SENSITIVITY_LABEL,
        "sensitivitylabel": CollabField.SENSITIVITY_LABEL,
        "sitename": CollabField.SITE_NAME,
        "sitetitle": CollabField.SITE_NAME,
        "parentlink": CollabField.PARENT_FOLDER,
        "url": CollabField.WEB_VIEW_LINK,
        "originalpath": CollabField.WEB_VIEW_LINK,
        "serverredirectedurl": CollabField.WEB_VIEW_LINK,
        "spsiteurl": CollabField.WEB_VIEW_LINK,
        "spweburl": CollabField.WEB_VIEW_LINK,
        "site": CollabField.WEB_VIEW_LINK,
    }
)
_SELECTOR = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*(?::(?!//)|>=|<=|<>|=|>|<)")
_QUOTED = re.compile(r'"[^"]*"')
# By these alone a hit can be decided on as search tells it; for the rest it is read.
_IN_HITS = frozenset({RuleType.FILE_ID, RuleType.DRIVE_ID})


@guarded(CollabOp.SEARCH_CONTENT, returns=CollabSearchPage, max_limit=MAX_LIMIT)
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
) -> SearchPageView:
    """Search files, list items, lists and sites; `total` counts hits that are not shown too."""
    context = info.context
    site = ids.parse_site(site_id) if site_id else None
    query = SearchQuery(
        text=_text(q),
        entity_types=_entity_types(entity_types),
        start=_start(from_),
        limit=applied_limit(limit, context, default=25, most=MAX_LIMIT),
        site=site,
    )
    context.caller.usable_connections(Surface.COLLAB)
    _require_unmasked_selectors(query.text, context.caller)
    access = AccessChecker(context.content, context.caller.rules)
    if site is not None:
        disclosure = access.require_listable_site(site)
        found = await translate_failures(
            access.read_inside(disclosure, lambda: context.content.search(query))
        )
    else:
        found = await translate_failures(context.content.search(query))
    page = found.items[0]
    hits = await translate_failures(_visible(access, context.content, page.hits))
    return SearchPageView(
        hits=tuple(_view(one, context.caller, access) for one in hits),
        from_=query.start,
        total=page.total,
        more_results_available=query.start + query.limit < page.total,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=told(context, found.failed, page.warnings),
    )


async def _visible(
    access: AccessChecker, content: MergedContent, hits: Sequence[SearchHit]
) -> list[SearchHit]:
    """Keep the hits that may be seen; what rules ask about is read, not taken from an index."""
    fact_loader = access.fact_loader
    files: dict[int, File] = {}
    rows: dict[int, Row] = {}
    if fact_loader.rules.rule_types <= _IN_HITS:
        files = {at: hit.file for at, hit in enumerate(hits) if hit.file is not None}
    else:
        keys = {at: hit.file.key for at, hit in enumerate(hits) if hit.file is not None}
        read = await content.items(list(keys.values()), wanted=fact_loader.file_attributes)
        files = {at: one for at, key in keys.items() if isinstance(one := read.get(key), File)}
    numbers = {at: hit.row.key for at, hit in enumerate(hits) if hit.row is not None}
    if fact_loader.rules.rule_types:
        found = await content.rows_by_id(list(numbers.values()), wanted=fact_loader.row_attributes)
        rows = {at: row for at, key in numbers.items() if isinstance(row := found.get(key), Row)}
    else:
        rows = {at: hit.row for at, hit in enumerate(hits) if hit.row is not None}
    lists = await _lists(content, hits) if RuleType.DRIVE_ID in fact_loader.rules.rule_types else {}
    seen = dict(zip(files, await access.check_files(list(files.values())), strict=True))
    seen |= zip(rows, await access.check_rows(list(rows.values())), strict=True)
    return [hit for at, hit in enumerate(hits) if seen.get(at, _place(access, hit, lists))]


async def _lists(content: MergedContent, hits: Sequence[SearchHit]) -> Mapping[ListKey, SiteList]:
    """Read the lists among *hits*: a hit does not tell which of them are libraries."""
    keys = [hit.list.key for hit in hits if hit.list is not None]
    found = await content.lists_by_id(keys)
    return {key: one for key, one in found.items() if isinstance(one, SiteList)}


def _place(access: AccessChecker, hit: SearchHit, lists: Mapping[ListKey, SiteList]) -> bool:
    """Say whether a site or list may be seen; what could not be read is neither."""
    if hit.list is not None:
        return bool(access.visible_lists([lists.get(hit.list.key, hit.list)]))
    return hit.site is not None and access.allows_site(hit.site.site)


def _view(hit: SearchHit, caller: Caller, access: AccessChecker) -> SearchHitView:
    return SearchHitView(
        entity_type=hit.entity_type,
        id=hit.id,
        title=hit.title,
        summary=hit.summary if _may_quote(hit, caller, access) else None,
        web_url=hit.web_url,
        last_modified_date_time=hit.last_modified_date_time,
    )


def _may_quote(hit: SearchHit, caller: Caller, access: AccessChecker) -> bool:
    """
    Say whether a summary may be shown: it quotes what words of the mask govern, names too.

    That of a list item also quotes what its look-ups repeat of other lists, and does not tell
    which words those are. Source: decisions 8.2; ADR 0007.
    """
    is_row = hit.entity_type == "listItem"
    word = CollabField.FIELD_VALUES if is_row else CollabField.DESCRIPTION
    if caller.hides(word) or caller.hides(CollabField.NAME):
        return False
    return access.unrestricted or not is_row


def _text(q: str | None) -> str:
    found = (q or "").strip()
    if not found:
        raise InvalidInput("q must not be empty.", code=Code.INVALID_QUERY)
    if len(found) > MAX_TEXT:
        raise InvalidInput(f"q may have at most {MAX_TEXT} characters.", code=Code.INVALID_QUERY)
    if found.count('"') % 2:
        raise InvalidInput("q has a quote that is not closed.", code=Code.INVALID_QUERY)
    return found


def _entity_types(given: str | None) -> frozenset[str]:
    words = [one.strip() for one in (given or "").split(",") if one.strip()]
    if any(one not in ENTITY_TYPES for one in words):
        raise InvalidInput(f"entityTypes must be among {', '.join(ENTITY_TYPES)}.")
    return frozenset(words or ENTITY_TYPES)


def _start(given: int | None) -> int:
    if (given or 0) < 0:
        raise InvalidInput("from must be at least 0.")
    return min(given or 0, MAX_START)


def _require_unmasked_selectors(text: str, caller: Caller) -> None:
    """
    Refuse selectors that look at hidden fields; one that is not known looks at what has no word.

    Raises:
        FieldNotVisible: A selector would tell what is hidden.
    """
    for found in _SELECTOR.finditer(_QUOTED.sub('""', text)):
        name = found[1].lower()
        word = _SELECTORS.get(name, CollabField.FIELD_VALUES)
        caller.require_visible(f"The selector {name}", word)
