"""Root query `collabSearch`: full-text search over all content, reduced to the visible hits."""

from typing import Annotated

import strawberry

from graph.collab import ids
from graph.collab.failures import auth_warnings, translate_failures
from graph.collab.search_hits import find_all, find_visible
from graph.collab.search_selectors import require_unmasked_selectors
from graph.collab.types import CollabSearchHit, CollabSearchPage
from graph.collab.visibility.access import AccessChecker
from graph.context import Info
from graph.masking.guards import guarded
from policy.refusals import InvalidInput
from policy.vocabulary import Code, CollabField, CollabOp, SearchTotals, Surface
from providers.ports.collab import SearchQuery
from providers.records.collab import SearchHit

# docs/spec/collab.md#search
MAX_LIMIT = 100
MAX_START = 10_000
ENTITY_TYPES = ("driveItem", "listItem", "list", "site")

Argument = strawberry.argument


@guarded(CollabOp.SEARCH_CONTENT, max_limit=MAX_LIMIT)
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
) -> CollabSearchPage:
    """Search files, list items, lists and sites; `total` may count hits that are not shown."""
    context = info.context
    site = ids.parse_site(site_id) if site_id else None
    query = SearchQuery(
        text=_text(q),
        entity_types=_entity_types(entity_types),
        start=_start(from_),
        limit=context.clamp_limit(limit, default=25, maximum=MAX_LIMIT),
        site=site,
    )
    access = AccessChecker.open(
        context,
        CollabOp.SEARCH_CONTENT,
        check=lambda each: require_unmasked_selectors(query.text, each),
    )
    only_visible = access.caller.grant.collab_search_totals is SearchTotals.VISIBLE
    find = find_visible if only_visible and not access.unrestricted else find_all
    if site is not None:
        results = await access.read_in_site(site, lambda: find(access, query))
    else:
        results = await find(access, query)
    return CollabSearchPage(
        hits=tuple(_view(hit, access.on(hit.connection_id)) for hit in results.hits),
        from_=query.start,
        total=results.total,
        more_results_available=results.more,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=auth_warnings(context, results.failed, results.warnings),
    )


def _view(hit: SearchHit, access: AccessChecker) -> CollabSearchHit:
    view = CollabSearchHit(
        entity_type=hit.entity_type,
        id=hit.id,
        title=hit.title,
        summary=hit.summary if _may_show_summary(hit, access) else None,
        web_url=hit.web_url,
        last_modified_date_time=hit.last_modified_date_time,
        target=hit,
    )
    return access.shown("CollabSearchHit", [view])[0]


def _may_show_summary(hit: SearchHit, access: AccessChecker) -> bool:
    """
    Return whether a summary may be shown: it quotes fields that the mask may hide, names included.

    The summary of a list item also quotes texts that its look-ups repeat from other lists, and
    does not tell which: docs/spec/masks.md#collab-summaries, docs/spec/rules.md#look-up-columns.
    """
    is_list_item = hit.entity_type == "listItem"
    word = CollabField.FIELD_VALUES if is_list_item else CollabField.DESCRIPTION
    if access.caller.hides(word) or access.caller.hides(CollabField.NAME):
        return False
    return access.unrestricted or not is_list_item


def _text(q: str | None) -> str:
    text = (q or "").strip()
    if not text:
        raise InvalidInput("q must not be empty.", code=Code.INVALID_QUERY)
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
