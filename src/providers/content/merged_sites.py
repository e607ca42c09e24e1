"""Sites and libraries of all connections, and what `MergedContent` remembers during a request."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from providers.content.ancestors import AncestorCache
from providers.content.routing import ConnectionRouter, Connections, named
from providers.failures import Broken, Missing, ProviderFailure, TooMuch
from providers.fanout import CONNECTION_TIMEOUT_SECONDS, ConnectionWarning, gather_results
from providers.ports.collab import Page
from providers.ports.connection import ConnectionInfo
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

if TYPE_CHECKING:  # connectors are the layer above
    from providers.connectors.collab.connection import CollabConnection

FEW_SITES = 200  # one upstream page; docs/spec/collab.md#large-tenants
FEW_DRIVES = 20  # one upstream call each

T = TypeVar("T")


class MergedResult(msgspec.Struct, Generic[T], frozen=True):
    """The items of all connections together, and the connections that did not answer."""

    items: tuple[T, ...]
    failed: tuple[ConnectionWarning, ...] = ()


class MergedSites:
    """The sites and libraries that a caller's connections see."""

    def __init__(
        self,
        connections: Connections,
        *,
        timeout_seconds: float = CONNECTION_TIMEOUT_SECONDS,
        exhaustive: bool = False,
        writable_first: bool = False,
    ) -> None:
        """Take the usable connections, in any order; the rest is as for `ConnectionRouter`."""
        self._router = ConnectionRouter(
            connections,
            timeout_seconds=timeout_seconds,
            exhaustive=exhaustive,
            writable_first=writable_first,
        )
        self._ancestors = AncestorCache()
        self._drive_sites: dict[str, str] = {}
        self._sites: MergedResult[records.Site] | None = None
        self._visible_sites: dict[int, frozenset[str]] = {}  # connection id -> site ids

    @property
    def connections(self) -> tuple[ConnectionInfo, ...]:
        """The connections, in the order in which they are called."""
        return tuple(info for info, _ in self._router.connections)

    async def sites(self) -> MergedResult[records.Site]:
        """
        Return every visible site, by display name, then id.

        Raises:
            ProviderFailure: No connection answered.
        """
        if self._sites is None:
            self._sites = await self._read_sites()
        return self._sites

    async def few_sites(self) -> MergedResult[records.Site] | None:
        """Return what `sites` returns; None when there are more than `FEW_SITES`."""
        if self._sites is None:
            sites = await self._read_sites(most=FEW_SITES)
            if len(sites.items) > FEW_SITES or self._is_cut:
                self._visible_sites.clear()
                return None
            self._sites = sites
        return self._sites

    async def site_page(self, text: str | None, *, cursor: str | None) -> Page[records.Site]:
        """Return a page of the sites of the only connection; see `SiteReader.page`."""
        return await self._router.first(lambda port: port.sites.page(text=text, cursor=cursor))

    @property
    def has_index(self) -> bool:
        """Whether one connection alone sees everything, with a search index of it."""
        connections = self._router.connections
        return len(connections) == 1 and connections[0][0].mode != "selected_sites"

    async def site(self, site_id: str) -> records.Site:
        """Read one site; Missing when no connection sees it."""
        return await self._router.first(lambda port: port.sites.get(site_id))

    async def sites_by_id(
        self, site_ids: Collection[str]
    ) -> Mapping[str, records.Site | Unknown | None]:
        """Read sites by their ids, in batches; see `MergedFiles.items`."""
        return await self._router.merge(site_ids, lambda port, some: port.sites.get_many(some))

    async def drives(self, site_id: str) -> tuple[records.Drive, ...]:
        """Return the libraries of a site; Missing when no connection sees the site."""

        async def read(port: "CollabConnection") -> tuple[records.Drive, ...]:
            drives = (await port.sites.drives((site_id,)))[site_id]
            if drives is UNKNOWN:
                raise Broken
            if drives is None:
                raise Missing
            return drives

        drives = await self._router.first(read)
        self._remember_drives(drives)
        return drives

    async def drives_of(
        self, site_ids: Collection[str]
    ) -> Mapping[str, tuple[records.Drive, ...] | Unknown | None]:
        """Return what `drives` returns for each site, in batches; see `MergedFiles.items`."""
        drives = await self._router.merge(site_ids, lambda port, some: port.sites.drives(some))
        for site_drives in drives.values():
            if isinstance(site_drives, tuple):
                self._remember_drives(site_drives)
        return drives

    async def all_drives(self) -> MergedResult[records.Drive]:
        """Return every visible library, in the order of sites, then in upstream's."""
        sites = await self.sites()
        failed = list(sites.failed)
        drives: dict[str, records.Drive] = {}
        connections = [
            pair for pair in self._router.connections if pair[0].id in self._visible_sites
        ]
        answers = await gather_results(
            [port.sites.drives(sorted(self._visible_sites[info.id])) for info, port in connections]
        )
        for (info, _), answer in zip(connections, answers, strict=True):
            if isinstance(answer, ProviderFailure):
                failed.append(ConnectionWarning(info, answer))
                continue
            for site_drives in answer.values():
                if site_drives is UNKNOWN:
                    failed.append(ConnectionWarning(info, Broken(), part="a site"))
                    continue
                self._remember_drives(site_drives or ())
                for drive in site_drives or ():
                    drives.setdefault(drive.drive, named(drive, info))
        positions = {site.site: position for position, site in enumerate(sites.items)}
        last = len(positions)
        ordered = sorted(drives.values(), key=lambda drive: positions.get(str(drive.site), last))
        return MergedResult(tuple(ordered), tuple(failed))

    async def few_drives(self) -> MergedResult[records.Drive] | None:
        """Return what `all_drives` returns; None when there are more than `FEW_DRIVES`."""
        if await self.few_sites() is None:
            return None
        drives = await self.all_drives()
        return None if len(drives.items) > FEW_DRIVES else drives

    async def drives_by_id(
        self, drive_ids: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries: the record, None when none is seen, UNKNOWN when that is not known."""
        drives = await self._router.merge(drive_ids, lambda port, some: port.sites.get_drives(some))
        self._remember_drives(
            [drive for drive in drives.values() if isinstance(drive, records.Drive)]
        )
        return drives

    async def drive(self, drive_id: str) -> records.Drive:
        """Read one library; Missing when no connection sees it."""
        drive = (await self.drives_by_id([drive_id]))[drive_id]
        if drive is UNKNOWN:
            raise Broken
        if drive is None:
            raise Missing
        return drive

    async def drive_sites(self, drive_ids: Collection[str]) -> Mapping[str, str | Unknown]:
        """Return the site of each library; UNKNOWN when it cannot be read."""
        unread = [drive for drive in dict.fromkeys(drive_ids) if drive not in self._drive_sites]
        if unread:
            await self.drives_by_id(unread)
        return {drive: self._drive_sites.get(drive, UNKNOWN) for drive in drive_ids}

    async def default_drive(self) -> records.Drive:
        """Return the library for files that name no other: a writable connection's first."""
        writable = [pair for pair in self._router.connections if pair[0].can_write]
        return await self._router.first(
            lambda port: port.sites.default_drive(), among=writable or self._router.connections
        )

    @property
    def _is_cut(self) -> bool:
        return any(
            isinstance(port.sites.shortfall, TooMuch) for _, port in self._router.connections
        )

    async def _read_sites(self, *, most: int | None = None) -> MergedResult[records.Site]:
        answers, failed = await self._router.call_all(lambda port: port.sites.visible(most=most))
        merged: dict[str, records.Site] = {}
        for info, sites in answers:
            self._visible_sites[info.id] = frozenset(site.site for site in sites)
            for site in sites:
                merged.setdefault(site.site, site)
        shortfalls = tuple(
            ConnectionWarning(info, shortfall, part="the list of sites")
            for info, port in self._router.connections
            if (shortfall := port.sites.shortfall) is not None
        )
        ordered = sorted(
            merged.values(), key=lambda site: ((site.display_name or "").casefold(), site.site)
        )
        return MergedResult(tuple(ordered), failed + shortfalls)

    def _remember_file(self, file: records.File) -> records.File:
        self._ancestors.add(file)
        if isinstance(file.site, str):
            self._drive_sites[file.drive] = file.site
        return file

    def _remember_drives(self, drives: Collection[records.Drive]) -> None:
        for drive in drives:
            if isinstance(drive.site, str):
                self._drive_sites[drive.drive] = drive.site
