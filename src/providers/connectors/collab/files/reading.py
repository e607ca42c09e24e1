"""Reading files and folders of one connection. Source: wire report 1D.2, 1D.3."""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

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
from providers.content.ids import ROOT, ItemKey, is_part
from providers.failures import Missing, Refused
from providers.ports.collab import FolderPath, NotDownloadable, Order, Page
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

LINK_LIFE = timedelta(seconds=3600)  # of the item's annotation; wire report 1D.3
_ORDERED = {
    "name": "name",
    "modified_time": "lastModifiedDateTime",
    "created_time": "createdDateTime",
    "size": "size",
}
_OF_LINK = frozenset(
    {"name", "mime_type", "size", "web_view_link", "download_link", "etag"}
    | {"site", "list_id", "list_item_id"}
)


class FileReader:
    """Reads files."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def children(
        self,
        folder: ItemKey,
        *,
        order: Order | None,
        cursor: str | None,
        top: int,
        wanted: AbstractSet[str],
    ) -> Page[records.File]:
        """Return a page of a folder; see `FilePort.children`."""
        await self._sites.admit_drive(folder.drive)
        options = [("$top", str(top)), *selected_fields.file(frozenset(wanted))]
        if order is not None and order.by in _ORDERED:
            way = "desc" if order.descending else "asc"
            options.append(("$orderby", f"{_ORDERED[order.by]} {way}"))
        try:
            page = await self._context.pages.page(
                (V1, *_address(folder), "children"),
                options,
                ODataPage[response_types.Item],
                cursor=cursor,
                to_record=lambda one: mapping.file(one, wanted, within=folder.drive),
            )
        except Refused as refusal:
            if order is not None and refusal.status == 400:  # perhaps for its order
                raise
            raise translate_refused_read(refusal) from refusal
        return replace(page, items=await self.completed(page.items, wanted))

    async def search(
        self, folder: ItemKey, text: str, *, cursor: str | None, top: int, wanted: AbstractSet[str]
    ) -> Page[records.File]:
        """Return a page of what is found below a folder; see `FilePort.search_files`."""
        await self._sites.admit_drive(folder.drive)
        quoted = text.replace("'", "''")
        try:
            page = await self._context.pages.page(
                (V1, *_address(folder), f"search(q='{quoted}')"),
                [("$top", str(top)), *selected_fields.file(frozenset(wanted))],
                ODataPage[response_types.Item],
                cursor=cursor,
                to_record=lambda one: _found(one, wanted, folder),
            )
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        return replace(page, items=await self.completed(page.items, wanted))

    async def get(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.File:
        """Read a file; see `FilePort.get`."""
        await self._sites.admit_drive(key.drive)
        one = await self._context.read(
            response_types.Item, *_address(key), params=selected_fields.file(frozenset(wanted))
        )
        found = mapping.file(one, wanted, within=key.drive)
        if found is None or not _is(found, key):
            raise Missing
        if "shared_with" in wanted:
            given = await self.permissions(key)
            found = msgspec.structs.replace(found, shared_with=records.shared_with(given))
        return (await self.completed((found,), wanted))[0]

    async def get_by_name(
        self, folder: ItemKey, name: str, *, wanted: AbstractSet[str]
    ) -> records.File:
        """Read what has a name; see `FilePort.get_by_name`."""
        await self._sites.admit_drive(folder.drive)
        asked = frozenset(wanted) | {"name"}
        one = await self._context.read(
            response_types.Item, *by_name(folder, name), params=selected_fields.file(asked)
        )
        found = mapping.file(one, asked, within=folder.drive)
        if found is None or (found.name or "").casefold() != name.casefold():
            raise Missing
        return found

    async def get_many(
        self, keys: Collection[ItemKey], *, wanted: AbstractSet[str]
    ) -> Mapping[ItemKey, records.File | Unknown | None]:
        """Read files by their ids; see `FilePort.get_many`."""
        found: dict[ItemKey, records.File | Unknown | None] = dict.fromkeys(keys)
        admitted = await self._sites.admitted({key.drive for key in keys})
        asked = [key for key in found if key.drive in admitted and _callable(key)]
        params = selected_fields.file(frozenset(wanted))
        answers = await batch.read_all(
            self._context.upstream, {key: BatchRequest(_address(key), params) for key in asked}
        )
        for key, answer in answers.items():
            failure = batched_read_failure(answer)
            if failure is not None:
                found[key] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            one = mapping.file(answer.decode(response_types.Item), wanted, within=key.drive)
            found[key] = one if one is not None and _is(one, key) else None
        read = {key: one for key, one in found.items() if isinstance(one, records.File)}
        whole = await self.completed(tuple(read.values()), wanted)
        return found | dict(zip(read, whole, strict=True))

    async def get_folders(
        self, paths: Collection[FolderPath]
    ) -> Mapping[FolderPath, records.File | Unknown | None]:
        """Read folders by where they are; see `FilePort.get_folders`."""
        found: dict[FolderPath, records.File | Unknown | None] = dict.fromkeys(paths)
        admitted = await self._sites.admitted({drive for drive, _ in paths})
        asks = {
            path: BatchRequest(by_path(path), selected_fields.file(frozenset()))
            for path in found
            if path[0] in admitted and is_part(path[0]) and not {".", ".."} & {*path[1]}
        }
        for path, answer in (await batch.read_all(self._context.upstream, asks)).items():
            failure = batched_read_failure(answer)
            if failure is not None:
                found[path] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            found[path] = mapping.file(
                answer.decode(response_types.Item), frozenset(), within=path[0]
            )
        return found

    async def link(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.FileLink:
        """Return where a file's bytes are; see `FilePort.link`."""
        asked = (frozenset(wanted) | _OF_LINK) - {"shared_with"}
        if "download_link" not in wanted:  # hidden: then it is not asked for at all
            asked -= {"download_link"}
        found = await self.get(key, wanted=asked)
        if found.is_folder:
            raise NotDownloadable
        url = found.download_link
        expires = datetime.now(UTC) + LINK_LIFE if url is not None else None
        return records.FileLink(file=found, download_url=url, expires_at=expires)

    async def permissions(self, key: ItemKey) -> tuple[records.Permission, ...]:
        """Return who may do what; see `FilePort.permissions`."""
        await self._sites.admit_drive(key.drive)
        try:
            found, _ = await self._context.pages.read_all(
                (V1, *_address(key), "permissions"),
                (),
                ODataPage[response_types.Permission],
                limit=1000,
            )
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        return tuple(one for given in found for one in mapping.permissions(given))

    async def completed(
        self, files: tuple[records.File, ...], wanted: AbstractSet[str]
    ) -> tuple[records.File, ...]:
        """Name the folder of what lies at the top of a library: that is the library's name."""
        if "parent_folder_name" not in wanted:
            return files
        drives = {one.drive for one in files if one.parent_folder_name == mapping.LIBRARY_NAME}
        names = {drive: await self._sites.drive_name(drive) for drive in drives}
        return tuple(
            msgspec.structs.replace(one, parent_folder_name=names[one.drive])
            if one.parent_folder_name == mapping.LIBRARY_NAME
            else one
            for one in files
        )


def _address(key: ItemKey) -> tuple[str, ...]:
    if key.item == ROOT:
        return ("drives", key.drive, "root")
    return ("drives", key.drive, "items", key.item)


def by_name(folder: ItemKey, name: str) -> tuple[str, ...]:
    """Address a name in a folder; the colons are upstream's own marks."""
    if folder.item == ROOT:
        return ("drives", folder.drive, "root:", f"{name}:")
    return ("drives", folder.drive, "items", f"{folder.item}:", f"{name}:")


def by_path(path: FolderPath) -> tuple[str, ...]:
    """Address a folder by the names on the way to it."""
    drive, names = path
    if not names:
        return ("drives", drive, "root")
    return ("drives", drive, "root:", *names[:-1], f"{names[-1]}:")


def _callable(key: ItemKey) -> bool:
    return is_part(key.drive) and is_part(key.item)


def _is(found: records.File, key: ItemKey) -> bool:
    """Whether upstream knows the file under the very id that was asked for."""
    return found.key == key or (key.item == ROOT and found.is_root)


def _found(
    one: response_types.Item, wanted: AbstractSet[str], folder: ItemKey
) -> records.File | None:
    """Make a record of a hit; what others shared into this library lies elsewhere."""
    if one.remote_item is not None:
        return None
    return mapping.file(one, wanted, within=folder.drive)
