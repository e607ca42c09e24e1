"""Sites and libraries of one connection; docs/spec/upstream/microsoft-files.md#sites."""

import re
from collections.abc import Collection, Mapping

from providers import collab_ids
from providers.connectors.collab import batch, mapping, response_types, selected_fields
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.connection_context import (
    V1,
    ConnectionContext,
    batched_read_failure,
)
from providers.connectors.collab.paging import ODataPage
from providers.failures import Broken, Missing, ProviderFailure, Refused
from providers.ports.collab import Page
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

MAX_SITES = 5000
_PAGE = ("$top", "200")
_PREFIX = "collab:site:"


class SiteReader:
    """Reads sites and libraries, and checks which of them the connection may use."""

    def __init__(self, context: ConnectionContext) -> None:
        self._context = context
        site_ids = (
            site_id.removeprefix(_PREFIX).lower() for site_id in context.info.selected_site_ids
        )
        self._selected = frozenset(
            filter(collab_ids.is_site, site_ids)
        )  # of an app-only connection
        self.is_cut = False  # whether `visible` left sites out

    async def visible(self, *, most: int | None = None) -> tuple[records.Site, ...]:
        """
        Return every site that the connection sees, unordered, each once.

        `is_cut` tells afterwards whether there are more, beyond *most*; None: `MAX_SITES`.
        """
        if self._context.is_selected:
            return await self._selected_sites()
        members, is_complete = await self._context.pages.read_all(
            (V1, "sites"),
            (("search", "*"), selected_fields.SITE, _PAGE),
            ODataPage[response_types.Site],
            limit=MAX_SITES if most is None else most,
        )
        self.is_cut = not is_complete
        sites = {site.site: site for site in map(mapping.site, members) if site is not None}
        if not any(site.is_personal_site for site in sites.values()):
            sites |= await self._personal_site()
        return tuple(sites.values())

    async def page(self, *, text: str | None, cursor: str | None) -> Page[records.Site]:
        """
        Return a page of the sites in upstream's order, which repeats some and leaves some out.

        Args:
            text: Words that upstream looks for; None: all sites.
            cursor: Where to continue.

        Raises:
            InvalidCursor: *cursor* is not of this listing.
        """
        words = " ".join(re.findall(r"\w+", text or ""))
        return await self._context.pages.page(
            (V1, "sites"),
            (("search", words or "*"), selected_fields.SITE, _PAGE),
            ODataPage[response_types.Site],
            cursor=cursor,
            to_record=mapping.site,
        )

    async def get(self, site_id: str) -> records.Site:
        """
        Read one site.

        Raises:
            Missing: No site has this id, or the connection does not see it.
        """
        self.admit_site(site_id)
        site = mapping.site(
            await self._context.read(
                response_types.Site, "sites", site_id, params=(selected_fields.SITE,)
            )
        )
        if site is None or site.site != site_id:
            raise Missing
        return site

    async def drives(
        self, site_ids: Collection[str]
    ) -> Mapping[str, tuple[records.Drive, ...] | Unknown]:
        """Return the libraries of each site, in upstream's order; hidden ones left out."""
        params = (selected_fields.DRIVE, _PAGE)
        requests = {
            site_id: BatchRequest(("sites", site_id, "drives"), params)
            for site_id in dict.fromkeys(site_ids)
            if self.sees(site_id)
        }
        libraries: dict[str, tuple[records.Drive, ...] | Unknown] = dict.fromkeys(site_ids, ())
        for site_id, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = batched_read_failure(response)
            if failure is not None:
                libraries[site_id] = () if isinstance(failure, Missing) else UNKNOWN
                continue
            page = response.decode(ODataPage[response_types.Drive])
            drives = page.value
            if page.next_link is not None:
                rest, _ = await self._context.pages.read_all(
                    (V1, "sites", site_id, "drives"),
                    params,
                    ODataPage[response_types.Drive],
                    limit=MAX_SITES,
                )
                drives = tuple(rest)
            libraries[site_id] = self._to_records(drives, site_id=site_id)
        return libraries

    async def get_drives(
        self, drive_ids: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries by their ids, with their sites, in one batch."""
        requests = {
            drive_id: BatchRequest(("drives", drive_id), (selected_fields.DRIVE,))
            for drive_id in dict.fromkeys(drive_ids)
        }
        drives: dict[str, records.Drive | Unknown | None] = {}
        for drive_id, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = batched_read_failure(response)
            if failure is not None:
                drives[drive_id] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            read = self._to_records((response.decode(response_types.Drive),))
            drive = next((drive for drive in read if drive.drive == drive_id), None)
            drives[drive_id] = drive if drive is not None and self._sees_drive(drive) else None
        return drives

    async def default_drive(self) -> records.Drive:
        """Return the library for files that name no other."""
        is_selected = self._context.is_selected
        addresses = (
            [("sites", site_id, "drive") for site_id in sorted(self._selected)]
            if is_selected
            else [("me", "drive"), ("sites", "root", "drive")]
        )
        for address in addresses:
            try:
                drive = await self._context.read(
                    response_types.Drive, *address, params=(selected_fields.DRIVE,)
                )
            except Missing:
                continue
            drives = self._to_records((drive,), site_id=address[1] if is_selected else None)
            if drives:
                return drives[0]
        raise Missing

    # -- access

    def sees(self, site_id: str) -> bool:
        return not self._context.is_selected or site_id in self._selected

    def admit_site(self, site_id: str) -> None:
        """
        Check that the connection may use a site.

        Raises:
            Missing: It may not.
        """
        if not self.sees(site_id):
            raise Missing

    async def admit_drive(self, drive_id: str) -> None:
        """
        Check that the connection may use a library.

        Raises:
            Missing: It may not use its site, or the site cannot be read.
        """
        if self._context.is_selected and drive_id not in await self.admitted((drive_id,)):
            raise Missing

    async def admitted(self, drive_ids: Collection[str]) -> frozenset[str]:
        """
        Return the libraries in sites that the connection may use.

        Raises:
            Broken: The site of a library cannot be read now.
        """
        if not self._context.is_selected:
            return frozenset(drive_ids)
        site_ids = {
            drive_id: self._context.cache.drive_sites.get(drive_id) for drive_id in drive_ids
        }
        unknown = [drive_id for drive_id, site_id in site_ids.items() if site_id is None]
        if unknown:
            for drive_id, drive in (await self.get_drives(unknown)).items():
                if drive is UNKNOWN:
                    raise Broken
                if isinstance(drive, records.Drive) and drive.site is not UNKNOWN:
                    site_ids[drive_id] = drive.site
        return frozenset(
            drive_id
            for drive_id, site_id in site_ids.items()
            if site_id is not None and self.sees(site_id)
        )

    async def drive_name(self, drive_id: str) -> str | None:
        """Return a library's name, at most five minutes old; None when it cannot be read."""
        cached = self._context.cache.drive_names.get(drive_id)
        if cached is not None:
            return cached
        try:
            drive = (await self.get_drives((drive_id,)))[drive_id]
        except ProviderFailure:
            return None
        return drive.name if isinstance(drive, records.Drive) else None

    def _sees_drive(self, drive: records.Drive) -> bool:
        return not self._context.is_selected or (
            drive.site is not UNKNOWN and drive.site in self._selected
        )

    def _to_records(
        self, drives: Collection[response_types.Drive], *, site_id: str | None = None
    ) -> tuple[records.Drive, ...]:
        """Map libraries, and cache their sites and names."""
        by_id = {}
        for response in drives:
            drive = mapping.drive(response, site_id)
            if drive is None:
                continue
            by_id[drive.drive] = drive
            if drive.site is not UNKNOWN:
                self._context.cache.drive_sites.put(drive.drive, drive.site)
            if drive.name:
                self._context.cache.drive_names.put(drive.drive, drive.name)
        return tuple(by_id.values())

    async def _selected_sites(self) -> tuple[records.Site, ...]:
        """Read the selected sites; one whose grant was revoked disappears silently."""
        requests = {
            site_id: BatchRequest(("sites", site_id), (selected_fields.SITE,))
            for site_id in sorted(self._selected)
        }
        sites = []
        for site_id, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = batched_read_failure(response)
            if isinstance(failure, Missing):
                continue
            if failure is not None:
                raise failure
            site = mapping.site(response.decode(response_types.Site))
            if site is not None and site.site == site_id:
                sites.append(site)
        return tuple(sites)

    async def _personal_site(self) -> dict[str, records.Site]:
        """Return the caller's personal site by its id; empty when there is none."""
        try:
            drive = await self._context.read(
                response_types.Drive, "me", "drive", params=(selected_fields.DRIVE,)
            )
            own = mapping.site_of(None, drive.share_point_ids)
            return {} if own is None else {own: await self.get(own)}
        except (Missing, Refused, Broken):
            return {}
