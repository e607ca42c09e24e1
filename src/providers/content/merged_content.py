"""
Many collab connections as one, for the length of one request.

An id goes to the connection that sees its library or site: delegated ones are asked before
app-only ones, then by id. Listings drop what was there already. What is read is remembered only as
long as this object lives; make one per request. Source: decisions 8 and 16.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from providers.content.ancestors import AncestorCache, Ancestors
from providers.content.file_lister import FileLister
from providers.content.ids import ItemKey, ListKey, RowKey
from providers.content.routing import OF, ConnectionRouter
from providers.failures import (
    Broken,
    Missing,
    ProviderFailure,
)
from providers.fanout import (
    CONNECTION_TIMEOUT_SECONDS,
    ConnectionWarning,
    combined_failure,
    gather_results,
)
from providers.ports.collab import (
    CollabPort,
    FileQuery,
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
from providers.records.collab import UNKNOWN, Unknown

T = TypeVar("T")
_NOTHING: frozenset[str] = frozenset()
_THIN = frozenset({"parent_folder_name"})  # what a search inside a library does not tell


@dataclass(frozen=True, slots=True)
class MergedResult(Generic[T]):
    """What all connections have together, and which of them did not answer."""

    items: tuple[T, ...]
    failed: tuple[ConnectionWarning, ...] = ()


class MergedContent:
    """The collaboration content that a caller's connections see."""

    def __init__(
        self,
        connections: Sequence[tuple[ConnectionInfo, CollabPort]],
        *,
        patience: float = CONNECTION_TIMEOUT_SECONDS,
        everywhere: bool = False,
    ) -> None:
        """
        Take the usable connections and their ports.

        Args:
            connections: In any order.
            patience: Seconds that each may take.
            everywhere: Whether all are asked by id, whichever has the answer.
        """
        self._routes = ConnectionRouter(connections, patience=patience, everywhere=everywhere)
        self._lineage = AncestorCache()
        self._drive_sites: dict[str, str] = {}
        self._sites: MergedResult[records.Site] | None = None
        self._sites_of: dict[int, frozenset[str]] = {}
        self._listing = FileLister(children=self._children, find=self._find)

    @property
    def can_write(self) -> bool:
        """Whether any of the connections may change something."""
        return any(info.can_write for info, _ in self._routes.connections)

    def may_have_created(self, creators: Collection[str]) -> bool:
        """Say whether what has these creators (addresses) may be what a connection made."""
        those = {one.casefold() for one in creators}
        return any(
            not those if info.mode == "selected_sites" else info.account_email.casefold() in those
            for info, _ in self._routes.connections
            if info.can_write
        )

    def exhaustive(self) -> "MergedContent":
        """
        Return a view that remembers nothing of this request and asks every connection by id.

        What reads through it cost does not tell what is there, and where. Source: reliability 4.3.
        """
        return MergedContent(
            self._routes.connections, patience=self._routes.patience, everywhere=True
        )

    # -- sites and libraries

    async def sites(self) -> MergedResult[records.Site]:
        """
        Return every site in sight, by display name, then id.

        Raises:
            ProviderFailure: No connection answered.
        """
        if self._sites is None:
            self._sites = await self._read_sites()
        return self._sites

    async def site(self, site: str) -> records.Site:
        """Read one site; Missing when no connection sees it."""
        return await self._routes.first(lambda port: port.site(site))

    async def drives(self, site: str) -> tuple[records.Drive, ...]:
        """Return the libraries of a site; Missing when no connection sees any."""

        async def read(port: CollabPort) -> tuple[records.Drive, ...]:
            found = (await port.drives((site,)))[site]
            if found is UNKNOWN:
                raise Broken
            if not found:
                raise Missing
            return found

        return self._noted_drives(await self._routes.first(read))

    async def all_drives(self) -> MergedResult[records.Drive]:
        """Return every library in sight, by the order of sites, then by upstream's."""
        sites = await self.sites()
        failed = list(sites.failed)
        found: dict[str, records.Drive] = {}
        order = {one.site: at for at, one in enumerate(sites.items)}
        asked = [pair for pair in self._routes.connections if pair[0].id in self._sites_of]
        answers = await gather_results(
            [port.drives(sorted(self._sites_of[info.id])) for info, port in asked]
        )
        for (info, _), answer in zip(asked, answers, strict=True):
            if isinstance(answer, ProviderFailure):
                failed.append(ConnectionWarning(info, answer))
                continue
            for drives in answer.values():
                if drives is UNKNOWN:
                    failed.append(ConnectionWarning(info, Broken(), part="a site"))
                    continue
                for one in self._noted_drives(drives):
                    found.setdefault(one.drive, one)
        last = len(order)
        libraries = sorted(found.values(), key=lambda one: order.get(str(one.site), last))
        return MergedResult(tuple(libraries), tuple(failed))

    async def drives_by_id(
        self, drives: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries: the record, None when none is seen, UNKNOWN when that is not known."""
        found = await self._routes.merged(drives, lambda port, keys: port.drives_by_id(keys))
        self._noted_drives([one for one in found.values() if isinstance(one, records.Drive)])
        return found

    async def drive_sites(self, drives: Collection[str]) -> Mapping[str, str | Unknown]:
        """Return the site that each library belongs to; UNKNOWN when it cannot be told."""
        unknown = [one for one in dict.fromkeys(drives) if one not in self._drive_sites]
        if unknown:
            await self.drives_by_id(unknown)
        return {one: self._drive_sites.get(one, UNKNOWN) for one in drives}

    async def default_drive(self) -> records.Drive:
        """Return the library for things that name no other: a writable connection's first."""
        writable = [pair for pair in self._routes.connections if pair[0].can_write]
        return await self._routes.first(
            lambda port: port.default_drive(), among=writable or self._routes.connections
        )

    # -- files: reading

    async def files(
        self,
        places: Sequence[ItemKey],
        query: FileQuery,
        *,
        cursor: str | None,
        wanted: AbstractSet[str],
        going_on: bool = False,
    ) -> Page[records.File]:
        """
        List or search files in order; see `FileQuery`.

        Args:
            places: Folders; ``root`` stands for a library's root folder.
            query: What to look for.
            cursor: Where to go on: one of a page's *places*, or its *next*.
            wanted: Attributes of `records.File`.
            going_on: Whether what was read whole for the page before is good enough.

        Raises:
            InvalidCursor: *cursor* is not of this listing.
            Missing: The only place is not there.
        """
        if not places:
            return Page(items=(), places=(), next=None, calls=0)
        page = await self._listing.page(
            places, query, cursor=cursor, wanted=wanted, going_on=going_on
        )
        if query.text is not None and _THIN & wanted:
            page = await self._completed(page, wanted)
        return page

    async def item(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.File:
        """Read a file or folder, afresh; Missing when no connection sees it."""
        return self._noted(await self._routes.first(lambda port: port.item(key, wanted=wanted)))

    async def named(self, folder: ItemKey, name: str, *, wanted: AbstractSet[str]) -> records.File:
        """Read what has a name in a folder; Missing when no connection sees anything there."""
        found = await self._routes.first(lambda port: port.named(folder, name, wanted=wanted))
        return self._noted(found)

    async def items(
        self, keys: Collection[ItemKey], *, wanted: AbstractSet[str]
    ) -> Mapping[ItemKey, records.File | Unknown | None]:
        """
        Read files by their ids, in batches.

        Returns:
            The record, None when there surely is none, UNKNOWN when that is not known.

        Raises:
            ProviderFailure: No connection answered.
        """
        found = await self._routes.merged(keys, lambda port, some: port.items(some, wanted=wanted))
        for one in found.values():
            if isinstance(one, records.File):
                self._noted(one)
        return found

    async def ancestors(
        self, keys: Collection[ItemKey], *, fresh: bool = False
    ) -> Mapping[ItemKey, Ancestors]:
        """
        Return every folder above each file, the library's root included; UNKNOWN when lost.

        One call reads twenty folders, at whatever depth.

        Args:
            keys: Files or folders, none of them ``root``.
            fresh: Forget what this request has read before.
        """
        lineage = AncestorCache() if fresh else self._lineage
        read = partial(self.items, wanted=_NOTHING)
        return await lineage.above(keys, read, by_path=self._folders)

    async def link(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.FileLink:
        """
        Return where a file's bytes may be had without credentials.

        Args:
            key: A file.
            wanted: Attributes of `records.File` beyond those of the answer; without
                `download_link` no address is asked for.

        Raises:
            NoLink: It is a folder.
        """
        found = await self._routes.first(lambda port: port.link(key, wanted=wanted))
        self._noted(found.file)
        return found

    async def permissions(self, key: ItemKey) -> tuple[records.Permission, ...]:
        """Return who may do what with a file."""
        return await self._routes.first(lambda port: port.permissions(key))

    async def parent_name(self, file: records.File) -> str | None:
        """Return the name of the folder that a file lies in; at the top, of the library."""
        if file.is_root or file.above is None:
            wanted = frozenset({"parent_folder_name"})
            return (await self.item(file.key, wanted=wanted)).parent_folder_name
        if file.above:
            return file.above[-1]
        return await self._routes.first(lambda port: port.library_name(file.drive))

    async def shared_with(self, key: ItemKey) -> tuple[records.DriveUser, ...]:
        """Return the people with whom a file is shared."""
        return records.shared_with(await self.permissions(key))

    async def file_labels(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.FileLabel, ...] | Unknown]:
        """Return the sensitivity labels of files; UNKNOWN for those that cannot be read."""
        found: dict[ItemKey, tuple[records.FileLabel, ...] | Unknown] = dict.fromkeys(keys, UNKNOWN)
        failures: list[ProviderFailure] = []
        for _, port in self._routes.connections:
            lost = [key for key, labels in found.items() if labels is UNKNOWN]
            asked = list(found) if self._routes.everywhere else lost
            if not asked:
                break
            try:
                told = await port.file_labels(asked)
                found |= {key: told[key] for key in lost}
            except ProviderFailure as failure:
                failures.append(failure)
        if failures and len(failures) == len(self._routes.connections):
            raise failures[0]
        return found

    async def labels(self) -> MergedResult[records.SensitivityLabel]:
        """Return the labels of all tenants, by rising sensitivity, each once."""
        answers, failed = await self._routes.asked(lambda port: port.labels())
        found: dict[str, records.SensitivityLabel] = {}
        for _, labels in answers:
            found = {one.id: one for one in labels} | found
        ordered = sorted(found.values(), key=lambda one: (one.sensitivity, one.id))
        return MergedResult(tuple(ordered), failed)

    # -- files: writing

    async def upload(self, parent: ItemKey, upload: Upload) -> records.File:
        """
        Store a file; see `CollabPort.upload`.

        Raises:
            ReadOnlyContent: No connection that sees *parent* may write; nothing was read of it.
        """
        port = await self._routes.writer(lambda port: port.item(parent, wanted=_NOTHING))
        return self._noted(await port.upload(parent, upload))

    async def create_folder(
        self, parent: ItemKey, name: str, *, description: str | None = None
    ) -> records.File:
        """Make a folder; Conflicted when the name is taken."""
        made = await self._routes.write(
            parent, lambda port: port.create_folder(parent, name, description=description)
        )
        return self._noted(made)

    async def rename(self, key: ItemKey, name: str, *, etag: str | None) -> records.File:
        """Give a new name; Stale when it is no longer at *etag*."""
        return await self._routes.write(key, lambda port: port.rename(key, name, etag=etag))

    async def move(self, key: ItemKey, folder: ItemKey, *, etag: str | None) -> records.File:
        """Move within a library; InvalidDestination, or Stale when no longer at *etag*."""
        moved = await self._routes.write(key, lambda port: port.move(key, folder, etag=etag))
        self._lineage = AncestorCache()
        return moved

    async def delete(self, key: ItemKey, *, etag: str | None) -> None:
        """Put into the recycle bin; Stale when it is no longer at *etag*."""
        await self._routes.write(key, lambda port: port.delete(key, etag=etag))

    async def share(self, key: ItemKey, share: Share) -> str | None:
        """Give a permission; return its id, None when upstream does not tell it."""
        return await self._routes.write(key, lambda port: port.share(key, share))

    async def update_permission(self, key: ItemKey, permission: str, role: str) -> None:
        """Change a permission's role."""
        await self._routes.write(key, lambda port: port.update_permission(key, permission, role))

    async def delete_permission(self, key: ItemKey, permission: str) -> None:
        """Take a permission away."""
        await self._routes.write(key, lambda port: port.delete_permission(key, permission))

    # -- lists

    async def lists(
        self, site: str, *, include_hidden: bool = False
    ) -> tuple[records.SiteList, ...]:
        """Return a site's lists, by display name, then id; Missing when it is not seen."""
        found = await self._routes.first(
            lambda port: port.lists(site, include_hidden=include_hidden)
        )
        return tuple(sorted(found, key=lambda one: ((one.display_name or "").casefold(), one.list)))

    async def site_list(self, key: ListKey) -> records.SiteList:
        """Read one list with its columns."""
        return await self._routes.first(lambda port: port.site_list(key))

    async def lists_by_id(
        self, keys: Collection[ListKey]
    ) -> Mapping[ListKey, records.SiteList | Unknown | None]:
        """Read lists by their ids, in batches; see `items`."""
        return await self._routes.merged(keys, lambda port, some: port.lists_by_id(some))

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """Return the columns of a list, as they were a minute ago at most."""
        return await self._routes.first(lambda port: port.columns(key))

    async def rows(
        self, key: ListKey, query: RowQuery, *, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        """List the items of a list; see `CollabPort.rows`."""
        page = await self._routes.first(
            lambda port: port.rows(key, query, cursor=cursor, wanted=wanted)
        )
        self._noted_faces(page.items)
        return page

    async def row(
        self, key: RowKey, *, wanted: AbstractSet[str], hidden: AbstractSet[str] = _NOTHING
    ) -> records.Row:
        """Read one list item, afresh; *hidden* as in `RowQuery`."""
        found = await self._routes.first(lambda port: port.row(key, wanted=wanted, hidden=hidden))
        self._noted_faces((found,))
        return found

    async def rows_by_id(
        self, keys: Collection[RowKey], *, wanted: AbstractSet[str]
    ) -> Mapping[RowKey, records.Row | Unknown | None]:
        """Read list items by their ids, in batches; see `items`."""
        found = await self._routes.merged(
            keys, lambda port, some: port.rows_by_id(some, wanted=wanted)
        )
        self._noted_faces([one for one in found.values() if isinstance(one, records.Row)])
        return found

    async def create_row(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = _NOTHING,
    ) -> records.Row:
        """Add a list item; InvalidFields when its values do not fit."""
        port = await self._routes.writer(lambda port: port.site_list(key))
        return await port.create_row(key, fields, wanted=wanted, hidden=hidden)

    async def update_row(
        self,
        key: RowKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = _NOTHING,
    ) -> records.Row:
        """Change some columns of a list item; InvalidFields, or Stale."""
        port = await self._routes.writer(lambda port: port.row(key, wanted=_NOTHING))
        return await port.update_row(key, fields, etag=etag, wanted=wanted, hidden=hidden)

    async def delete_row(self, key: RowKey, *, etag: str | None) -> None:
        """Delete a list item; Stale when it is no longer at *etag*."""
        port = await self._routes.writer(lambda port: port.row(key, wanted=_NOTHING))
        await port.delete_row(key, etag=etag)

    # -- everything

    async def search(self, query: SearchQuery) -> MergedResult[SearchPage]:
        """
        Search over everything: one connection's hits after the other's.

        Returns:
            One page. Hits in sites that an earlier connection sees are that one's to tell.

        Raises:
            InvalidSearch: The text does not parse.
            ProviderFailure: No connection answered.
        """
        if len(self._routes.connections) == 1:
            return MergedResult((await self._routes.first(lambda port: port.search(query)),))
        return await self._searched(query)

    async def probe(self) -> None:
        """Make one harmless read on every connection."""
        for _, port in self._routes.connections:
            await port.probe()

    # -- parts

    async def _read_sites(self) -> MergedResult[records.Site]:
        answers, failed = await self._routes.asked(lambda port: port.sites())
        found: dict[str, records.Site] = {}
        for info, sites in answers:
            self._sites_of[info.id] = frozenset(one.site for one in sites)
            for one in sites:
                found.setdefault(one.site, one)
        ordered = sorted(
            found.values(), key=lambda one: ((one.display_name or "").casefold(), one.site)
        )
        return MergedResult(tuple(ordered), failed)

    async def _children(
        self,
        folder: ItemKey,
        order: Order | None,
        cursor: str | None,
        top: int,
        wanted: AbstractSet[str],
    ) -> Page[records.File]:
        page = await self._routes.first(
            lambda port: port.children(folder, order=order, cursor=cursor, top=top, wanted=wanted)
        )
        for one in page.items:
            self._noted(one)
        return page

    async def _folders(
        self, paths: Collection[FolderPath]
    ) -> Mapping[FolderPath, records.File | Unknown | None]:
        return await self._routes.merged(paths, lambda port, some: port.folders(some))

    async def _find(
        self, folder: ItemKey, text: str, cursor: str | None, top: int, wanted: AbstractSet[str]
    ) -> Page[records.File]:
        page = await self._routes.first(
            lambda port: port.search_files(folder, text, cursor=cursor, top=top, wanted=wanted)
        )
        for one in page.items:
            self._noted(one)
        return page

    async def _completed(
        self, page: Page[records.File], wanted: AbstractSet[str]
    ) -> Page[records.File]:
        """Read again what a search brought thin; what is gone meanwhile is left out."""
        found = await self.items([one.key for one in page.items], wanted=wanted)
        kept = []
        for one, place in zip(page.items, page.places, strict=True):
            whole = found[one.key]
            if whole is not None:
                kept.append((one if whole is UNKNOWN else whole, place))
        return Page(
            items=tuple(one for one, _ in kept),
            places=tuple(place for _, place in kept),
            next=page.next,
            calls=page.calls,
            warnings=page.warnings,
        )

    async def _searched(self, query: SearchQuery) -> MergedResult[SearchPage]:
        sites = await self.sites()
        hits: list[records.SearchHit] = []
        failed: list[ConnectionWarning] = []
        warnings: list[str] = []
        total, answered = 0, 0
        taken: set[str] = set()
        for info, port in self._routes.connections:
            start = max(0, query.start - total)
            room = query.limit - len(hits)
            asked = _part(query, start=start, limit=max(1, room))
            try:
                page = await port.search(asked)
            except ProviderFailure as failure:
                failed.append(ConnectionWarning(info, failure))
                continue
            answered += 1
            total += page.total
            warnings += page.warnings
            if room > 0:
                hits += [one for one in page.hits[:room] if _site_of(one) not in taken]
            taken |= self._sites_of.get(info.id, frozenset())
        if not answered:
            raise combined_failure(failed, of=OF)
        page = SearchPage(
            hits=tuple(hits),
            total=total,
            more=query.start + query.limit < total,
            warnings=tuple(dict.fromkeys(warnings)),
        )
        return MergedResult((page,), (*sites.failed, *failed))

    # -- remembering

    def _noted(self, file: records.File) -> records.File:
        self._lineage.note(file)
        if isinstance(file.site, str):
            self._drive_sites[file.drive] = file.site
        return file

    def _noted_faces(self, rows: Sequence[records.Row]) -> None:
        for one in rows:
            if isinstance(one.file, records.File):
                self._noted(one.file)

    def _noted_drives(self, drives: Sequence[records.Drive]) -> tuple[records.Drive, ...]:
        for one in drives:
            if isinstance(one.site, str):
                self._drive_sites[one.drive] = one.site
        return tuple(drives)


def _part(query: SearchQuery, *, start: int, limit: int) -> SearchQuery:
    return SearchQuery(
        text=query.text,
        entity_types=query.entity_types,
        start=start,
        limit=limit,
        site=query.site,
    )


def _site_of(hit: records.SearchHit) -> object:
    thing = hit.file or hit.row or hit.list or hit.site
    return None if thing is None else thing.site
