"""Root queries about sites, their libraries and lists."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
import strawberry

from graph import page_tokens
from graph.collab import ids
from graph.collab.failures import translate_failures
from graph.collab.file_queries import told
from graph.collab.paging import SortKey, applied_limit, clean_text, cut_page
from graph.collab.types import (
    CollabDrivePage,
    CollabList,
    CollabListPage,
    CollabSite,
    CollabSitePage,
)
from graph.collab.views import DrivePageView, ListPageView, SitePageView
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.parent_visibility import site_name
from graph.context import Context, Info
from graph.execution.requested_fields import wanted
from graph.masking.guards import guarded
from policy.vocabulary import CollabField, CollabOp, Surface
from providers.records.collab import Drive, Site, SiteList

MAX_SITES = 100  # decisions 8.8
MAX_LISTS = 200  # decisions 8.9

Argument = strawberry.argument
SiteId = Annotated[str, Argument(description="The site's id.")]
PageToken = Annotated[str | None, Argument(description="`nextPageToken` of the page before.")]
Thing = TypeVar("Thing", Site, SiteList, Drive)


@guarded(CollabOp.READ_SITES, returns=CollabSitePage, max_limit=MAX_SITES)
async def collab_sites(
    info: Info,
    *,
    q: Annotated[
        str | None, Argument(description="Part of the display name or the address, any case.")
    ] = None,
    limit: Annotated[int | None, Argument(description="1 to 100; more is lowered to 100.")] = 25,
    page_token: PageToken = None,
) -> SitePageView:
    """List the sites in sight, by display name."""
    context = info.context
    looked_for = clean_text(q, "q")
    size = applied_limit(limit, context, default=25, most=MAX_SITES)
    binding: dict[str, object] = {"q": looked_for}
    after = _after(context, "collabSites", binding, page_token)
    context.caller.usable_connections(Surface.COLLAB)
    if looked_for:
        context.caller.require_visible("The filter q", CollabField.NAME)
    found = await translate_failures(context.content.sites())
    access = AccessChecker(context.content, context.caller.rules)
    matching = [one for one in found.items if _matches(one, looked_for, context)]
    sites, following = cut_page(
        access.visible_sites(matching), _by_name(context), limit=size, after=after
    )
    return SitePageView(
        sites=sites,
        next_page_token=_sealed(context, "collabSites", binding, following),
        has_more=following is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=told(context, found.failed),
    )


@guarded(CollabOp.READ_SITES, returns=CollabSite)
async def collab_site(info: Info, site_id: SiteId) -> Site:
    """Read one site."""
    context = info.context
    key = ids.parse_site(site_id)
    context.caller.usable_connections(Surface.COLLAB)
    return await translate_failures(
        AccessChecker(context.content, context.caller.rules).read_site(key)
    )


@guarded(CollabOp.LIST_FILES, returns=CollabDrivePage, max_limit=MAX_LISTS)
async def collab_drives(
    info: Info,
    site_id: SiteId,
    *,
    limit: Annotated[int | None, Argument(description="1 to 200; more is lowered to 200.")] = 50,
    page_token: PageToken = None,
) -> DrivePageView:
    """List the document libraries of a site, by name."""
    context = info.context
    site = ids.parse_site(site_id)
    size = applied_limit(limit, context, default=50, most=MAX_LISTS)
    binding: dict[str, object] = {"site": site}
    after = _after(context, "collabDrives", binding, page_token)
    context.caller.usable_connections(Surface.COLLAB)
    access = AccessChecker(context.content, context.caller.rules)
    disclosure = access.require_listable_site(site)
    found = await translate_failures(
        access.read_inside(disclosure, lambda: context.content.drives(site))
    )
    drives, following = cut_page(
        access.listable_drives(found), _by_name(context), limit=size, after=after
    )
    return DrivePageView(
        drives=drives,
        next_page_token=_sealed(context, "collabDrives", binding, following),
        has_more=following is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
    )


@guarded(CollabOp.READ_LISTS, returns=CollabListPage, max_limit=MAX_LISTS)
async def collab_lists(
    info: Info,
    site_id: SiteId,
    *,
    include_hidden: Annotated[
        bool | None, Argument(description="True: lists too that people do not see.")
    ] = False,
    limit: Annotated[int | None, Argument(description="1 to 200; more is lowered to 200.")] = 50,
    page_token: PageToken = None,
) -> ListPageView:
    """List the lists of a site, by display name, without their columns."""
    context = info.context
    site, hidden = ids.parse_site(site_id), bool(include_hidden)
    size = applied_limit(limit, context, default=50, most=MAX_LISTS)
    binding: dict[str, object] = {"site": site, "hidden": hidden}
    after = _after(context, "collabLists", binding, page_token)
    context.caller.usable_connections(Surface.COLLAB)
    access = AccessChecker(context.content, context.caller.rules)
    disclosure = access.require_listable_site(site)
    found = await translate_failures(
        access.read_inside(disclosure, lambda: context.content.lists(site, include_hidden=hidden))
    )
    lists, following = cut_page(
        access.visible_lists(found), _by_name(context), limit=size, after=after
    )
    if lists and "site_name" in wanted(info.raw, "CollabList"):
        name = await site_name(context, access, site)
        lists = tuple(msgspec.structs.replace(one, site_name=name, columns=None) for one in lists)
    return ListPageView(
        lists=lists,
        next_page_token=_sealed(context, "collabLists", binding, following),
        has_more=following is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
    )


@guarded(CollabOp.READ_LISTS, returns=CollabList)
async def collab_list(
    info: Info,
    site_id: SiteId,
    list_id: Annotated[str, Argument(description="The list's id.")],
) -> SiteList:
    """Read one list with its columns."""
    context = info.context
    key = ids.parse_list(site_id, list_id)
    context.caller.usable_connections(Surface.COLLAB)
    access = AccessChecker(context.content, context.caller.rules)
    found = await translate_failures(access.read_list(key))
    if "site_name" in wanted(info.raw, "CollabList"):
        found = msgspec.structs.replace(found, site_name=await site_name(context, access, key.site))
    return found


def _matches(site: Site, looked_for: str | None, context: Context) -> bool:
    """Say whether *looked_for* is in the name, or in the address as far as that is visible."""
    if looked_for is None:
        return True
    caller = context.caller
    address = site.web_url
    if caller.strict and caller.hides(CollabField.WEB_VIEW_LINK):
        address = None
    part = looked_for.casefold()
    return any(part in (one or "").casefold() for one in (site.display_name, address))


class _ByName:
    """By name, then id; by id alone when names are hidden, since an order tells what it is by."""

    def __init__(self, *, named: bool) -> None:
        self._named = named

    def __call__(self, thing: Site | SiteList | Drive) -> SortKey:
        name = thing.name if isinstance(thing, Drive) else thing.display_name
        return ((name or "").casefold() if self._named else "", thing.id)


def _by_name(context: Context) -> _ByName:
    caller = context.caller
    return _ByName(named=not (caller.strict and caller.hides(CollabField.NAME)))


def _after(
    context: Context, route: str, binding: Mapping[str, object], token: str | None
) -> SortKey | None:
    if not token:
        return None
    return page_tokens.unseal(context, route, binding, token, tuple[str, str])


def _sealed(
    context: Context, route: str, binding: Mapping[str, object], rank: Sequence[str] | None
) -> str | None:
    return None if rank is None else page_tokens.seal(context, route, binding, rank)
