"""Root queries about sites, their libraries and lists."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, NamedTuple

import msgspec
import strawberry
from msgspec.structs import replace

from graph import page_tokens
from graph.collab import ids
from graph.collab.failures import auth_warnings, translate_failures
from graph.collab.paging import SortKey, clean_text, cut_page, fill_page
from graph.collab.site_types import CollabDrivePage, CollabListPage, CollabSitePage
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.parent_visibility import site_name
from graph.context import Context, Info
from graph.execution.requested_fields import projection
from graph.masking.guards import guarded
from policy.caller import Caller
from policy.vocabulary import CollabField, CollabOp, Surface
from providers.ports.collab import InvalidCursor, Page
from providers.records.collab import Drive, Site, SiteList
from providers.turns import filtered

MAX_SITES = 100  # docs/spec/collab.md#sites
MAX_LISTS = 200  # docs/spec/collab.md#lists

Argument = strawberry.argument
SiteId = Annotated[str, Argument(description="The site's id.")]
PageToken = Annotated[str | None, Argument(description="`nextPageToken` of the previous page.")]


_UNSORTED = (
    "There are too many sites to sort: they come in the provider's order, which may repeat some"
    " and leave some out."
)


class SitePosition(NamedTuple):
    """Position in the list of sites: a sort key, or in a large tenant the provider's cursor."""

    key: tuple[str, str] | None = None
    cursor: str | None = None


_REVEALING: Mapping[str, tuple[CollabField, ...]] = MappingProxyType({"q": (CollabField.NAME,)})


@guarded(CollabOp.READ_SITES, max_limit=MAX_SITES, revealing=_REVEALING)
@translate_failures
async def collab_sites(
    info: Info,
    *,
    q: Annotated[
        str | None,
        Argument(description="Part of the display name or the address, in any letter case."),
    ] = None,
    limit: Annotated[int | None, Argument(description="1 to 100; more is lowered to 100.")] = 25,
    page_token: PageToken = None,
) -> CollabSitePage:
    """List the sites that the token can see, by display name."""
    context = info.context
    search_text = clean_text(q)
    size = context.clamp_limit(limit, default=25, maximum=MAX_SITES)
    binding: dict[str, object] = {"q": search_text}
    after = page_tokens.unseal(context, "collabSites", binding, page_token, SitePosition)

    def check(account: Caller) -> None:
        if search_text:
            account.require_visible("The filter 'q'", *_REVEALING["q"])

    access = AccessChecker.open(context, CollabOp.READ_SITES, check=check)
    all_sites = None
    if after is None or after.cursor is None:
        all_sites = await access.content.few_sites()
        if all_sites is None and not access.content.has_index:
            all_sites = await access.content.sites()
    if all_sites is None:
        if after is not None and after.cursor is None:
            raise InvalidCursor  # of a listing that was sorted
        return await _unsorted_page(
            context, access, search_text, after and after.cursor, limit=size
        )
    matching = await filtered(all_sites.items, _site_filter(search_text, access))
    sites, next_key = cut_page(
        access.visible_sites(matching),
        _sort_key(access.caller),
        limit=size,
        after=after and after.key,
    )
    following = None if next_key is None else SitePosition(key=next_key)
    return CollabSitePage(
        sites=await access.each(sites, _shown_sites),
        next_page_token=page_tokens.seal(context, "collabSites", binding, following),
        has_more=next_key is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=auth_warnings(context, all_sites.failed),
    )


async def _unsorted_page(
    context: Context,
    access: AccessChecker,
    search_text: str | None,
    cursor: str | None,
    *,
    limit: int,
) -> CollabSitePage:
    """Return a page of the sites of a large tenant, in the provider's order."""
    matches = _site_filter(search_text, access)

    async def read_page(position: str | None) -> Page[Site]:
        page = await access.content.site_page(search_text, cursor=position)
        matching = [
            (site, end) for site, end in zip(page.items, page.cursors, strict=True) if matches(site)
        ]
        return replace(
            page,
            items=tuple(site for site, _ in matching),
            cursors=tuple(end for _, end in matching),
        )

    async def check_visible(sites: Sequence[Site]) -> list[bool]:
        visible = {site.site for site in access.visible_sites(sites)}
        return [site.site in visible for site in sites]

    page = await fill_page(read_page, check_visible, limit=limit, cursor=cursor)
    following = None if page.next is None else SitePosition(cursor=page.next)
    token = page_tokens.seal(context, "collabSites", {"q": search_text}, following)
    return CollabSitePage(
        sites=access.shown("CollabSite", {site.site: site for site in page.items}.values()),
        next_page_token=token,
        has_more=token is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=auth_warnings(context, (), (*page.warnings, _UNSORTED)),
    )


@guarded(CollabOp.READ_SITES)
@translate_failures
async def collab_site(info: Info, site_id: SiteId) -> Site:
    """Read one site."""
    context = info.context
    site = ids.parse_site(site_id)
    access = AccessChecker.open(context, CollabOp.READ_SITES)
    record = await access.read_site(site)
    return access.on(record.connection_id).shown("CollabSite", [record])[0]


async def _shown_sites(account: AccessChecker, sites: Sequence[Site]) -> Sequence[Site]:
    return account.shown("CollabSite", sites)


@guarded(CollabOp.LIST_FILES, max_limit=MAX_LISTS)
@translate_failures
async def collab_drives(
    info: Info,
    site_id: SiteId,
    *,
    limit: Annotated[int | None, Argument(description="1 to 200; more is lowered to 200.")] = 50,
    page_token: PageToken = None,
) -> CollabDrivePage:
    """List the document libraries of a site, by name."""
    context = info.context
    site = ids.parse_site(site_id)
    size = context.clamp_limit(limit, default=50, maximum=MAX_LISTS)
    binding: dict[str, object] = {"site": site}
    after = page_tokens.unseal(context, "collabDrives", binding, page_token, tuple[str, str])
    access = AccessChecker.open(context, CollabOp.LIST_FILES)
    records = access.records
    all_drives = await access.read_in_site(site, lambda: records.drives_of(site))
    access = access.on(all_drives[0].connection_id if all_drives else None)
    drives, next_key = cut_page(
        access.listable_drives(all_drives), _sort_key(access.caller), limit=size, after=after
    )
    return CollabDrivePage(
        drives=access.shown("CollabDrive", drives),
        next_page_token=page_tokens.seal(context, "collabDrives", binding, next_key),
        has_more=next_key is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
    )


@guarded(CollabOp.LIST_FILES)
@translate_failures
async def collab_drive(
    info: Info, drive_id: Annotated[str, Argument(description="The library's id.")]
) -> Drive:
    """Read one document library."""
    access = AccessChecker.open(info.context, CollabOp.LIST_FILES)
    drive = await access.read_drive(ids.parse_drive(drive_id))
    return access.on(drive.connection_id).shown("CollabDrive", [drive])[0]


@guarded(CollabOp.READ_LISTS, max_limit=MAX_LISTS)
@translate_failures
async def collab_lists(
    info: Info,
    site_id: SiteId,
    *,
    include_hidden: Annotated[
        bool | None, Argument(description="True: include hidden lists.")
    ] = False,
    limit: Annotated[int | None, Argument(description="1 to 200; more is lowered to 200.")] = 50,
    page_token: PageToken = None,
) -> CollabListPage:
    """List the lists of a site, by display name, without their columns."""
    context = info.context
    site, hidden = ids.parse_site(site_id), bool(include_hidden)
    size = context.clamp_limit(limit, default=50, maximum=MAX_LISTS)
    binding: dict[str, object] = {"site": site, "hidden": hidden}
    after = page_tokens.unseal(context, "collabLists", binding, page_token, tuple[str, str])
    access = AccessChecker.open(context, CollabOp.READ_LISTS)
    records = access.records
    all_lists = await access.read_in_site(
        site, lambda: records.lists_of(site, include_hidden=hidden)
    )
    access = access.on(all_lists[0].connection_id if all_lists else None)
    lists, next_key = cut_page(
        access.visible_lists(all_lists), _sort_key(access.caller), limit=size, after=after
    )
    fields = access.visible("CollabList", projection(info.raw, "CollabList"))
    if lists and "site_name" in fields:
        name = await site_name(access, site)
        lists = tuple(
            msgspec.structs.replace(site_list, site_name=name, columns=None) for site_list in lists
        )
    return CollabListPage(
        lists=access.shown("CollabList", lists),
        next_page_token=page_tokens.seal(context, "collabLists", binding, next_key),
        has_more=next_key is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
    )


@guarded(CollabOp.READ_LISTS)
@translate_failures
async def collab_list(
    info: Info, site_id: SiteId, list_id: Annotated[str, Argument(description="The list's id.")]
) -> SiteList:
    """Read one list with its columns."""
    context = info.context
    key = ids.parse_list(site_id, list_id)
    access = AccessChecker.open(context, CollabOp.READ_LISTS)
    site_list = await access.read_list(key)
    access = access.on(site_list.connection_id)
    if "site_name" in access.visible("CollabList", projection(info.raw, "CollabList")):
        name = await site_name(access, key.site)
        site_list = msgspec.structs.replace(site_list, site_name=name)
    return access.shown("CollabList", [site_list])[0]


def _site_filter(search_text: str | None, access: AccessChecker) -> Callable[[Site], bool]:
    """Return whether *search_text* is in a site's name, or its address unless that is masked."""
    needle = (search_text or "").casefold()

    def matches(site: Site) -> bool:
        caller = access.on(site.connection_id).caller
        is_address_hidden = caller.strict and caller.hides(CollabField.WEB_VIEW_LINK)
        texts = (site.display_name, None if is_address_hidden else site.web_url)
        return any(needle in (text or "").casefold() for text in texts)

    return matches


def _sort_key(caller: Caller) -> Callable[[Site | SiteList | Drive], SortKey]:
    """Return the key that sorts by name, then id; by id alone where an order would reveal names."""
    if caller.strict and caller.hides(CollabField.NAME):
        return lambda entry: ("", entry.id)

    def by_name(entry: Site | SiteList | Drive) -> SortKey:
        name = entry.name if isinstance(entry, Drive) else entry.display_name
        return ((name or "").casefold(), entry.id)

    return by_name
