"""
Rows of files and list items: what the content connections list together, compared with what the
token saw of it.

The connections are one listing, since an object that several see is listed once. So it is told when
all of them answered; when other ones answer than before, it begins anew.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import msgspec

from graph.changes.following import STATUS_CODES, Call, Outcome, visible
from graph.changes.listings import ListingFeed
from graph.collab.item_queries import complete_list_items, connector_attributes
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.lookup_columns import find_hidden_columns
from graph.collab.visibility.parent_visibility import redact_surroundings
from graph.masking import masks
from policy.refusals import Blocked, NotFound
from policy.vocabulary import CollabOp, Surface
from providers import fanout
from providers.content.routing import CONNECTION_KIND
from providers.failures import Missing, ProviderFailure, TooMuch, unwrap
from providers.fanout import AllFailed, ConnectionWarning
from providers.ports.collab import ListItemQuery
from providers.records.base import Read, of_connection
from providers.records.collab import Drive, File, ListItem, SiteList
from providers.turns import in_turns

LIST_OPERATIONS = (CollabOp.READ_LIST_ITEM, CollabOp.READ_LISTS, CollabOp.READ_SITES)
# Of the type `CollabListItem`, in its order; without its id, its connection, its edges, and what
# other objects are called.
LIST_ITEM_ATTRIBUTES = (
    *("name", "web_url", "content_type", "created_date_time"),
    *("last_modified_date_time", "fields", "created_by", "last_modified_by"),
)
MAX_LISTS, MAX_LIST_ITEMS = 100, 5_000  # of all connections; docs/spec/changes.md#limits
SECONDS = 60.0  # that reading them may take
_PAGE = 200
_LIBRARY = "documentLibrary"

FILE_OPERATIONS = (CollabOp.LIST_FILES,)
# Of the type `DriveFile`, in its order; without its id, its connection, its edges, what other
# objects are called, and what takes calls of its own.
FILE_ATTRIBUTES = (
    *("name", "mime_type", "size", "created_time", "modified_time", "owners"),
    *("description", "web_view_link", "parent_folder_id", "is_folder"),
)
MAX_FILES = 10_000  # of all connections


class _Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Records that the token sees; the other attributes are arguments of `ListingFeed.compare`."""

    records: Sequence[File | ListItem]
    unchanged: tuple[str, ...] = ()
    positions: Mapping[str, str] = MappingProxyType({})


_Read: TypeAlias = Callable[[AccessChecker, ListingFeed], Awaitable[_Listing]]


async def follow_files(call: Call) -> Mapping[int, Outcome]:
    """Return what the libraries of the content connections tell, by connection."""
    return await _follow(
        call, FILE_OPERATIONS, "DriveFile", FILE_ATTRIBUTES, _read_files, most=MAX_FILES
    )


async def follow_lists(call: Call) -> Mapping[int, Outcome]:
    """Return what the lists of the content connections tell, by connection."""
    return await _follow(
        call,
        LIST_OPERATIONS,
        "CollabListItem",
        LIST_ITEM_ATTRIBUTES,
        _read_lists,
        most=MAX_LIST_ITEMS,
    )


async def _follow(  # noqa: PLR0913 - what one listing is told by
    call: Call,
    operations: tuple[CollabOp, ...],
    kind: str,
    attributes: tuple[str, ...],
    read: _Read,
    *,
    most: int,
) -> Mapping[int, Outcome]:
    context, caller = call.context, call.context.caller
    usable = call.admitted(Surface.COLLAB, *operations)
    if not usable:
        return {}
    feed = ListingFeed(
        call,
        tuple(usable),
        visible(caller.grant, kind, attributes),
        most=most,
        seen_on={each: visible(own.grant, kind, attributes) for each, own in usable.items()},
        is_valid=lambda _: usable.keys() == call.known.keys(),
    )
    dead = {
        each.id: Outcome(followed=None, code=STATUS_CODES[each.status])
        for each in caller.connections
        if each.kind == Surface.COLLAB
        and each.status in STATUS_CODES
        and not caller.excludes(each)
        and all(map(caller.on(each.id).allows, operations))
    }
    access = AccessChecker.among(context, usable)
    (result,) = await fanout.gather_results([read(access, feed)], SECONDS)
    if isinstance(result, ProviderFailure):
        infos = access.content.connections
        every = [ConnectionWarning(info, result) for info in infos]
        warnings = result.warnings if isinstance(result, AllFailed) else every
        return {**dead, **feed.failed(result, warnings)}
    objects: dict[int, list[File | ListItem]] = {}
    for record in result.records:
        objects.setdefault(record.connection_id or 0, []).append(record)
    outcomes = await feed.compare(objects, unchanged=result.unchanged, positions=result.positions)
    return {**dead, **outcomes}


async def _read_files(access: AccessChecker, feed: ListingFeed) -> _Listing:
    """
    Read all libraries, but for those that are unchanged, for a token from which nothing is hidden.

    Whether a library changed would tell other tokens of what they may not see.

    Raises:
        TooMuch: There are too many libraries or files.
        AllFailed: A connection did not answer.
    """
    known = await access.content.few_drives()
    if known is None:
        raise TooMuch
    if known.failed:
        raise AllFailed(known.failed, of=CONNECTION_KIND)
    drives = access.listable_drives(known.items)
    is_open = access.unrestricted and not masks.hidden_attributes("DriveFile", access.caller.grant)

    async def read(drive: Drive) -> tuple[Sequence[File] | None, str]:
        account = access.on(drive.connection_id)
        fields = account.visible("DriveFile", frozenset(feed.seen))
        link = feed.positions.get(drive.drive, "") if is_open else ""
        if link and await account.content.is_unchanged(drive.drive, link):
            return None, link
        attributes = fields | access.fact_loader.file_attributes
        return await account.content.library(drive.drive, projection=attributes)

    async def complete(account: AccessChecker, files: Sequence[File]) -> Sequence[File]:
        fields = account.visible("DriveFile", frozenset(feed.seen))
        shown = await redact_surroundings(account, files, fields)
        return _kept(files, account.shown("DriveFile", shown))

    libraries = await fanout.gather_results([read(drive) for drive in drives])
    files: list[File] = []
    unchanged: list[str] = []
    positions: dict[str, str] = {}
    for drive, library in zip(drives, libraries, strict=True):
        if isinstance(library, Missing):
            continue
        read_files, link = unwrap(library)
        positions |= {drive.drive: link} if link and is_open else {}
        if read_files is None:
            unchanged.append(f"{drive.id}:")
        files += read_files or ()
    allowed: list[bool] = []
    async for start in in_turns(range(0, len(files), _PAGE)):
        allowed += await access.check_tree(files[start : start + _PAGE])
    visible_files = [
        file for file, may in zip(files, allowed, strict=True) if may and not file.is_root
    ]
    shown = await access.each(visible_files, complete)
    return _Listing(records=shown, unchanged=tuple(unchanged), positions=positions)


async def _read_lists(access: AccessChecker, feed: ListingFeed) -> _Listing:
    """
    Read the items of all lists that the token may see, but for those of libraries.

    Raises:
        TooMuch: There are too many sites, lists or items.
        AllFailed: A connection did not answer.
    """
    sites = await access.content.few_sites()
    if sites is None:
        raise TooMuch
    if sites.failed:
        raise AllFailed(sites.failed, of=CONNECTION_KIND)
    lists = [
        site_list
        for site in sites.items
        for site_list in await _lists_of(access, site.site)
        if site_list.template != _LIBRARY
    ]
    if len(lists) > MAX_LISTS:
        raise TooMuch
    items: list[ListItem] = []
    for site_list in lists:
        most = MAX_LIST_ITEMS - len(items)
        account = access.on(site_list.connection_id)
        items += await _items_of(account, site_list, feed.seen, most=most)
    return _Listing(records=items)


def _kept(read: Sequence[Read], shown: Sequence[Read]) -> list[Read]:
    """Return *shown*, records without what is hidden, with the connections of those *read*."""
    return [
        of_connection(record, cast("Any", origin).connection_id)
        for origin, record in zip(read, shown, strict=True)
    ]


async def _lists_of(access: AccessChecker, site: str) -> list[SiteList]:
    try:
        lists = await access.read_in_site(
            site, lambda: access.records.lists_of(site, include_hidden=False)
        )
    except (Blocked, NotFound):
        return []
    return access.visible_lists(lists)


async def _items_of(
    access: AccessChecker, site_list: SiteList, seen: tuple[str, ...], *, most: int
) -> list[ListItem]:
    """Return the items of a list as the listing shows them; none when it is gone meanwhile."""
    fields = access.visible("CollabListItem", frozenset(seen))
    items: list[ListItem] = []
    try:
        hidden = await find_hidden_columns(access, site_list.key, fields)
        query = ListItemQuery(hidden=hidden, limit=_PAGE)
        attributes = connector_attributes(fields) | access.fact_loader.list_item_attributes
        cursor = None
        while True:
            page = await access.content.list_items(
                site_list.key, query, cursor=cursor, projection=attributes
            )
            allowed = await access.check_list_items(page.items)
            visible_items = tuple(compress(page.items, allowed))
            completed = await complete_list_items(access, visible_items, fields, list_name=None)
            items += _kept(visible_items, completed)
            cursor = page.next
            if len(items) > most:
                raise TooMuch
            if cursor is None:
                return items
    except Missing:
        return []
