"""Sites and libraries of one connection. Source: wire report 1D.1, 1D.2; decisions 8.15."""

from collections.abc import Collection, Mapping

from providers.connectors.collab import batch, mapping, response_types, selected_fields
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.connection_context import (
    V1,
    ConnectionContext,
    batched_read_failure,
)
from providers.connectors.collab.paging import ODataPage
from providers.content import ids as collab_ids
from providers.failures import Broken, Missing, ProviderFailure, Refused
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

MOST_SITES = 5000
_PAGE = ("$top", "200")
_PREFIX = "collab:site:"


class SiteReader:
    """Reads sites and libraries."""

    def __init__(self, context: ConnectionContext) -> None:
        self._context = context
        self._chosen = frozenset(
            one.removeprefix(_PREFIX).lower() for one in context.info.selected_site_ids
        )

    @property
    def chosen(self) -> frozenset[str]:
        """The sites of an app-only connection."""
        return frozenset(one for one in self._chosen if collab_ids.is_site(one))

    async def visible(self) -> tuple[records.Site, ...]:
        """Return every site in sight; see `SitePort.visible`."""
        if self._context.is_selected:
            return await self._granted()
        found, _ = await self._context.pages.every(
            (V1, "sites"),
            (("search", "*"), selected_fields.SITE, _PAGE),
            ODataPage[response_types.Site],
            most=MOST_SITES,
        )
        sites = {one.site: one for one in map(mapping.site, found) if one is not None}
        if not any(one.is_personal_site for one in sites.values()):
            sites |= await self._own()
        return tuple(sites.values())

    async def get(self, site: str) -> records.Site:
        """Read one site; see `SitePort.get`."""
        self.admit_site(site)
        found = mapping.site(
            await self._context.read(
                response_types.Site, "sites", site, params=(selected_fields.SITE,)
            )
        )
        if found is None or found.site != site:
            raise Missing
        return found

    async def drives(
        self, sites: Collection[str]
    ) -> Mapping[str, tuple[records.Drive, ...] | Unknown]:
        """Return the libraries of sites; see `SitePort.drives`."""
        asked = [one for one in dict.fromkeys(sites) if self.sees(one)]
        params = (selected_fields.DRIVE, _PAGE)
        answers = await batch.read_all(
            self._context.upstream,
            {one: BatchRequest(("sites", one, "drives"), params) for one in asked},
        )
        found: dict[str, tuple[records.Drive, ...] | Unknown] = dict.fromkeys(sites, ())
        for one, answer in answers.items():
            failure = batched_read_failure(answer)
            if failure is not None:
                found[one] = () if isinstance(failure, Missing) else UNKNOWN
                continue
            leaf = answer.decode(ODataPage[response_types.Drive])
            drives = leaf.value
            if leaf.next_link is not None:
                rest, _ = await self._context.pages.every(
                    (V1, "sites", one, "drives"),
                    params,
                    ODataPage[response_types.Drive],
                    most=MOST_SITES,
                )
                drives = tuple(rest)
            found[one] = self._kept(drives, of=one)
        return found

    async def get_drives(
        self, drives: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries; see `SitePort.get_drives`."""
        answers = await batch.read_all(
            self._context.upstream,
            {
                one: BatchRequest(("drives", one), (selected_fields.DRIVE,))
                for one in dict.fromkeys(drives)
            },
        )
        found: dict[str, records.Drive | Unknown | None] = {}
        for one, answer in answers.items():
            failure = batched_read_failure(answer)
            if failure is not None:
                found[one] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            read = self._kept((answer.decode(response_types.Drive),))
            same = next((drive for drive in read if drive.drive == one), None)
            found[one] = None if same is None or not self._sees_drive(same) else same
        return found

    async def default_drive(self) -> records.Drive:
        """Return the library for things that name no other; see `SitePort.default_drive`."""
        ways = (
            [("sites", one, "drive") for one in sorted(self.chosen)]
            if self._context.is_selected
            else [("me", "drive"), ("sites", "root", "drive")]
        )
        for way in ways:
            try:
                drive = await self._context.read(
                    response_types.Drive, *way, params=(selected_fields.DRIVE,)
                )
            except Missing:
                continue
            of = way[1] if self._context.is_selected else None
            kept = self._kept((drive,), of=of)
            if kept:
                return kept[0]
        raise Missing

    # -- who may see what

    def sees(self, site: str) -> bool:
        """Whether a site is not out of bounds for this connection."""
        return not self._context.is_selected or site in self.chosen

    def admit_site(self, site: str) -> None:
        """
        Let pass what lies in a site of this connection.

        Raises:
            Missing: The site is out of bounds.
        """
        if not self.sees(site):
            raise Missing

    async def admit_drive(self, drive: str) -> None:
        """
        Let pass what lies in a library of this connection.

        Raises:
            Missing: Its site is out of bounds, or cannot be told.
        """
        if self._context.is_selected and drive not in await self.admitted((drive,)):
            raise Missing

    async def admitted(self, drives: Collection[str]) -> frozenset[str]:
        """
        Return which of the libraries lie in sites of this connection.

        Raises:
            Broken: That cannot be told now.
        """
        if not self._context.is_selected:
            return frozenset(drives)
        known = {one: self._context.cache.drive_sites.get(one) for one in drives}
        unknown = [one for one, site in known.items() if site is None]
        if unknown:
            for one, drive in (await self.get_drives(unknown)).items():
                if drive is UNKNOWN:
                    raise Broken
                if isinstance(drive, records.Drive) and drive.site is not UNKNOWN:
                    known[one] = drive.site
        return frozenset(one for one, site in known.items() if site is not None and self.sees(site))

    async def drive_name(self, drive: str) -> str | None:
        """Return a library's name, None when it cannot be told."""
        known = self._context.cache.drive_names.get(drive)
        if known is not None:
            return known
        try:
            found = (await self.get_drives((drive,)))[drive]
        except ProviderFailure:
            return None
        return found.name if isinstance(found, records.Drive) else None

    def _sees_drive(self, drive: records.Drive) -> bool:
        return not self._context.is_selected or (
            drive.site is not UNKNOWN and drive.site in self.chosen
        )

    def _kept(
        self, drives: Collection[response_types.Drive], *, of: str | None = None
    ) -> tuple[records.Drive, ...]:
        """Make records of libraries, and remember what never changes of them."""
        kept = {}
        for one in drives:
            drive = mapping.drive(one, of)
            if drive is None:
                continue
            kept[drive.drive] = drive
            if drive.site is not UNKNOWN:
                self._context.cache.drive_sites.put(drive.drive, drive.site)
            if drive.name:
                self._context.cache.drive_names.put(drive.drive, drive.name)
        return tuple(kept.values())

    async def _granted(self) -> tuple[records.Site, ...]:
        """Read the chosen sites; a grant that was taken back makes one disappear silently."""
        answers = await batch.read_all(
            self._context.upstream,
            {
                one: BatchRequest(("sites", one), (selected_fields.SITE,))
                for one in sorted(self.chosen)
            },
        )
        found = []
        for one, answer in answers.items():
            failure = batched_read_failure(answer)
            if failure is not None and not isinstance(failure, Missing):
                raise failure
            site = None if failure is not None else mapping.site(answer.decode(response_types.Site))
            if site is not None and site.site == one:
                found.append(site)
        return tuple(found)

    async def _own(self) -> dict[str, records.Site]:
        """Return the caller's personal site, when there is one."""
        try:
            drive = await self._context.read(
                response_types.Drive, "me", "drive", params=(selected_fields.DRIVE,)
            )
            own = mapping.site_of(None, drive.share_point_ids)
            return {} if own is None else {own: await self.get(own)}
        except (Missing, Refused, Broken):
            return {}
