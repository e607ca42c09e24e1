"""Root queries about files: `collabFiles`, `collabFile`, its link and its permissions."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, get_args

import msgspec
import strawberry

from graph import page_tokens
from graph.collab import ids
from graph.collab.failures import folder_not_downloadable, translate_failures
from graph.collab.labels import add_labels
from graph.collab.paging import applied_limit, clean_text, fill_page
from graph.collab.types import DriveFileAnswer, DriveFileLink, DriveFilePage, DrivePermissionList
from graph.collab.views import (
    DriveFileAnswerView,
    DriveFileLinkView,
    DriveFilePageView,
    DrivePermissionListView,
)
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.parent_visibility import redact_surroundings
from graph.context import Context, Info
from graph.execution.requested_fields import wanted
from graph.masking.guards import guarded
from graph.warnings import warnings
from policy.caller import Caller
from policy.refusals import InvalidInput
from policy.vocabulary import Code, CollabField, CollabOp, Surface
from providers.content.ids import ROOT, ItemKey
from providers.fanout import ConnectionWarning
from providers.ports.collab import FileQuery, Order, OrderBy, Page
from providers.records.collab import File, Permission

MAX_LIMIT = 100  # decisions 8.3
MAX_TYPE = 255  # characters of a MIME pattern

Argument = strawberry.argument
FileId = Annotated[str, Argument(description="The file's id.")]

# What may take calls of its own, which what is denied must not cost.
_LOOKED_UP = frozenset({"shared_with", "parent_folder_name"})

# What files may be ordered by -> the mask word it would tell.
_ORDERS: Mapping[OrderBy, CollabField] = MappingProxyType(
    {
        "name": CollabField.NAME,
        "modified_time": CollabField.MODIFIED_TIME,
        "created_time": CollabField.CREATED_TIME,
        "size": CollabField.SIZE,
    }
)
# What upstream looks into for `q` as well, beside names and content (wire report 1D).
_METADATA = (CollabField.DESCRIPTION, CollabField.OWNERS, CollabField.FIELD_VALUES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The filters as the caller gave them; an empty text is no filter (decisions 0)."""

    q: str | None
    folder: ItemKey | None
    site: str | None
    mime_type: str | None
    name: str | None
    after: datetime | None
    before: datetime | None
    order: Order | None

    def binding(self) -> dict[str, object]:
        """Return what a page token is bound to."""
        return {
            "q": self.q,
            "folder": self.folder,
            "site": self.site,
            "mimeType": self.mime_type,
            "name": self.name,
            "after": self.after and self.after.isoformat(),
            "before": self.before and self.before.isoformat(),
            "order": self.order and [self.order.by, self.order.descending],
        }

    def require_unmasked_filters(self, caller: Caller) -> None:
        """
        Refuse what would tell hidden fields.

        Raises:
            FieldNotVisible: A filter or the order looks at one.
        """
        for argument, value, word in (
            ("q", self.q, CollabField.NAME),
            ("mimeType", self.mime_type, CollabField.MIME_TYPE),
            ("name", self.name, CollabField.NAME),
            ("modifiedAfter", self.after, CollabField.MODIFIED_TIME),
            ("modifiedBefore", self.before, CollabField.MODIFIED_TIME),
        ):
            if value:
                caller.require_visible(f"The filter {argument}", word)
        if self.order is not None:
            caller.require_visible(f"Ordering by {self.order.by}", _ORDERS[self.order.by])

    def query(self, caller: Caller, *, limit: int, count_folder_sizes: bool) -> FileQuery:
        """Build the query; without an order it is the newest first, of what is visible."""
        order = self.order or _usual_order(caller)
        return FileQuery(
            text=self.q,
            names_only=bool(self.q) and caller.strict and any(map(caller.hides, _METADATA)),
            mime_type=self.mime_type,
            name=self.name,
            modified_after=self.after,
            modified_before=self.before,
            order=replace(order, count_folder_sizes=count_folder_sizes),
            limit=limit,
        )


@guarded(CollabOp.LIST_FILES, CollabOp.SEARCH_FILES, returns=DriveFilePage, max_limit=MAX_LIMIT)
async def collab_files(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    *,
    q: Annotated[
        str | None,
        Argument(
            description=(
                "Words to look for, in names and in content; in names alone where `description`, "
                "`owners` or `field_values` are hidden."
            )
        ),
    ] = None,
    folder_id: Annotated[
        str | None,
        Argument(description="A folder: what lies in it, or with `q` anywhere below it."),
    ] = None,
    site_id: Annotated[str | None, Argument(description="A site: its libraries alone.")] = None,
    mime_type: Annotated[
        str | None, Argument(description="A MIME type, with `*` anywhere; folders never fit.")
    ] = None,
    name: Annotated[str | None, Argument(description="Part of the name, any case.")] = None,
    modified_after: Annotated[
        datetime | None, Argument(description="Changed later than this.")
    ] = None,
    modified_before: Annotated[
        datetime | None, Argument(description="Changed earlier than this.")
    ] = None,
    order_by: Annotated[
        str | None,
        Argument(
            description=(
                "`name`, `modified_time`, `created_time` or `size`, with ` asc` or ` desc` "
                "behind it; newest first if absent."
            )
        ),
    ] = None,
    limit: Annotated[int | None, Argument(description="1 to 100; more is lowered to 100.")] = 25,
    page_token: Annotated[
        str | None, Argument(description="`nextPageToken` of the page before.")
    ] = None,
) -> DriveFilePageView:
    """List files and folders, or search for them; of all libraries without a folder or site."""
    context = info.context
    filters = Filters(
        q=clean_text(q, "q"),
        folder=ids.parse_folder(folder_id) if folder_id else None,
        site=ids.parse_site(site_id) if site_id else None,
        mime_type=clean_text(mime_type, "mimeType", most=MAX_TYPE),
        name=clean_text(name, "name"),
        after=modified_after,
        before=modified_before,
        order=order(order_by),
    )
    size = applied_limit(limit, context, default=25, most=MAX_LIMIT)
    cursor = None
    if page_token:
        cursor = page_tokens.unseal(context, "collabFiles", filters.binding(), page_token, str)
    context.caller.usable_connections(Surface.COLLAB)
    filters.require_unmasked_filters(context.caller)
    access = AccessChecker(context.content, context.caller.rules)
    places, failed = await translate_failures(_places(context, access, filters))
    query = filters.query(context.caller, limit=size, count_folder_sizes=access.unrestricted)
    fields = wanted(info.raw, "DriveFile") - {"shared_with", "download_link"}

    async def turn(at: str | None) -> Page[File]:
        return await context.content.files(
            places,
            query,
            cursor=at,
            wanted=fields | access.fact_loader.file_attributes,
            going_on=at != cursor,
        )

    page = await translate_failures(fill_page(turn, access.check_files, limit=size, cursor=cursor))
    files = await translate_failures(redact_surroundings(access, page.items, fields))
    if "labels" in fields:
        files = await translate_failures(add_labels(context, access.fact_loader, files))
    token = None
    if page.next is not None:
        token = page_tokens.seal(context, "collabFiles", filters.binding(), page.next)
    return DriveFilePageView(
        files=files,
        next_page_token=token,
        has_more=token is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=told(context, failed, page.warnings),
    )


@guarded(CollabOp.GET_FILE_METADATA, returns=DriveFileAnswer)
async def collab_file(info: Info, file_id: FileId) -> DriveFileAnswerView:
    """Read one file or folder."""
    context = info.context
    key = ids.parse_file(file_id)
    context.caller.usable_connections(Surface.COLLAB)
    access = AccessChecker(context.content, context.caller.rules)
    fields = wanted(info.raw, "DriveFile") - {"download_link"}
    found = (
        await translate_failures(access.read_file(key, wanted=(fields - _LOOKED_UP) | {"etag"}))
    ).file
    context.etag = found.etag
    found = await translate_failures(_completed(context, found, fields))
    (found,) = await translate_failures(redact_surroundings(access, [found], fields))
    if "labels" in fields:
        (found,) = await translate_failures(add_labels(context, access.fact_loader, [found]))
    return DriveFileAnswerView(file=found, access_info=context.caller.access_info(Surface.COLLAB))


# Attribute of a link -> the attribute of the file that it shows.
_OF_LINK: Mapping[str, str] = MappingProxyType(
    {
        "web_view_link": "web_view_link",
        "download_url": "download_link",
        "expires_at": "download_link",
        "file_name": "name",
        "mime_type": "mime_type",
        "size": "size",
    }
)


@guarded(CollabOp.DOWNLOAD_FILE, returns=DriveFileLink)
async def collab_file_link(info: Info, file_id: FileId) -> DriveFileLinkView:
    """Get addresses of a file's page and of its bytes; these need no credentials for an hour."""
    context = info.context
    key = ids.parse_file(file_id)
    context.caller.usable_connections(Surface.COLLAB)
    access = AccessChecker(context.content, context.caller.rules)
    fields = frozenset(
        _OF_LINK[one] for one in wanted(info.raw, "DriveFileLink") if one in _OF_LINK
    )
    found = (
        await translate_failures(access.read_file(key, wanted=fields - {"download_link"}))
    ).file
    if found.is_folder:
        raise folder_not_downloadable()
    if "download_link" not in fields:
        return _link(found)
    link = await translate_failures(
        context.content.link(key, wanted=fields | access.fact_loader.file_attributes)
    )
    # It may have been moved or labelled since: what is handed out is decided on as it is.
    (facts,) = await AccessChecker(
        context.content, context.caller.rules
    ).fact_loader.load_file_facts([link.file])
    access.require_allowed(facts)
    return _link(link.file, url=link.download_url, until=link.expires_at)


@guarded(CollabOp.GET_FILE_METADATA, returns=DrivePermissionList)
async def collab_file_permissions(info: Info, file_id: FileId) -> DrivePermissionListView:
    """Say who may do what with a file."""
    context = info.context
    key = ids.parse_file(file_id)
    context.caller.usable_connections(Surface.COLLAB)
    await translate_failures(AccessChecker(context.content, context.caller.rules).read_file(key))
    given = await translate_failures(context.content.permissions(key))
    if context.caller.hides(CollabField.OWNERS):
        given = tuple(_unnamed(one) if one.role == "owner" else one for one in given)
    return DrivePermissionListView(
        permissions=given,
        access_info=context.caller.access_info(Surface.COLLAB),
    )


async def _completed(context: Context, file: File, fields: AbstractSet[str]) -> File:
    """Fill in what of a file is looked up."""
    found: dict[str, object] = {}
    if "shared_with" in fields:
        found["shared_with"] = await context.content.shared_with(file.key)
    if "parent_folder_name" in fields:
        found["parent_folder_name"] = await context.content.parent_name(file)
    return msgspec.structs.replace(file, **found)


def _unnamed(one: Permission) -> Permission:
    """Leave out whom a permission is for; the entry stays (decisions 8.2)."""
    return msgspec.structs.replace(one, email_address=None, domain=None, display_name=None)


def order(given: str | None) -> Order | None:
    """
    Read an order; descending for times and sizes unless it says otherwise.

    Raises:
        InvalidInput: It names nothing to order by.
    """
    words = (given or "").split()
    if not words:
        return None
    ways = {"asc": False, "desc": True}
    by = next((one for one in get_args(OrderBy) if one == words[0] and one in _ORDERS), None)
    if by is None or len(words) > 2 or (len(words) == 2 and words[1].lower() not in ways):
        names = ", ".join(_ORDERS)
        raise InvalidInput(f"orderBy must be one of {names}, then asc or desc.")
    descending = ways[words[1].lower()] if len(words) == 2 else by != "name"
    return Order(by=by, descending=descending)


def told(
    context: Context, failed: Sequence[ConnectionWarning], sentences: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Put together what is missing from an answer; None when nothing is."""
    missing = warnings(context, Surface.COLLAB, failed) or ()
    return tuple(dict.fromkeys((*missing, *sentences))) or None


def _usual_order(caller: Caller) -> Order:
    """Return the newest first, or by what is visible: an order tells what it is by."""
    for usual in (Order(by="modified_time"), Order(by="name", descending=False)):
        if not (caller.strict and caller.hides(_ORDERS[usual.by])):
            return usual
    return Order(by="id", descending=False)


async def _places(
    context: Context, access: AccessChecker, filters: Filters
) -> tuple[list[ItemKey], Sequence[ConnectionWarning]]:
    """Return the folders to look in: the one named, else the tops of the visible libraries."""
    if filters.folder is not None:
        reached = await access.read_folder(filters.folder)
        found = reached.file
        if not found.is_folder:
            access.require_allowed(reached.facts)
            raise InvalidInput("folderId does not name a folder.", code=Code.INVALID_ID)
        return [found.key], ()
    if filters.site is not None:
        site = filters.site
        drives = await access.read_inside(
            access.require_listable_site(site), lambda: context.content.drives(site)
        )
        return [ItemKey(one.drive, ROOT) for one in access.listable_drives(drives)], ()
    libraries = await context.content.all_drives()
    return [
        ItemKey(one.drive, ROOT) for one in access.listable_drives(libraries.items)
    ], libraries.failed


def _link(
    file: File, *, url: str | None = None, until: datetime | None = None
) -> DriveFileLinkView:
    return DriveFileLinkView(
        web_view_link=file.web_view_link,
        download_url=url,
        file_name=file.name,
        mime_type=file.mime_type,
        size=file.size,
        expires_at=until if url is not None else None,
    )
