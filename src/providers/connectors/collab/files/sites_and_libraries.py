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
from providers.failures import Broken, Incomplete, Missing, ProviderFailure, Refused, TooMuch
from providers.http.response import Response
from providers.ports.collab import Page
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

MAX_SITES = 5000
LONG_LIST = 200  # sites; upstream's list of more may leave some out, and nothing tells
_PAGE = ("$top", str(LONG_LIST))
_PREFIX = "collab:site:"

_LISTED = BatchRequest(("sites",), (("search", "*"), selected_fields.SITE, _PAGE))
_FOLLOWED = BatchRequest(("me", "followedSites"), (selected_fields.SITE,))
_ROOT = BatchRequest(("sites", "root"), (selected_fields.SITE,))
_OWN_DRIVE = BatchRequest(("me", "drive"), (selected_fields.DRIVE,))
_SOURCES = {source: source for source in (_LISTED, _FOLLOWED, _ROOT, _OWN_DRIVE)}


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
        # What is known to be wrong with the last `visible`; None: nothing.
        self.shortfall: TooMuch | Incomplete | None = None

    async def visible(self, *, most: int | None = None) -> tuple[records.Site, ...]:
        """
        Return every site that the connection sees, unordered, each once.

        Upstream's list is completed by the sites that the user follows, the root site and the
        user's own. `shortfall` is afterwards TooMuch when there are more sites than *most* (None:
        `MAX_SITES`), Incomplete when upstream's list is long, when it left out a site that another
        source names, or when another source failed.
        """
        if self._context.is_selected:
            return await self._selected_sites()
        self.shortfall = None
        answers = await batch.read_all(self._context.upstream, _SOURCES)
        listed, is_complete = await self._read_list(
            _LISTED, answers[_LISTED], limit=MAX_SITES if most is None else most
        )
        if not is_complete:
            self.shortfall = TooMuch()
            return tuple(listed.values())
        others = await self._followed_sites(answers[_FOLLOWED]) | self._root_site(answers[_ROOT])
        # Upstream's list often lacks personal sites, so a missing one tells nothing.
        if len(listed) > LONG_LIST or any(
            not site.is_personal_site for site in others.values() if site.site not in listed
        ):
            self.shortfall = Incomplete()
        sites = others | listed
        if not any(site.is_personal_site for site in sites.values()):
            sites |= await self._personal_site(answers[_OWN_DRIVE])
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

    async def get_many(
        self, site_ids: Collection[str]
    ) -> Mapping[str, records.Site | Unknown | None]:
        """Read sites by their ids, in batches."""
        sites: dict[str, records.Site | Unknown | None] = dict.fromkeys(site_ids)
        for site_id, response in (await self._read_sites(list(filter(self.sees, sites)))).items():
            failure = batched_read_failure(response)
            if failure is None:
                sites[site_id] = _site(response, site_id)
            elif not isinstance(failure, Missing):
                sites[site_id] = UNKNOWN
        return sites

    async def drives(
        self, site_ids: Collection[str]
    ) -> Mapping[str, tuple[records.Drive, ...] | Unknown | None]:
        """
        Return the libraries of each site, in upstream's order; hidden ones left out.

        Per site: its libraries, None when it is surely not seen, UNKNOWN when that is not known.
        """
        params = (selected_fields.DRIVE, _PAGE)
        requests = {
            site_id: BatchRequest(("sites", site_id, "drives"), params)
            for site_id in dict.fromkeys(site_ids)
            if self.sees(site_id)
        }
        libraries: dict[str, tuple[records.Drive, ...] | Unknown | None] = dict.fromkeys(site_ids)
        for site_id, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = batched_read_failure(response)
            if failure is not None:
                libraries[site_id] = None if isinstance(failure, Missing) else UNKNOWN
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
        sites = []
        for site_id, response in (await self._read_sites(sorted(self._selected))).items():
            failure = batched_read_failure(response)
            if failure is not None and not isinstance(failure, Missing):
                raise failure
            site = None if failure is not None else _site(response, site_id)
            if site is not None:
                sites.append(site)
        return tuple(sites)

    async def _read_sites(self, site_ids: Collection[str]) -> Mapping[str, Response]:
        requests = {
            site_id: BatchRequest(("sites", site_id), (selected_fields.SITE,))
            for site_id in dict.fromkeys(site_ids)
        }
        return await batch.read_all(self._context.upstream, requests)

    async def _read_list(
        self, request: BatchRequest, first: Response, *, limit: int
    ) -> tuple[dict[str, records.Site], bool]:
        """
        Read a list of sites whose first page was asked for in a batch.

        Returns:
            Sites by their ids, and whether these are all.
        """
        members, is_complete = await self._context.pages.read_all(
            (V1, *request.segments),
            request.params,
            ODataPage[response_types.Site],
            limit=limit,
            first=first if 200 <= first.status < 300 else None,
        )
        return _by_id(members), is_complete

    async def _followed_sites(self, first: Response) -> dict[str, records.Site]:
        """Return the sites that the caller follows, by their ids; none when that fails."""
        if not self._has_answered(first):
            return {}
        try:
            followed, _ = await self._read_list(_FOLLOWED, first, limit=MAX_SITES)
        except (Missing, Refused, Broken):
            self.shortfall = Incomplete()
            return {}
        return followed

    def _root_site(self, answer: Response) -> dict[str, records.Site]:
        """Return the root site by its id; empty when the caller does not see it."""
        return _by_id([answer.decode(response_types.Site)]) if self._has_answered(answer) else {}

    def _has_answered(self, response: Response) -> bool:
        """Return whether a further source of sites has an object; note the failure of one."""
        failure = batched_read_failure(response)
        if failure is not None and not isinstance(failure, Missing):
            self.shortfall = Incomplete()
        return failure is None

    async def _personal_site(self, drive_answer: Response) -> dict[str, records.Site]:
        """Return the caller's personal site by its id; empty when there is none."""
        if not self._has_answered(drive_answer):
            return {}
        try:
            drive = drive_answer.decode(response_types.Drive)
            own = mapping.site_of(None, drive.share_point_ids)
            return {} if own is None else {own: await self.get(own)}
        except (Missing, Refused, Broken):
            return {}


def _site(response: Response, site_id: str) -> records.Site | None:
    """Map a site; None when upstream knows it under another id."""
    site = mapping.site(response.decode(response_types.Site))
    return site if site is not None and site.site == site_id else None


def _by_id(members: Collection[response_types.Site]) -> dict[str, records.Site]:
    return {site.site: site for site in map(mapping.site, members) if site is not None}
