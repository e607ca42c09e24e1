"""One connection to the collaboration content; see `providers.ports.collab.CollabPort`."""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from providers.connectors.collab.connection_context import ConnectionContext
from providers.connectors.collab.files.labels import LabelReader
from providers.connectors.collab.files.reading import FileReader
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.files.uploads import FileUploader
from providers.connectors.collab.files.writing import FileWriter
from providers.connectors.collab.lists.item_writing import RowWriter
from providers.connectors.collab.lists.items import RowReader
from providers.connectors.collab.lists.lists import ListReader
from providers.connectors.collab.paging import PageReader
from providers.connectors.collab.search.search import IndexSearch
from providers.connectors.collab.search.selected_sites import SelectedSiteSearch
from providers.connectors.collab.ttl_cache import ConnectionCache
from providers.content.ids import ItemKey, ListKey, RowKey
from providers.http.client import Upstream
from providers.ports.collab import (
    FolderPath,
    Order,
    Page,
    RowQuery,
    SearchPage,
    SearchQuery,
    Share,
    Upload,
)
from providers.ports.connection import ConnectionInfo
from providers.records import collab as records
from providers.records.collab import Unknown


class CollabConnection:
    """One connection, put together from what reads and writes its parts."""

    def __init__(self, info: ConnectionInfo, upstream: Upstream, memory: ConnectionCache) -> None:
        """*memory* is kept by the caller, one per connection, and outlives this object."""
        desk = ConnectionContext(info, upstream, PageReader(upstream, info.base_url), memory)
        self._desk = desk
        self._places = places = SiteReader(desk)
        self._files = files = FileReader(desk, places)
        self._labels = LabelReader(desk, places, files)
        self._writer = FileWriter(desk, places)
        self._uploads = FileUploader(desk, places)
        self._lists = lists = ListReader(desk, places)
        self._rows = rows = RowReader(desk, places, lists)
        self._row_writer = RowWriter(desk, places, lists, rows)
        self._search: IndexSearch | SelectedSiteSearch = (
            SelectedSiteSearch(desk, places, files, lists)
            if desk.selected
            else IndexSearch(desk, places)
        )

    # -- sites and libraries

    async def sites(self) -> tuple[records.Site, ...]:
        """Return every site in sight."""
        return await self._places.sites()

    async def site(self, site: str) -> records.Site:
        """Read one site."""
        return await self._places.site(site)

    async def drives(
        self, sites: Collection[str]
    ) -> Mapping[str, tuple[records.Drive, ...] | Unknown]:
        """Return the libraries of sites."""
        return await self._places.drives(sites)

    async def drives_by_id(
        self, drives: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries."""
        return await self._places.drives_by_id(drives)

    async def library_name(self, drive: str) -> str | None:
        """Return a library's name."""
        return await self._places.name_of(drive)

    async def default_drive(self) -> records.Drive:
        """Return the library for things that name no other."""
        return await self._places.default_drive()

    # -- files

    async def children(
        self,
        folder: ItemKey,
        *,
        order: Order | None,
        cursor: str | None,
        top: int,
        wanted: AbstractSet[str],
    ) -> Page[records.File]:
        """Return a page of a folder."""
        return await self._files.children(
            folder, order=order, cursor=cursor, top=top, wanted=wanted
        )

    async def search_files(
        self, folder: ItemKey, text: str, *, cursor: str | None, top: int, wanted: AbstractSet[str]
    ) -> Page[records.File]:
        """Return a page of what is found below a folder."""
        return await self._files.search(folder, text, cursor=cursor, top=top, wanted=wanted)

    async def item(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.File:
        """Read a file."""
        return await self._files.item(key, wanted=wanted)

    async def named(self, folder: ItemKey, name: str, *, wanted: AbstractSet[str]) -> records.File:
        """Read what has a name in a folder."""
        return await self._files.named(folder, name, wanted=wanted)

    async def items(
        self, keys: Collection[ItemKey], *, wanted: AbstractSet[str]
    ) -> Mapping[ItemKey, records.File | Unknown | None]:
        """Read files."""
        return await self._files.items(keys, wanted=wanted)

    async def folders(
        self, paths: Collection[FolderPath]
    ) -> Mapping[FolderPath, records.File | Unknown | None]:
        """Read folders by where they are."""
        return await self._files.folders(paths)

    async def link(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.FileLink:
        """Return where a file's bytes are."""
        return await self._files.link(key, wanted=wanted)

    async def permissions(self, key: ItemKey) -> tuple[records.Permission, ...]:
        """Return who may do what with a file."""
        return await self._files.permissions(key)

    async def file_labels(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.FileLabel, ...] | Unknown]:
        """Return the labels of files."""
        return await self._labels.of_files(keys)

    async def labels(self) -> tuple[records.SensitivityLabel, ...]:
        """Return the tenant's labels."""
        return await self._labels.catalogue()

    async def upload(self, parent: ItemKey, upload: Upload) -> records.File:
        """Store a file."""
        return await self._uploads.store(parent, upload)

    async def create_folder(
        self, parent: ItemKey, name: str, *, description: str | None
    ) -> records.File:
        """Make a folder."""
        return await self._writer.create_folder(parent, name, description=description)

    async def rename(self, key: ItemKey, name: str, *, etag: str | None) -> records.File:
        """Give a new name."""
        return await self._writer.rename(key, name, etag=etag)

    async def move(self, key: ItemKey, folder: ItemKey, *, etag: str | None) -> records.File:
        """Move within a library."""
        return await self._writer.move(key, folder, etag=etag)

    async def delete(self, key: ItemKey, *, etag: str | None) -> None:
        """Put into the recycle bin."""
        await self._writer.delete(key, etag=etag)

    async def share(self, key: ItemKey, share: Share) -> str | None:
        """Give a permission."""
        return await self._writer.share(key, share)

    async def update_permission(self, key: ItemKey, permission: str, role: str) -> None:
        """Change a permission's role."""
        await self._writer.update_permission(key, permission, role)

    async def delete_permission(self, key: ItemKey, permission: str) -> None:
        """Take a permission away."""
        await self._writer.delete_permission(key, permission)

    # -- lists

    async def lists(self, site: str, *, include_hidden: bool) -> tuple[records.SiteList, ...]:
        """Return a site's lists."""
        return await self._lists.lists(site, include_hidden=include_hidden)

    async def site_list(self, key: ListKey) -> records.SiteList:
        """Read one list."""
        return await self._lists.site_list(key)

    async def lists_by_id(
        self, keys: Collection[ListKey]
    ) -> Mapping[ListKey, records.SiteList | Unknown | None]:
        """Read lists."""
        return await self._lists.lists_by_id(keys)

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """Return the columns of a list."""
        return await self._lists.columns(key)

    async def rows(
        self, key: ListKey, query: RowQuery, *, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        """Return a page of a list."""
        return await self._rows.rows(key, query, cursor=cursor, wanted=wanted)

    async def row(
        self, key: RowKey, *, wanted: AbstractSet[str], hidden: AbstractSet[str] = frozenset()
    ) -> records.Row:
        """Read one list item."""
        return await self._rows.row(key, wanted=wanted, hidden=hidden)

    async def rows_by_id(
        self, keys: Collection[RowKey], *, wanted: AbstractSet[str]
    ) -> Mapping[RowKey, records.Row | Unknown | None]:
        """Read list items."""
        return await self._rows.rows_by_id(keys, wanted=wanted)

    async def create_row(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """Add a list item."""
        return await self._row_writer.create(key, fields, wanted=wanted, hidden=hidden)

    async def update_row(
        self,
        key: RowKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """Change some columns of a list item."""
        return await self._row_writer.update(key, fields, etag=etag, wanted=wanted, hidden=hidden)

    async def delete_row(self, key: RowKey, *, etag: str | None) -> None:
        """Delete a list item."""
        await self._row_writer.delete(key, etag=etag)

    # -- everything

    async def search(self, query: SearchQuery) -> SearchPage:
        """Search over everything in sight."""
        return await self._search.search(query)

    async def probe(self) -> None:
        """Make one harmless read."""
        if self._desk.selected:
            await self._places.sites()
        else:
            await self._places.default_drive()
