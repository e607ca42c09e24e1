"""Root queries about files: listing and search, one file, its download link and permissions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Annotated

import msgspec
import strawberry

from graph import page_tokens
from graph.collab import ids, types
from graph.collab.failures import auth_warnings, folder_not_downloadable, translate_failures
from graph.collab.file_filters import ORDERS, REVEALING, Filters, parse_order, require_indexed
from graph.collab.labels import add_labels
from graph.collab.paging import clean_text, fill_page
from graph.collab.visibility.access import AccessChecker, AccessibleFile
from graph.collab.visibility.parent_visibility import redact_surroundings
from graph.context import Context, Info
from graph.execution.requested_fields import projection
from graph.file_content import FileText, read_text, require_text
from graph.masking.guards import guarded
from policy.caller import Caller
from policy.refusals import Blocked, FieldNotVisible, InvalidInput
from policy.vocabulary import Code, CollabField, CollabOp, Surface
from providers.collab_ids import ROOT, ItemKey
from providers.failures import Missing
from providers.fanout import ConnectionWarning
from providers.ports.collab import Page
from providers.records.collab import Drive, File, Permission, shared_with

MAX_LIMIT = 100  # docs/spec/collab.md#file-list

Argument = strawberry.argument
Owner = Annotated[
    str | None, Argument(description="The address of an owner; not with a folder or site.")
]
SharedWith = Annotated[
    str | None,
    Argument(description="An address, or `@domain`, it is shared with; not with a folder or site."),
]
WebUrls = Annotated[
    str | None,
    Argument(description="Web addresses of files, separated by blanks; not with a folder or site."),
]
FileId = Annotated[str, Argument(description="The file's id.")]

# Attributes by which the text of a file is read.
_OF_TEXTS = frozenset({"name", "mime_type", "size"})
# Attributes that take upstream calls of their own, which a denied file must not cost.
_SEPARATE_CALLS = frozenset({"shared_with", "parent_folder_name"})


@guarded(
    CollabOp.LIST_FILES,
    CollabOp.SEARCH_FILES,
    max_limit=MAX_LIMIT,
    revealing=REVEALING,
    searching={"orderBy": tuple(ORDERS.values())},
)
@translate_failures
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
        Argument(description="The content of this folder; with `q` also of all folders below it."),
    ] = None,
    site_id: Annotated[str | None, Argument(description="Only the libraries of this site.")] = None,
    mime_type: Annotated[
        str | None, Argument(description="A MIME type; `*` stands for any text. Folders have none.")
    ] = None,
    name: Annotated[
        str | None, Argument(description="Part of the name, in any letter case.")
    ] = None,
    owner: Owner = None,
    shared_with: SharedWith = None,
    web_urls: WebUrls = None,
    modified_after: Annotated[
        datetime | None, Argument(description="Modified after this time.")
    ] = None,
    modified_before: Annotated[
        datetime | None, Argument(description="Modified before this time.")
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
        str | None, Argument(description="`nextPageToken` of the previous page.")
    ] = None,
) -> types.DriveFilePage:
    """List or search files and folders; without a folder or site, in all libraries."""
    context = info.context
    filters = Filters(
        q=clean_text(q),
        folder=ids.parse_folder(folder_id) if folder_id else None,
        site=ids.parse_site(site_id) if site_id else None,
        mime_type=clean_text(mime_type),
        name=clean_text(name),
        owner=clean_text(owner),
        shared_with=clean_text(shared_with),
        web_urls=clean_text(web_urls),
        after=modified_after,
        before=modified_before,
        order=parse_order(order_by),
    )
    filters.check_people()
    size = context.clamp_limit(limit, default=25, maximum=MAX_LIMIT)
    binding = filters.binding()
    cursor = page_tokens.unseal(context, "collabFiles", binding, page_token, str)
    access = AccessChecker.open(
        context, CollabOp.LIST_FILES, CollabOp.SEARCH_FILES, check=filters.require_unmasked_filters
    )
    access, folders, failed = await _start_folders(access, filters)
    query = filters.query(access.caller, limit=size, count_folder_sizes=access.unrestricted)
    requested = projection(info.raw, "DriveFile") - {"shared_with", "download_link"}
    fields = access.visible("DriveFile", requested)

    if folders is None:
        require_indexed(access, query.order, by_index=filters.by_index)

    async def read_page(position: str | None) -> Page[File]:
        attributes = fields | access.fact_loader.file_attributes
        if folders is None:
            return await access.content.indexed_files(query, cursor=position, projection=attributes)
        return await access.content.files(
            folders, query, cursor=position, projection=attributes, reuse_listing=position != cursor
        )

    page = await fill_page(read_page, access.check_files, limit=size, cursor=cursor)

    async def complete(account: AccessChecker, files: Sequence[File]) -> Sequence[File]:
        shown = account.visible("DriveFile", requested)
        if not shown <= fields:  # what other accounts hide
            files = await account.records.read_again(
                files, projection=shown | access.fact_loader.file_attributes
            )
        files = await redact_surroundings(account, files, shown)
        if "labels" in shown:
            files = await add_labels(account, files)
        return account.shown("DriveFile", files)

    files = await access.each(page.items, complete)
    token = page_tokens.seal(context, "collabFiles", binding, page.next)
    return types.DriveFilePage(
        files=files,
        next_page_token=token,
        has_more=token is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=auth_warnings(context, failed, page.warnings),
    )


@guarded(CollabOp.GET_FILE_METADATA)
@translate_failures
async def collab_file(info: Info, file_id: FileId) -> types.DriveFileAnswer:
    """Read one file or folder."""
    context = info.context
    key = ids.parse_file(file_id)
    access = await AccessChecker.open(context, CollabOp.GET_FILE_METADATA).holding(key)
    requested = access.visible("DriveFile", projection(info.raw, "DriveFile"))
    fields = requested - {"download_link"}
    file = (await access.read_file(key, projection=(fields - _SEPARATE_CALLS) | {"etag"})).file
    context.etag = file.etag
    file = await _complete(access, file, fields)
    (file,) = await redact_surroundings(access, [file], fields)
    if "labels" in fields:
        (file,) = await add_labels(access, [file])
    if "download_link" in requested:
        address = _download_address(context, access, file)
        file = msgspec.structs.replace(file, download_link=address)
    (file,) = access.shown("DriveFile", [file])
    return types.DriveFileAnswer(file=file, access_info=context.caller.access_info(Surface.COLLAB))


# Attribute of a link -> the attribute of the file that it shows.
_FILE_ATTRIBUTES: Mapping[str, str] = MappingProxyType(
    {
        "web_view_link": "web_view_link",
        "download_url": "download_link",
        "expires_at": "download_link",
        "file_name": "name",
        "mime_type": "mime_type",
        "size": "size",
    }
)


@guarded(CollabOp.DOWNLOAD_FILE)
@translate_failures
async def collab_file_link(info: Info, file_id: FileId) -> types.DriveFileLink:
    """
    Get a link to a file's page and a link to its bytes; the latter needs no credentials and is
    valid for an hour.
    """
    context = info.context
    key = ids.parse_file(file_id)
    access = AccessChecker.open(context, CollabOp.DOWNLOAD_FILE)
    if access.differ:
        access, key = await _at_target(access, key)
    requested = access.visible("DriveFileLink", projection(info.raw, "DriveFileLink"))
    fields = frozenset(_FILE_ATTRIBUTES[name] for name in requested if name in _FILE_ATTRIBUTES)
    attributes = fields - {"download_link"}
    accessible = await access.read_file(key, projection=attributes)
    accessible = await _follow(access, accessible, partial(access.read_file, projection=attributes))
    file, key = accessible.file, accessible.file.key
    if file.is_folder:
        raise folder_not_downloadable()
    if "download_link" not in fields:
        return access.shown("DriveFileLink", [_link(file)])[0]
    link = await access.content.link(key, projection=fields | access.fact_loader.file_attributes)
    await _require_unchanged(access, link.file)
    shown = _link(link.file, url=link.download_url, expires_at=link.expires_at)
    return access.shown("DriveFileLink", [shown])[0]


@guarded(CollabOp.DOWNLOAD_FILE, shows=(CollabField.DOWNLOAD_LINK,))
@translate_failures
async def collab_file_text(info: Info, file_id: FileId) -> FileText:
    """Read the text of a file."""
    context = info.context
    key = ids.parse_file(file_id)

    def require_text_visible(account: Caller) -> None:
        if account.hides(CollabField.DOWNLOAD_LINK):  # in every mask mode: as bytes
            raise FieldNotVisible("Reading a file", CollabField.DOWNLOAD_LINK)

    require_text_visible(context.caller)
    access = AccessChecker.open(context, CollabOp.DOWNLOAD_FILE, check=require_text_visible)
    if access.differ:
        access, key = await _at_target(access, key)
    read = partial(access.read_file, projection=_OF_TEXTS)
    file = (await _follow(access, await read(key), read)).file
    if file.is_folder:
        raise folder_not_downloadable()
    kind = require_text(file.name or "", file.mime_type)
    fields = _OF_TEXTS | {"download_link"} | access.fact_loader.file_attributes
    link, open_content = await access.content.content(file.key, projection=fields)
    await _require_unchanged(access, link.file)
    return await read_text(kind, link.file.mime_type, open_content, size=link.file.size)


async def _at_target(access: AccessChecker, key: ItemKey) -> tuple[AccessChecker, ItemKey]:
    """Return the checker of the account that holds a file, or what a shortcut leads to; its key."""
    target = await _follow(access, await access.read_file(key), access.read_file)
    return access.on(target.file.connection_id), target.file.key


async def _require_unchanged(access: AccessChecker, file: File) -> None:
    """
    Decide again on fresh facts: a file may have been moved or labelled since it was read.

    Raises:
        Blocked: The rules do not allow it any more.
    """
    (facts,) = await access.fresh().fact_loader.load_file_facts([file])
    access.require_allowed(facts)


@guarded(CollabOp.GET_FILE_METADATA)
@translate_failures
async def collab_file_permissions(info: Info, file_id: FileId) -> types.DrivePermissionList:
    """List the permissions of a file."""
    context = info.context
    key = ids.parse_file(file_id)
    access = await AccessChecker.open(context, CollabOp.GET_FILE_METADATA).holding(key)
    await access.read_file(key)
    permissions = await access.records.permissions(key)
    if access.caller.strict and access.caller.hides(CollabField.OWNERS):
        permissions = tuple(
            _anonymize(permission) if permission.role == "owner" else permission
            for permission in permissions
        )
    return types.DrivePermissionList(
        permissions=access.shown("DrivePermission", permissions),
        access_info=context.caller.access_info(Surface.COLLAB),
    )


def _download_address(context: Context, access: AccessChecker, file: File) -> str | None:
    """Return the address of the download call; None for a folder, and without the operation."""
    if file.is_folder or context.download_address is None:
        return None
    allowed = access.caller.allows(CollabOp.DOWNLOAD_FILE)
    return context.download_address(file.id) if allowed else None


async def _complete(access: AccessChecker, file: File, fields: AbstractSet[str]) -> File:
    """Add the attributes that take upstream calls of their own."""
    attributes: dict[str, object] = {}
    if "shared_with" in fields:
        permissions = await access.records.permissions(file.key)
        attributes["shared_with"] = shared_with(permissions)
    if "parent_folder_name" in fields:
        attributes["parent_folder_name"] = await access.content.parent_name(file)
    return msgspec.structs.replace(file, **attributes)


def _anonymize(permission: Permission) -> Permission:
    """Remove the grantee of a permission; the entry stays: docs/spec/masks.md#collab-endpoints."""
    return msgspec.structs.replace(permission, email_address=None, domain=None, display_name=None)


async def _start_folders(
    access: AccessChecker, filters: Filters
) -> tuple[AccessChecker, list[ItemKey] | None, Sequence[ConnectionWarning]]:
    """
    Return the folder that the filters name, else the roots of the visible libraries.

    The checker is that of the account which sees the folder or site, if accounts differ. None
    stands for the search index: of the files of a person, of those at web addresses, and where
    there are very many libraries: docs/spec/collab.md#large-tenants.
    """
    if filters.by_index:
        if filters.folder is not None or filters.site is not None:
            raise InvalidInput(
                "owner, sharedWith and webUrls cannot be combined with folderId or siteId."
            )
        return access, None, ()
    if filters.folder is not None:
        folder = await access.read_folder(filters.folder)
        if not folder.file.is_folder:
            access.require_allowed(folder.facts)
            raise InvalidInput("folderId does not name a folder.", code=Code.INVALID_ID)
        folder = await _follow(access, folder, access.read_folder)
        return access.on(folder.file.connection_id), [folder.file.key], ()
    failed: Sequence[ConnectionWarning] = ()
    drives: Sequence[Drive]
    if filters.site is not None:
        site = filters.site
        drives = await access.read_in_site(site, lambda: access.records.drives_of(site))
        access = access.on(drives[0].connection_id if drives else None)
    else:
        libraries = await access.content.few_drives()
        if libraries is None:
            return access, None, ()
        drives, failed = libraries.items, libraries.failed
    return access, [ItemKey(drive.drive, ROOT) for drive in access.listable_drives(drives)], failed


async def _follow(
    access: AccessChecker,
    item: AccessibleFile,
    read: Callable[[ItemKey], Awaitable[AccessibleFile]],
) -> AccessibleFile:
    """
    Return the target of a shortcut, which has rules of its own; another item unchanged.

    Raises:
        Blocked: The rules do not allow the shortcut.
        Missing: There is no such target, or the rules do not allow it: docs/adr/0039.
    """
    if item.file.target is None:
        return item
    access.require_allowed(item.facts)
    try:
        return await read(item.file.target)
    except Blocked:
        raise Missing from None


def _link(
    file: File, *, url: str | None = None, expires_at: datetime | None = None
) -> types.DriveFileLink:
    return types.DriveFileLink(
        web_view_link=file.web_view_link,
        download_url=url,
        file_name=file.name,
        mime_type=file.mime_type,
        size=file.size,
        expires_at=expires_at if url is not None else None,
    )
