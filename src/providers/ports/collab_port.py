"""
The port of one collab connection, by area.

Keys and ids in and out are upstream's own; `providers.collab_ids` writes and reads the prefixed
ones. *wanted* names attributes of the records in `providers.records.collab`, facts included. Every
method raises members of `providers.failures` and what is named here, nothing else.

A site that the connection may not use, and everything in it, is Missing. Reads of many keys answer
per key: the record, None when there surely is none, UNKNOWN when it could not be read.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from providers.collab_ids import ItemKey, ListKey, RowKey
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
from providers.records import collab as records
from providers.records.collab import Unknown


class SitePort(Protocol):
    """Sites and their libraries."""

    async def visible(self) -> tuple[records.Site, ...]:
        """Return every site that the connection sees, unordered, each once."""

    async def get(self, site_id: str) -> records.Site:
        """
        Read one site.

        Raises:
            Missing: No site has this id, or the connection does not see it.
        """

    async def drives(
        self, site_ids: Collection[str]
    ) -> Mapping[str, tuple[records.Drive, ...] | Unknown]:
        """Return the libraries of each site, in upstream's order; hidden ones left out."""

    async def get_drives(
        self, drive_ids: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries by their ids, with their sites, in one batch."""

    async def drive_name(self, drive_id: str) -> str | None:
        """Return a library's name, at most five minutes old; None when it cannot be read."""

    async def default_drive(self) -> records.Drive:
        """Return the library for files that name no other."""


class FilePort(Protocol):
    """Reads of files and folders."""

    async def children(
        self,
        folder: ItemKey,
        *,
        order: Order | None,
        cursor: str | None,
        top: int,
        wanted: AbstractSet[str],
    ) -> Page[records.File]:
        """
        Return a page of a folder's children, in upstream's order when *order* is None.

        Raises:
            Missing: There is no such folder.
            Refused: Upstream cannot order this way.
            InvalidCursor: *cursor* is not of this folder.
        """

    async def search(
        self, folder: ItemKey, text: str, *, cursor: str | None, top: int, wanted: AbstractSet[str]
    ) -> Page[records.File]:
        """Return a page of the files below a folder that match *text*, in upstream's order."""

    async def get(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.File:
        """
        Read a file or folder; ``root`` stands for a library's root folder.

        Raises:
            Missing: It does not exist, or upstream knows it under another id.
        """

    async def get_by_name(
        self, folder: ItemKey, name: str, *, wanted: AbstractSet[str]
    ) -> records.File:
        """
        Read the child of a folder with this name, any case.

        Raises:
            Missing: There is no such child, or no such folder.
        """

    async def get_many(
        self, keys: Collection[ItemKey], *, wanted: AbstractSet[str]
    ) -> Mapping[ItemKey, records.File | Unknown | None]:
        """Read files by their ids, in batches."""

    async def get_folders(
        self, paths: Collection[FolderPath]
    ) -> Mapping[FolderPath, records.File | Unknown | None]:
        """Read folders by their paths, in batches, without any attribute."""

    async def link(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.FileLink:
        """
        Return an address of a file's bytes that needs no credentials.

        Raises:
            NotDownloadable: It is a folder or has no bytes.
        """

    async def permissions(self, key: ItemKey) -> tuple[records.Permission, ...]:
        """Return the permissions on a file."""


class LabelPort(Protocol):
    """Sensitivity labels."""

    async def catalogue(self) -> tuple[records.SensitivityLabel, ...]:
        """Return the tenant's labels, by rising sensitivity; empty when it does not list them."""

    async def of_files(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.FileLabel, ...] | Unknown]:
        """Return the labels of files, in batches; empty for what cannot have any."""


class FileWritePort(Protocol):
    """Changes of files, folders and their permissions."""

    async def create_folder(
        self, parent: ItemKey, name: str, *, description: str | None
    ) -> records.File:
        """Create a folder; Conflicted when the name is taken."""

    async def rename(self, key: ItemKey, name: str, *, etag: str | None) -> records.File:
        """Rename a file; Stale when it is no longer at *etag*."""

    async def move(self, key: ItemKey, folder: ItemKey, *, etag: str | None) -> records.File:
        """Move a file within its library; Stale when it is no longer at *etag*."""

    async def delete(self, key: ItemKey, *, etag: str | None) -> None:
        """Move a file to the recycle bin; Stale when it is no longer at *etag*."""

    async def share(self, key: ItemKey, share: Share) -> str | None:
        """Add a permission; return its id, None when upstream does not tell it."""

    async def update_permission(self, key: ItemKey, permission_id: str, role: str) -> None:
        """Change a permission's role."""

    async def delete_permission(self, key: ItemKey, permission_id: str) -> None:
        """Remove a permission."""


class UploadPort(Protocol):
    """Uploads of files."""

    async def upload(self, parent: ItemKey, upload: Upload) -> records.File:
        """
        Store a file in constant memory.

        Raises:
            Conflicted: The name is taken, and *conflict* is "fail".
            OutOfSpace: The library is full.
            UploadTooLarge: More bytes came than are allowed; nothing is left.
            OutcomeUnknown: It may or may not be stored.
        """


class ListPort(Protocol):
    """Lists and their columns."""

    async def of_site(self, site_id: str, *, include_hidden: bool) -> tuple[records.SiteList, ...]:
        """Return a site's lists, unordered, without columns."""

    async def get(self, key: ListKey) -> records.SiteList:
        """
        Read one list with its columns.

        Raises:
            Missing: The site has no such list.
        """

    async def get_many(
        self, keys: Collection[ListKey]
    ) -> Mapping[ListKey, records.SiteList | Unknown | None]:
        """Read lists by their ids, in batches, without columns."""

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """
        Return the columns of a list, at most one minute old.

        Raises:
            Missing: The site has no such list.
        """


class RowPort(Protocol):
    """Reads of list items."""

    async def page(
        self, key: ListKey, query: RowQuery, *, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        """
        Return a page of a list's items that pass the filter; it may be empty with a *next*.

        Raises:
            InvalidFilter: Filter, order or selection are not of this list.
            InvalidCursor: *cursor* is not of this listing.
        """

    async def get(
        self, key: RowKey, *, wanted: AbstractSet[str], hidden: AbstractSet[str] = frozenset()
    ) -> records.Row:
        """Read one list item; *hidden* as in `RowQuery`."""

    async def get_many(
        self, keys: Collection[RowKey], *, wanted: AbstractSet[str]
    ) -> Mapping[RowKey, records.Row | Unknown | None]:
        """Read list items by their ids, in batches."""


class RowWritePort(Protocol):
    """Changes of list items."""

    async def create(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """
        Add a list item.

        Raises:
            InvalidFields: Columns are unknown, read-only, or required and missing.
        """

    async def update(
        self,
        key: RowKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """
        Change some columns of a list item.

        Raises:
            InvalidFields: Columns are unknown or read-only, or a required one is cleared.
            Stale: It is no longer at *etag*.
        """

    async def delete(self, key: RowKey, *, etag: str | None) -> None:
        """Delete a list item; Stale when it is no longer at *etag*."""


class CollabPort(Protocol):
    """One connection."""

    @property
    def sites(self) -> SitePort: ...
    @property
    def files(self) -> FilePort: ...
    @property
    def file_writes(self) -> FileWritePort: ...
    @property
    def uploads(self) -> UploadPort: ...
    @property
    def labels(self) -> LabelPort: ...
    @property
    def lists(self) -> ListPort: ...
    @property
    def rows(self) -> RowPort: ...
    @property
    def row_writes(self) -> RowWritePort: ...

    async def search(self, query: SearchQuery) -> SearchPage:
        """
        Search everything that the connection sees; hits carry the facts of the search index.

        Raises:
            InvalidSearch: The text does not parse.
        """

    async def probe(self) -> None:
        """Make one harmless read, to see whether the connection works."""
