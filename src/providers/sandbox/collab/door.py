"""
The way into the collaboration content: who calls, what they may, and what they mean by the path.

A user sees what they are a member of; an application with all sites sees all; one with selected
sites sees those it was granted. Source: wire report 1D.1, 3.2, 7.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from providers.sandbox.collab import paths
from providers.sandbox.collab import records as r
from providers.sandbox.collab.answers import bad, denied, locked, not_found, stale
from providers.sandbox.collab.meter import Meter
from providers.sandbox.collab.shelf import Shelf, person_id
from providers.sandbox.ground import Ground
from providers.sandbox.provider_b import odata
from providers.sandbox.provider_b.answers import Refusal, problem, query_refusal
from providers.sandbox.provider_b.odata import Options
from providers.sandbox.provider_b.schema import QueryError, Shape
from providers.sandbox.wire import Answer, Handler, Request, Routes

READ_SITES = frozenset(
    ("Sites.Read.All", "Sites.ReadWrite.All", "Sites.Manage.All", "Sites.FullControl.All")
)
WRITE_SITES = READ_SITES - {"Sites.Read.All"}
READ_FILES = READ_SITES | {"Files.Read", "Files.Read.All", "Files.ReadWrite", "Files.ReadWrite.All"}
WRITE_FILES = WRITE_SITES | {"Files.ReadWrite", "Files.ReadWrite.All"}
SELECTED = "Sites.Selected"

_SITE_ID = re.compile(r"^[^,/:]+,[0-9a-f-]{36},[0-9a-f-]{36}$", re.IGNORECASE)
_DRIVE_ID = re.compile(r"^b![A-Za-z0-9_-]{40,}$")
_ETAG = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"^\d{1,9}$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """
    A request on its way to an endpoint.

    Attributes:
        version: "v1.0" or "beta".
        account: Whose token it is: an address, or an application's name.
        scopes: Without the resource they belong to.
    """

    request: Request
    shelf: Shelf
    version: str
    account: str
    scopes: frozenset[str]
    app_only: bool

    # -- permissions

    def needs(self, scopes: Collection[str], site: r.Site | None = None) -> None:
        """
        Demand one of *scopes*, and that the caller may enter *site*.

        Raises:
            Refusal: accessDenied.
        """
        writing = not {"Sites.Read.All", "Files.Read.All"}.intersection(scopes)
        if self.scopes.intersection(scopes):
            if site is None or self.app_only or self._is_member(site):
                return
            raise denied()
        if SELECTED not in self.scopes or site is None or not self.app_only:
            raise denied()
        grant = self.shelf.get(r.SiteGrant, f"{site.id} {self.account}")
        if grant is None or (writing and grant.role == "read"):
            raise denied()

    @property
    def is_selected(self) -> bool:
        """Whether the caller is an application with selected sites and nothing more."""
        return self.app_only and SELECTED in self.scopes and not self.scopes & READ_SITES

    def enters(self, site: r.Site) -> bool:
        """Whether the caller may read in *site*."""
        try:
            self.needs(READ_FILES, site)
        except Refusal:
            return False
        return True

    def _is_member(self, site: r.Site) -> bool:
        if site.owner:
            return site.owner == self.account or self.account in site.members
        return not site.members or self.account in site.members

    def by(self) -> str:
        """Return the address that changes are signed with."""
        return "app@sharepoint" if self.app_only else self.account

    # -- what the path names

    def site(self, reference: str) -> r.Site:
        """
        Find a site by id, "root", host or ``host:/path`` (below a site: ``id:/path``).

        Raises:
            Refusal: It is malformed, unknown, or closed to the caller.
        """
        head, path = paths.head_and_path(reference)
        found = self._site(head)
        if path is not None:
            below = f"{found.path}/{'/'.join(path)}".rstrip("/").casefold()
            host = found.host.casefold()
            found = next(
                (
                    site
                    for site in self.shelf.every(r.Site)
                    if site.path.casefold() == below and site.host.casefold() == host
                ),
                None,
            ) or _raise(not_found("Requested site could not be found"))
        self.needs(READ_FILES, found)
        return found

    def _site(self, head: str) -> r.Site:
        sites = self.shelf.every(r.Site)
        if head == "root":
            return next((site for site in sites if not site.path), None) or _raise(not_found())
        if "," in head:
            if not _SITE_ID.match(head):
                raise bad(
                    "Provided identifier is malformed - site collection id is not valid",
                )
            wanted = head.lower()
            found = next((site for site in sites if site.id.lower() == wanted), None)
        elif re.fullmatch(r"[0-9a-fA-F-]{36}", head):
            found = next((site for site in sites if head.lower() in site.id.lower()), None)
        else:
            on_host = [site for site in sites if site.host.casefold() == head.casefold()]
            found = next((site for site in on_host if not site.path), None)
            if found is None and on_host:  # a host without a root site of its own
                return _hostless(on_host[0])
            if not on_host and "." not in head:
                raise bad("Invalid hostname for this tenancy")
        return found or _raise(not_found("Requested site could not be found"))

    def drive(self, reference: str) -> r.Library:
        """
        Find a library.

        Raises:
            Refusal: It is malformed, unknown, or closed to the caller.
        """
        found = self.shelf.get(r.Library, reference)
        if found is None:
            if not _DRIVE_ID.match(reference):
                raise bad(
                    "The provided drive id appears to be malformed, or does not represent a valid "
                    "drive."
                )
            raise not_found()
        return found

    def site_of(self, drive: r.Library) -> r.Site:
        """Return the site of a library."""
        return self.shelf.get(r.Site, drive.site_id) or _raise(not_found())

    def item(
        self, drive_id: str, reference: str, *, scopes: Collection[str] = READ_FILES
    ) -> r.Item:
        """
        Find a file or folder by id, "root", or a path below either.

        Raises:
            Refusal: It is unknown, or closed to the caller.
        """
        drive = self.drive(drive_id)
        head, path = paths.head_and_path(reference)
        found = self.shelf.item(drive.id, drive.root_id if head == "root" else head)
        for name in path or ():
            found = self.shelf.child(found, name) if found is not None else None
        try:
            self.needs(scopes, self.site_of(drive))
        except Refusal:
            if found is None or not self._is_shared(found, scopes):
                raise
        return found or _raise(not_found())

    def _is_shared(self, item: r.Item, scopes: Collection[str]) -> bool:
        """Whether the item, or a folder above it, was shared with the calling user."""
        if self.app_only or not self.scopes.intersection(scopes):
            return False
        writing = "Files.Read.All" not in scopes
        return any(
            self.account in share.to and not (writing and share.role == "read")
            for one in (item, *self.shelf.ancestors(item))
            for share in self.shelf.shares(one)
        )

    def changeable(self, drive_id: str, reference: str) -> r.Item:
        """
        Find an item that is to be changed.

        Raises:
            Refusal: As `item`; or it is locked, or not at the version of `If-Match`.
        """
        item = self.item(drive_id, reference, scopes=WRITE_FILES)
        self.unchanged(f'"{{{item.guid.upper()}}},{item.version}"')
        if item.is_locked:
            raise locked()
        return item

    def unchanged(self, etag: str) -> None:
        """
        Hold `If-Match` against the current version.

        Raises:
            Refusal: resourceModified.
        """
        given = self.request.headers.get("if-match", "").strip()
        if given and given != "*" and etag not in _ETAG.findall(given):
            raise stale()

    def list_in(
        self, site: r.Site, reference: str, *, scopes: Collection[str] = READ_SITES
    ) -> r.SiteList:
        """
        Find a list of a site by id, name or title.

        Raises:
            Refusal: It is unknown, or closed to the caller.
        """
        self.needs(scopes, site)
        folded = reference.casefold()
        for found in self.shelf.every(r.SiteList):
            if found.site_id == site.id and folded in (
                found.id.casefold(),
                found.name.casefold(),
                found.title.casefold(),
            ):
                return found
        raise not_found()

    def number(self, reference: str) -> int:
        """
        Read the id of a list item.

        Raises:
            Refusal: No list item could have it.
        """
        if not _NUMBER.match(reference):
            raise not_found()
        return int(reference)

    def default_drive(self, site: r.Site) -> r.Library:
        """
        Return the site's first library.

        Raises:
            Refusal: It has none.
        """
        self.needs(READ_FILES, site)
        for drive in self.shelf.every(r.Library):
            if drive.site_id == site.id:
                return drive
        raise not_found()

    def own_drive(self) -> r.Library:
        """
        Return the caller's personal library.

        Raises:
            Refusal: An application has none.
        """
        self.as_user()
        for site in self.shelf.every(r.Site):
            if site.owner == self.account:
                return self.default_drive(site)
        raise not_found("User's mysite not found.")

    def as_user(self) -> None:
        """
        Refuse applications.

        Raises:
            Refusal: There is no user behind the token.
        """
        if self.app_only:
            raise bad("/me request is only valid with delegated authentication flow.", "BadRequest")

    # -- reading and writing

    def options(
        self, shape: Shape, *, expandable: dict[str, Shape] | None = None, most: int = 999
    ) -> tuple[Options, frozenset[str]]:
        """
        Read the query options, and which annotations `$select` names.

        Raises:
            QueryError: One is refused.
        """
        pairs, annotations = _without_annotations(self.request.query)
        options = odata.read(pairs, shape, expandable=expandable or {}, max_top=most)
        if options.skip is not None:
            raise QueryError(
                "$skip is not supported on this API. Only URLs returned by the API can be used "
                "to page."
            )
        return options, annotations

    def json(self) -> dict[str, Any]:
        """
        Read the body as a JSON object; no body is an empty one.

        Raises:
            Refusal: It is something else.
        """
        try:
            body = self.request.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise bad("Unable to read JSON request payload.", "BadRequest")
        return body

    def context(self, path: str) -> str:
        """Write the `@odata.context` of what lies at *path*."""
        return f"{self.request.public}/{self.version}/$metadata#{path}"


def _hostless(site: r.Site) -> r.Site:
    """Stand in for the root of a host that has no site there: only a path below it is asked."""
    return msgspec.structs.replace(site, path="", owner="", members=())


Endpoint = Callable[..., Answer]


class Door:
    """
    The wire below ``/v1.0`` and ``/beta``.

    Attributes:
        routes: (method, pattern in the one spelling) -> ``endpoint(call, **taken)``.
    """

    def __init__(self, ground: Ground) -> None:
        self.shelf = ground.shelf
        self.routes = Routes()
        self._meter = Meter(ground.shelf)

    def handler(self) -> Handler:
        """Return the wire."""

        async def wire(request: Request) -> Answer | None:
            if request.segments[1:2] == ("$batch",):
                return None
            self.shelf.refresh()
            return await self.answer(request)

        return wire

    async def answer(self, request: Request) -> Answer:
        """Answer a call."""
        grant = request.grant
        call = Call(
            request=request,
            shelf=self.shelf,
            version=request.segments[0],
            account=grant.account if grant else "",
            scopes=frozenset(scope.rsplit("/", 1)[-1] for scope in (grant.scopes if grant else ())),
            app_only=grant is not None and grant.app_only,
        )
        headers: dict[str, str] = {}
        try:
            headers = self._meter.charge(call.account, request)
            answer = await self._answer(call)
        except QueryError as error:
            answer = problem(query_refusal(error, code="invalidRequest"), request)
        except Refusal as refusal:
            answer = problem(refusal, request)
        given = request.headers.get("client-request-id")
        if given is not None:
            headers["client-request-id"] = given
        return replace(answer, headers={**answer.headers, **headers})

    async def _answer(self, call: Call) -> Answer:
        segments = resolved(call, paths.spelt(call.request.segments[1:]))
        found = self.routes.find(call.request.method, segments)
        if found is None:
            if self.routes.knows(segments):
                raise Refusal(
                    405, "BadRequest", "The HTTP method is not supported for this resource."
                )
            raise bad(
                f"Resource not found for the segment '{segments[-1] if segments else ''}'.",
                "BadRequest",
            )
        endpoint, taken = found
        answer = endpoint(call, **taken)
        return answer if isinstance(answer, Answer) else await answer


def resolved(call: Call, segments: tuple[str, ...]) -> tuple[str, ...]:
    """
    Lead every way to a library, an item or a list to the one that the routes know.

    Raises:
        Refusal: A part of the way is unknown or closed.
    """
    match segments:
        case ("users", who, *rest) if who.casefold() in (
            call.account.casefold(),
            person_id(call.account),
        ):
            return resolved(call, ("me", *rest))
        case ("me", "drive", *rest):
            return resolved(call, ("drives", call.own_drive().id, *rest))
        case ("drive", *rest):
            return resolved(call, ("drives", call.default_drive(call.site("root")).id, *rest))
        case ("sites", site, "getByPath", path, *rest):
            return resolved(call, ("sites", f"{site}:/{path.strip('/')}", *rest))
        case ("sites", site, "drive", *rest):
            return resolved(call, ("drives", call.default_drive(call.site(site)).id, *rest))
        case ("sites", site, "drives", drive, *rest):
            if call.drive(drive).site_id != call.site(site).id:
                raise not_found()
            return resolved(call, ("drives", drive, *rest))
        case ("sites", site, "lists", one, "drive", *rest):
            found = call.list_in(call.site(site), one)
            if not found.drive_id:
                raise not_found()
            return resolved(call, ("drives", found.drive_id, *rest))
        case ("drives", drive, "list", *rest):
            library = call.drive(drive)
            return resolved(call, ("sites", library.site_id, "lists", library.list_id, *rest))
        case ("drives", drive, root, *rest) if root == "root" or root.startswith("root:/"):
            return resolved(call, ("drives", drive, "items", root, *rest))
        case ("drives", drive, "items", item, "listItem", *rest):
            library, number = call.drive(drive), call.item(drive, item).number
            way = ("sites", library.site_id, "lists", library.list_id, "items", str(number), *rest)
            return resolved(call, way)
        case ("sites", site, "lists", one, "items", number, "driveItem", *rest):
            found = call.list_in(call.site(site), one)
            face = call.shelf.item_by_number(found.drive_id, call.number(number))
            if face is None:
                raise not_found()
            return resolved(call, ("drives", face.drive_id, "items", face.id, *rest))
    return segments


def _without_annotations(
    query: tuple[tuple[str, str], ...],
) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """Take ``@…`` names out of `$select`, which knows properties only."""
    pairs, annotations = [], frozenset[str]()
    for name, value in query:
        if name.startswith("@") or name.lower() not in ("$select", "select"):
            pairs.append((name, value))
            continue
        names = [one.strip() for one in value.split(",")]
        annotations = frozenset(
            one for one in names if one.startswith("@") or one == "content.downloadUrl"
        )
        kept = [one for one in names if one and one not in annotations]
        pairs.append((name, ",".join(kept) or "id"))
    return pairs, annotations


def _raise(refusal: Refusal) -> Any:
    raise refusal
