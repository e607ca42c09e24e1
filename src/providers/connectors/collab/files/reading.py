"""Reads of files and folders of one connection; docs/spec/upstream/microsoft-files.md."""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from providers.collab_ids import ROOT, ItemKey, is_part, same_item
from providers.connectors.collab import batch, mapping, response_types, selected_fields
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.connection_context import (
    V1,
    ConnectionContext,
    batched_read_failure,
    translate_refused_read,
)
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.paging import ODataPage
from providers.failures import Broken, Missing, Refused
from providers.ports.collab import ContentStream, FolderPath, InvalidCursor, NotDownloadable, Page
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown
from providers.turns import in_turns

MAX_LIBRARY = 20_000  # files and folders of a library that is read whole
_DELTA_PAGE = 999

# docs/spec/upstream/microsoft-files.md#download-address-life
DOWNLOAD_URL_LIFETIME = timedelta(seconds=3600)
# Signs that upstream refuses or misreads in a search, encoded or not; no word has them.
# docs/spec/upstream/microsoft-files.md#search-in-a-library
_SEPARATORS = str.maketrans(dict.fromkeys("/\\&'\"", " "))
_REDIRECTS = (302, 303, 307)
_LINK_ATTRIBUTES = frozenset(
    {"name", "mime_type", "size", "web_view_link", "download_link", "etag"}
    | {"site", "list_id", "list_item_id"}
)


class FileReader:
    """Reads files."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def children(
        self, folder: ItemKey, *, cursor: str | None, top: int, projection: AbstractSet[str]
    ) -> Page[records.File]:
        """
        Return a page of a folder's children, in no reliable order.

        Raises:
            Missing: There is no such folder.
            InvalidCursor: *cursor* is not of this folder.
        """
        await self._sites.admit_drive(folder.drive)
        options = [("$top", str(top)), *selected_fields.file(frozenset(projection))]
        try:
            page = await self._context.pages.page(
                (V1, *_address(folder), "children"),
                options,
                ODataPage[response_types.Item],
                cursor=cursor,
                to_record=lambda item: mapping.file(item, projection, within=folder.drive),
            )
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        return replace(page, items=await self._name_libraries(page.items, projection))

    async def library(
        self, drive: str, *, projection: AbstractSet[str]
    ) -> tuple[tuple[records.File, ...], str]:
        """
        Return everything in a library, its root folder included, and a link for `is_unchanged`.

        The paths of folders are not known. The link is "" when upstream gave none.

        Raises:
            Missing: There is no such library.
            TooMuch: It has more than `MAX_LIBRARY` files and folders.
        """
        await self._sites.admit_drive(drive)
        options = [("$top", str(_DELTA_PAGE)), *selected_fields.file(frozenset(projection))]
        try:
            items, link = await self._context.pages.read_delta(
                (V1, *_address(ItemKey(drive, ROOT)), "delta"),
                options,
                ODataPage[response_types.Item],
                limit=MAX_LIBRARY,
            )
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        last: dict[str, response_types.Item] = {item.id: item for item in items}
        files = [
            file
            async for item in in_turns(last.values())
            if item.deleted is None
            and (file := mapping.file(item, projection, within=drive)) is not None
        ]
        return tuple(files), link

    async def is_unchanged(self, drive: str, link: str) -> bool:
        """Return whether a library is surely as it was when `library` returned *link*."""
        await self._sites.admit_drive(drive)
        try:
            return await self._context.pages.is_unchanged(link)
        except (InvalidCursor, Missing, Refused):
            return False

    async def search(
        self,
        folder: ItemKey,
        text: str,
        *,
        cursor: str | None,
        top: int,
        projection: AbstractSet[str],
    ) -> Page[records.File]:
        """
        Return a page of the files below a folder that match *text*, in upstream's order.

        Their content types are UNKNOWN: upstream expands nothing in a search.

        Raises:
            Missing: There is no such folder.
            Refused: Upstream refuses the search of a folder that exists.
        """
        await self._sites.admit_drive(folder.drive)
        words = " ".join(text.translate(_SEPARATORS).split())
        if text and not words:  # an empty search would list everything
            return Page(items=(), cursors=(), next=None)
        selection = selected_fields.file(frozenset(projection) - {"content_type_id"})
        try:
            page = await self._context.pages.page(
                (V1, *_address(folder), f"search(q='{words}')"),
                [("$top", str(top)), *selection],
                ODataPage[response_types.Item],
                cursor=cursor,
                to_record=lambda item: _hit(item, projection, folder),
            )
        except Refused as refusal:
            if refusal.status == 400:  # because of the text, unless the id is not one
                await self.get(folder, projection=frozenset())
                raise
            raise translate_refused_read(refusal) from refusal
        return replace(page, items=await self._name_libraries(page.items, projection))

    async def get(self, key: ItemKey, *, projection: AbstractSet[str]) -> records.File:
        """
        Read a file or folder; ``root`` stands for a library's root folder.

        Raises:
            Missing: It does not exist, or upstream knows it under another id.
        """
        await self._sites.admit_drive(key.drive)
        item = await self._context.read(
            response_types.Item, *_address(key), params=selected_fields.file(frozenset(projection))
        )
        file = mapping.file(item, projection, within=key.drive)
        if file is None or not _has_key(file, key):
            raise Missing
        if "shared_with" in projection:
            permissions = await self.permissions(key)
            file = msgspec.structs.replace(file, shared_with=records.shared_with(permissions))
        return (await self._name_libraries((file,), projection))[0]

    async def get_by_name(
        self, folder: ItemKey, name: str, *, projection: AbstractSet[str]
    ) -> records.File:
        """
        Read the child of a folder with this name, any case.

        Raises:
            Missing: There is no such child, or no such folder.
        """
        await self._sites.admit_drive(folder.drive)
        attributes = frozenset(projection) | {"name"}
        item = await self._context.read(
            response_types.Item, *by_name(folder, name), params=selected_fields.file(attributes)
        )
        file = mapping.file(item, attributes, within=folder.drive)
        if file is None or (file.name or "").casefold() != name.casefold():
            raise Missing
        return file

    async def get_many(
        self, keys: Collection[ItemKey], *, projection: AbstractSet[str]
    ) -> Mapping[ItemKey, records.File | Unknown | None]:
        """Read files by their ids, in batches."""
        admitted = await self._sites.admitted({key.drive for key in keys})
        params = selected_fields.file(frozenset(projection))
        requests = {
            key: BatchRequest(_address(key), params)
            for key in dict.fromkeys(keys)
            if key.drive in admitted and _is_well_formed(key)
        }
        files: dict[ItemKey, records.File | Unknown | None] = dict.fromkeys(keys)
        for key, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = batched_read_failure(response)
            if failure is not None:
                files[key] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            file = mapping.file(response.decode(response_types.Item), projection, within=key.drive)
            files[key] = file if file is not None and _has_key(file, key) else None
        read = {key: file for key, file in files.items() if isinstance(file, records.File)}
        named = await self._name_libraries(tuple(read.values()), projection)
        return files | dict(zip(read, named, strict=True))

    async def get_folders(
        self, paths: Collection[FolderPath]
    ) -> Mapping[FolderPath, records.File | Unknown | None]:
        """Read folders by their paths, in batches, without any attribute."""
        admitted = await self._sites.admitted({drive for drive, _ in paths})
        requests = {
            (drive, names): BatchRequest(by_path((drive, names)), selected_fields.file(frozenset()))
            for drive, names in dict.fromkeys(paths)
            if drive in admitted and is_part(drive) and not {".", ".."} & {*names}
        }
        folders: dict[FolderPath, records.File | Unknown | None] = dict.fromkeys(paths)
        for path, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = batched_read_failure(response)
            if failure is not None:
                folders[path] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            item = response.decode(response_types.Item)
            folders[path] = mapping.file(item, frozenset(), within=path[0])
        return folders

    async def link(self, key: ItemKey, *, projection: AbstractSet[str]) -> records.FileLink:
        """
        Return an address of a file's bytes that needs no credentials.

        Raises:
            NotDownloadable: It is a folder or has no bytes.
        """
        attributes = (frozenset(projection) | _LINK_ATTRIBUTES) - {"shared_with"}
        if "download_link" not in projection:  # hidden: the address is not requested at all
            attributes -= {"download_link"}
        file = await self.get(key, projection=attributes)
        if file.is_folder:
            raise NotDownloadable
        url = file.download_link
        if url is None and "download_link" in attributes:  # some items are listed without it
            url = await self._content_address(key)
        expires = datetime.now(UTC) + DOWNLOAD_URL_LIFETIME if url is not None else None
        return records.FileLink(file=file, download_url=url, expires_at=expires)

    def open(self, url: str) -> AbstractAsyncContextManager[ContentStream]:
        """Request a file's bytes from the address that a link has."""
        return self._context.upstream.open_stream("GET", url)

    async def _content_address(self, key: ItemKey) -> str:
        """
        Return the address that upstream redirects a file's content to.

        Raises:
            Broken: It does not redirect.
        """
        response = await self._context.upstream.call(
            "GET", V1, *_address(key), "content", accept=_REDIRECTS
        )
        url = response.headers.get("location")
        if response.status not in _REDIRECTS or not url:
            raise Broken
        return url

    async def permissions(self, key: ItemKey) -> tuple[records.Permission, ...]:
        """Return the permissions on a file."""
        await self._sites.admit_drive(key.drive)
        try:
            granted, _ = await self._context.pages.read_all(
                (V1, *_address(key), "permissions"),
                (),
                ODataPage[response_types.Permission],
                limit=1000,
            )
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        return _permissions(granted)

    async def permissions_of(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.Permission, ...] | Unknown | None]:
        """Return the permissions on files, in batches; per file as `get_many`."""
        admitted = await self._sites.admitted({key.drive for key in keys})
        requests = {
            key: BatchRequest((*_address(key), "permissions"))
            for key in dict.fromkeys(keys)
            if key.drive in admitted and _is_well_formed(key)
        }
        permissions: dict[ItemKey, tuple[records.Permission, ...] | Unknown | None]
        permissions = dict.fromkeys(keys)
        for key, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = batched_read_failure(response)
            if failure is not None:
                permissions[key] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            page = response.decode(ODataPage[response_types.Permission])
            permissions[key] = (
                _permissions(page.value) if page.next_link is None else await self.permissions(key)
            )
        return permissions

    async def _name_libraries(
        self, files: tuple[records.File, ...], projection: AbstractSet[str]
    ) -> tuple[records.File, ...]:
        """Set the parent name of files at the top of a library: the library's name."""
        if "parent_folder_name" not in projection:
            return files
        drives = {file.drive for file in files if file.parent_folder_name == mapping.LIBRARY_NAME}
        names = {drive: await self._sites.drive_name(drive) for drive in drives}
        return tuple(
            msgspec.structs.replace(file, parent_folder_name=names[file.drive])
            if file.parent_folder_name == mapping.LIBRARY_NAME
            else file
            for file in files
        )


def _permissions(granted: Iterable[response_types.Permission]) -> tuple[records.Permission, ...]:
    return tuple(permission for response in granted for permission in mapping.permissions(response))


def _address(key: ItemKey) -> tuple[str, ...]:
    if key.item == ROOT:
        return ("drives", key.drive, "root")
    return ("drives", key.drive, "items", key.item)


def by_name(folder: ItemKey, name: str) -> tuple[str, ...]:
    """Return the address of a name in a folder; the colons are upstream's own marks."""
    if folder.item == ROOT:
        return ("drives", folder.drive, "root:", f"{name}:")
    return ("drives", folder.drive, "items", f"{folder.item}:", f"{name}:")


def by_path(path: FolderPath) -> tuple[str, ...]:
    """Return the address of a folder by its path."""
    drive, names = path
    if not names:
        return ("drives", drive, "root")
    return ("drives", drive, "root:", *names[:-1], f"{names[-1]}:")


def _is_well_formed(key: ItemKey) -> bool:
    return is_part(key.drive) and is_part(key.item)


def _has_key(file: records.File, key: ItemKey) -> bool:
    """Return whether upstream knows the file under the requested id."""
    return same_item(file.key, key) or (key.item == ROOT and file.is_root)


def _hit(
    item: response_types.Item, projection: AbstractSet[str], folder: ItemKey
) -> records.File | None:
    """Map a hit; None for an item of another library that is shared into this one."""
    if item.remote_item is not None:
        return None
    return mapping.file(item, projection, within=folder.drive)
