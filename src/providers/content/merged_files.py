"""Files and folders of all connections: the file half of `MergedContent`."""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from providers.collab_ids import ItemKey
from providers.content.ancestors import AncestorCache, Ancestors
from providers.content.file_lister import FileFilter, FileLister, needed_attributes
from providers.content.merged_sites import MergedResult, MergedSites
from providers.failures import ProviderFailure, without_frames
from providers.ports.collab import (
    FileQuery,
    FolderPath,
    InvalidCursor,
    OpenContent,
    Page,
    Share,
    Upload,
)
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

if TYPE_CHECKING:
    from providers.connectors.collab.connection import CollabConnection

_NOTHING: frozenset[str] = frozenset()
_INDEX = "i"  # first letter of a cursor into the search index
# A search inside a library does not return them.
_NOT_IN_SEARCH = frozenset({"parent_folder_name", "content_type_id"})


class MergedFiles(MergedSites):
    """The files and folders that a caller's connections see."""

    @cached_property
    def _lister(self) -> FileLister:
        return FileLister(children=self._children, search=self._search_files)

    # -- reading

    async def files(
        self,
        folders: Sequence[ItemKey],
        query: FileQuery,
        *,
        cursor: str | None,
        projection: AbstractSet[str],
        reuse_listing: bool = False,
    ) -> Page[records.File]:
        """
        List or search files in order; see `FileQuery`.

        Args:
            folders: Where to look; ``root`` stands for a library's root folder.
            query: What to look for.
            cursor: Where to continue: one of a page's *cursors*, or its *next*.
            projection: Attributes of `records.File`.
            reuse_listing: Whether a listing that was read whole for the page before may be reused.

        Raises:
            InvalidCursor: *cursor* is not of this listing.
            Missing: The only folder does not exist.
        """
        if not folders:
            return Page(items=(), cursors=(), next=None, upstream_pages=0)
        page = await self._lister.page(
            folders, query, cursor=cursor, projection=projection, reuse_listing=reuse_listing
        )
        if query.text is not None and _NOT_IN_SEARCH & projection:
            page = await self._reread(page, projection)
        return page

    async def library(
        self, drive: str, *, projection: AbstractSet[str]
    ) -> tuple[tuple[records.File, ...], str]:
        """Return everything in a library; see `FileReader.library`."""
        files, link = await self._router.first(
            lambda port: port.files.library(drive, projection=projection)
        )
        for file in files:
            self._remember_file(file)
        return files, link

    async def is_unchanged(self, drive: str, link: str) -> bool:
        """Return whether a library is surely as it was; see `FileReader.is_unchanged`."""
        return await self._router.first(lambda port: port.files.is_unchanged(drive, link))

    async def indexed_files(
        self, query: FileQuery, *, cursor: str | None, projection: AbstractSet[str]
    ) -> Page[records.File]:
        """
        List or search the files of all libraries by upstream's search index, ordered by a time.

        Args:
            query: What to look for.
            cursor: Where to continue; files that change between two pages move.
            projection: Attributes of `records.File`.

        Raises:
            InvalidCursor: *cursor* is not of this listing.
        """
        start = _decode_start(cursor)
        hits = await self._router.first(lambda port: port.indexed_files(query, start=start))
        page = await self._reread(hits, frozenset(projection) | needed_attributes(query))
        passes = FileFilter(query)
        passing = [
            (file, end) for file, end in zip(page.items, page.cursors, strict=True) if passes(file)
        ]
        return replace(
            page,
            items=tuple(file for file, _ in passing),
            cursors=tuple(f"{_INDEX}{end}" for _, end in passing),
            next=None if page.next is None else f"{_INDEX}{page.next}",
        )

    async def item(self, key: ItemKey, *, projection: AbstractSet[str]) -> records.File:
        """Read a file or folder, uncached; Missing when no connection sees it."""
        return self._remember_file(
            await self._router.first(lambda port: port.files.get(key, projection=projection))
        )

    async def item_by_name(
        self, folder: ItemKey, name: str, *, projection: AbstractSet[str]
    ) -> records.File:
        """Read the child of a folder with this name; Missing when no connection sees it."""
        return self._remember_file(
            await self._router.first(
                lambda port: port.files.get_by_name(folder, name, projection=projection)
            )
        )

    async def items(
        self, keys: Collection[ItemKey], *, projection: AbstractSet[str]
    ) -> Mapping[ItemKey, records.File | Unknown | None]:
        """
        Read files by their ids, in batches.

        Returns:
            The record, None when there surely is none, UNKNOWN when that is not known.

        Raises:
            ProviderFailure: No connection answered.
        """
        files = await self._router.merge(
            keys, lambda port, some: port.files.get_many(some, projection=projection)
        )
        for file in files.values():
            if isinstance(file, records.File):
                self._remember_file(file)
        return files

    async def ancestors(
        self, keys: Collection[ItemKey], *, fresh: bool = False
    ) -> Mapping[ItemKey, Ancestors]:
        """
        Return every folder above each file, the library's root included; UNKNOWN when unreadable.

        One call reads twenty folders, at whatever depth.

        Args:
            keys: Files or folders, none of them ``root``.
            fresh: Whether to ignore what this request has read before.
        """
        cache = AncestorCache() if fresh else self._ancestors
        read = partial(self.items, projection=_NOTHING)
        return await cache.ancestors(keys, read, read_by_path=self._folders)

    async def link(self, key: ItemKey, *, projection: AbstractSet[str]) -> records.FileLink:
        """
        Return an address of a file's bytes that needs no credentials.

        Args:
            key: A file.
            projection: Attributes of `records.File` beyond those of the answer; without
                `download_link` no address is requested.

        Raises:
            NotDownloadable: It is a folder.
        """
        link = await self._router.first(lambda port: port.files.link(key, projection=projection))
        self._remember_file(link.file)
        return link

    async def content(
        self, key: ItemKey, *, projection: AbstractSet[str]
    ) -> tuple[records.FileLink, OpenContent]:
        """
        Return the link of a file as `link` does, and what requests its bytes.

        Raises:
            NotDownloadable: It is a folder.
        """

        async def read(port: "CollabConnection") -> tuple[records.FileLink, OpenContent]:
            link = await port.files.link(key, projection=projection)
            return link, partial(port.files.open, link.download_url or "")

        return await self._router.first(read)

    async def permissions(self, key: ItemKey) -> tuple[records.Permission, ...]:
        return await self._router.first(lambda port: port.files.permissions(key))

    async def permissions_of(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.Permission, ...] | Unknown | None]:
        """Return the permissions of files, in batches; see `items`."""
        return await self._router.merge(keys, lambda port, some: port.files.permissions_of(some))

    async def shared_with(self, key: ItemKey) -> tuple[records.DriveUser, ...]:
        return records.shared_with(await self.permissions(key))

    async def parent_name(self, file: records.File) -> str | None:
        """Return the name of the folder above a file; at the top, of the library."""
        if file.is_root or file.ancestor_names is None:
            projection = frozenset({"parent_folder_name"})
            return (await self.item(file.key, projection=projection)).parent_folder_name
        if file.ancestor_names:
            return file.ancestor_names[-1]
        return await self._router.first(lambda port: port.sites.drive_name(file.drive))

    async def file_labels(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.FileLabel, ...] | Unknown]:
        """Return the sensitivity labels of files; UNKNOWN for those that cannot be read."""
        labels: dict[ItemKey, tuple[records.FileLabel, ...] | Unknown]
        labels = dict.fromkeys(keys, UNKNOWN)
        failures: list[ProviderFailure] = []
        for _, port in self._router.connections:
            unread = [key for key, file_labels in labels.items() if file_labels is UNKNOWN]
            requested = list(labels) if self._router.exhaustive else unread
            if not requested:
                break
            try:
                answer = await port.labels.of_files(requested)
                labels |= {key: answer[key] for key in unread}
            except ProviderFailure as failure:
                failures.append(without_frames(failure))
        if failures and len(failures) == len(self._router.connections):
            raise failures[0]
        return labels

    async def labels(self) -> MergedResult[records.SensitivityLabel]:
        """Return the labels of all tenants, by rising sensitivity, each once."""
        answers, failed = await self._router.call_all(lambda port: port.labels.catalogue())
        merged: dict[str, records.SensitivityLabel] = {}
        for _, labels in answers:
            merged = {label.id: label for label in labels} | merged
        ordered = sorted(merged.values(), key=lambda label: (label.sensitivity, label.id))
        return MergedResult(tuple(ordered), failed)

    # -- writing

    async def upload(self, parent: ItemKey, upload: Upload) -> records.File:
        """
        Store a file; raises also as `FileUploader.upload`.

        Raises:
            ReadOnlyContent: No connection that sees *parent* may write; *upload* was not read.
        """
        return self._remember_file(
            await self._router.write_where(
                lambda port: port.files.get(parent, projection=_NOTHING),
                lambda port: port.uploads.upload(parent, upload),
            )
        )

    async def create_folder(
        self, parent: ItemKey, name: str, *, description: str | None = None
    ) -> records.File:
        """Create a folder; Conflicted when the name is taken."""
        return self._remember_file(
            await self._router.write(
                parent,
                lambda port: port.file_writes.create_folder(parent, name, description=description),
            )
        )

    async def rename(self, key: ItemKey, name: str, *, etag: str | None) -> records.File:
        """Rename a file; Stale when it is no longer at *etag*."""
        return await self._router.write(
            key, lambda port: port.file_writes.rename(key, name, etag=etag)
        )

    async def move(self, key: ItemKey, folder: ItemKey, *, etag: str | None) -> records.File:
        """Move a file within its library; InvalidDestination, or Stale."""
        file = await self._router.write(
            key, lambda port: port.file_writes.move(key, folder, etag=etag)
        )
        self._ancestors = AncestorCache()
        return file

    async def delete(self, key: ItemKey, *, etag: str | None) -> None:
        """Move a file to the recycle bin; Stale when it is no longer at *etag*."""
        await self._router.write(key, lambda port: port.file_writes.delete(key, etag=etag))

    async def share(self, key: ItemKey, share: Share) -> str | None:
        """Add a permission; return its id, None when upstream does not tell it."""
        return await self._router.write(key, lambda port: port.file_writes.share(key, share))

    async def update_permission(self, key: ItemKey, permission_id: str, role: str) -> None:
        await self._router.write(
            key, lambda port: port.file_writes.update_permission(key, permission_id, role)
        )

    async def delete_permission(self, key: ItemKey, permission_id: str) -> None:
        await self._router.write(
            key, lambda port: port.file_writes.delete_permission(key, permission_id)
        )

    # -- calls of the lister

    async def _children(
        self, folder: ItemKey, cursor: str | None, top: int, projection: AbstractSet[str]
    ) -> Page[records.File]:
        return self._remember_page(
            await self._router.first(
                lambda port: port.files.children(
                    folder, cursor=cursor, top=top, projection=projection
                )
            )
        )

    async def _search_files(
        self, folder: ItemKey, text: str, cursor: str | None, top: int, projection: AbstractSet[str]
    ) -> Page[records.File]:
        return self._remember_page(
            await self._router.first(
                lambda port: port.files.search(
                    folder, text, cursor=cursor, top=top, projection=projection
                )
            )
        )

    async def _folders(
        self, paths: Collection[FolderPath]
    ) -> Mapping[FolderPath, records.File | Unknown | None]:
        return await self._router.merge(paths, lambda port, some: port.files.get_folders(some))

    async def _reread(
        self, page: Page[records.File], projection: AbstractSet[str]
    ) -> Page[records.File]:
        """Read the files of a search again, whole; files that are gone meanwhile are left out."""
        files = await self.items([file.key for file in page.items], projection=projection)
        read = []
        for hit, cursor in zip(page.items, page.cursors, strict=True):
            file = files[hit.key]
            if file is not None:
                read.append((hit if file is UNKNOWN else file, cursor))
        return Page(
            items=tuple(file for file, _ in read),
            cursors=tuple(cursor for _, cursor in read),
            next=page.next,
            upstream_pages=page.upstream_pages,
            warnings=page.warnings,
        )

    def _remember_page(self, page: Page[records.File]) -> Page[records.File]:
        for file in page.items:
            self._remember_file(file)
        return page


def _decode_start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    digits = cursor.removeprefix(_INDEX)
    if digits == cursor or not (digits.isascii() and digits.isdigit() and len(digits) <= 6):
        raise InvalidCursor
    return int(digits)
