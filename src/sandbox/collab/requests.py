"""
A request with its caller, permissions, referenced resources and query options.

A user sees the sites they are a member of; an application with all sites sees all sites; an
application with selected sites sees the granted ones.
See docs/spec/upstream/microsoft-files.md#selected-sites.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from sandbox.collab import paths
from sandbox.collab import records as r
from sandbox.collab.errors import access_denied, etag_mismatch, invalid_request, locked, not_found
from sandbox.collab.store import ContentStore
from sandbox.http import Request
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.odata.schema import QueryError, Shape
from sandbox.provider_b.responses import GraphError

READ_SITES = frozenset(
    ("Sites.Read.All", "Sites.ReadWrite.All", "Sites.Manage.All", "Sites.FullControl.All")
)
WRITE_SITES = READ_SITES - {"Sites.Read.All"}
READ_FILES = READ_SITES | {"Files.Read", "Files.Read.All", "Files.ReadWrite", "Files.ReadWrite.All"}
WRITE_FILES = WRITE_SITES | {"Files.ReadWrite", "Files.ReadWrite.All"}
SELECTED_SITES = "Sites.Selected"

_SITE_ID = re.compile(r"^[^,/:]+,[0-9a-f-]{36},[0-9a-f-]{36}$", re.IGNORECASE)
_DRIVE_ID = re.compile(r"^b![A-Za-z0-9_-]{40,}$")
_ETAG = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"^\d{1,9}$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollabCall:
    """
    A request to the content API.

    Attributes:
        version: "v1.0" or "beta".
        account: Owner of the token: an e-mail address, or an application's name.
        scopes: Scopes of the token, without the resource prefix.
    """

    request: Request
    store: ContentStore
    version: str
    account: str
    scopes: frozenset[str]
    app_only: bool

    # -- permissions

    def require_scopes(self, scopes: Collection[str], site: r.Site | None = None) -> None:
        """
        Require one of *scopes*, and access to *site*.

        Raises:
            GraphError: accessDenied.
        """
        writing = not {"Sites.Read.All", "Files.Read.All"}.intersection(scopes)
        if self.scopes.intersection(scopes):
            if site is None or self.app_only or self._is_member(site):
                return
            raise access_denied()
        if SELECTED_SITES not in self.scopes or site is None or not self.app_only:
            raise access_denied()
        grant = self.store.get(r.SiteGrant, f"{site.id} {self.account}")
        if grant is None or (writing and grant.role == "read"):
            raise access_denied()

    @property
    def has_selected_sites_only(self) -> bool:
        """Whether the caller is an application whose only access is to selected sites."""
        return self.app_only and SELECTED_SITES in self.scopes and not self.scopes & READ_SITES

    def may_read(self, site: r.Site) -> bool:
        """Whether the caller may read *site*."""
        try:
            self.require_scopes(READ_FILES, site)
        except GraphError:
            return False
        return True

    def _is_member(self, site: r.Site) -> bool:
        if site.owner:
            return site.owner == self.account or self.account in site.members
        return not site.members or self.account in site.members

    def actor(self) -> str:
        """Return the author of the caller's changes."""
        return "app@sharepoint" if self.app_only else self.account

    # -- referenced resources

    def site(self, reference: str) -> r.Site:
        """
        Find a site by id, "root", host or ``host:/path`` (below a site: ``id:/path``).

        Raises:
            GraphError: It is malformed, unknown, or closed to the caller.
        """
        head, path = paths.head_and_path(reference)
        site = self._site(head)
        if path is not None:
            below = f"{site.path}/{'/'.join(path)}".rstrip("/").casefold()
            host = site.host.casefold()
            site = next(
                (
                    site
                    for site in self.store.every(r.Site)
                    if site.path.casefold() == below and site.host.casefold() == host
                ),
                None,
            ) or _raise(not_found("Requested site could not be found"))
        self.require_scopes(READ_FILES, site)
        return site

    def _site(self, head: str) -> r.Site:
        sites = self.store.every(r.Site)
        if head == "root":
            return next((site for site in sites if not site.path), None) or _raise(not_found())
        if "," in head:
            if not _SITE_ID.match(head):
                raise invalid_request(
                    "Provided identifier is malformed - site collection id is not valid"
                )
            site_id = head.lower()
            site = next((site for site in sites if site.id.lower() == site_id), None)
        elif re.fullmatch(r"[0-9a-fA-F-]{36}", head):
            site = next((site for site in sites if head.lower() in site.id.lower()), None)
        else:
            sites_on_host = [site for site in sites if site.host.casefold() == head.casefold()]
            site = next((site for site in sites_on_host if not site.path), None)
            if site is None and sites_on_host:  # a host without a root site of its own
                return _placeholder_root(sites_on_host[0])
            if not sites_on_host and "." not in head:
                raise invalid_request("Invalid hostname for this tenancy")
        return site or _raise(not_found("Requested site could not be found"))

    def drive(self, reference: str) -> r.Library:
        """
        Find a library.

        Raises:
            GraphError: It is malformed, unknown, or closed to the caller.
        """
        library = self.store.get(r.Library, reference)
        if library is None:
            if not _DRIVE_ID.match(reference):
                raise invalid_request(
                    "The provided drive id appears to be malformed, or does not represent a valid "
                    "drive."
                )
            raise not_found()
        return library

    def site_of(self, drive: r.Library) -> r.Site:
        """Return the site of a library."""
        return self.store.get(r.Site, drive.site_id) or _raise(not_found())

    def item(
        self, drive_id: str, reference: str, *, scopes: Collection[str] = READ_FILES
    ) -> r.Item:
        """
        Find a file or folder by id, "root", or a path below either.

        Raises:
            GraphError: It is unknown, or closed to the caller.
        """
        drive = self.drive(drive_id)
        head, path = paths.head_and_path(reference)
        item = self.store.item(drive.id, drive.root_id if head == "root" else head)
        for name in path or ():
            item = self.store.child(item, name) if item is not None else None
        try:
            self.require_scopes(scopes, self.site_of(drive))
        except GraphError:
            if item is None or not self._is_shared(item, scopes):
                raise
        return item or _raise(not_found())

    def _is_shared(self, item: r.Item, scopes: Collection[str]) -> bool:
        """Whether the item, or a folder above it, was shared with the calling user."""
        if self.app_only or not self.scopes.intersection(scopes):
            return False
        writing = "Files.Read.All" not in scopes
        return any(
            self.account in share.to and not (writing and share.role == "read")
            for ancestor in (item, *self.store.ancestors(item))
            for share in self.store.shares(ancestor)
        )

    def item_to_change(self, drive_id: str, reference: str) -> r.Item:
        """
        Find an item for a change.

        Raises:
            GraphError: As `item`; or the item is locked, or has another version than `If-Match`.
        """
        item = self.item(drive_id, reference, scopes=WRITE_FILES)
        self.check_if_match(f'"{{{item.guid.upper()}}},{item.version}"')
        if item.is_locked:
            raise locked()
        return item

    def check_if_match(self, etag: str) -> None:
        """
        Compare `If-Match` with the current version.

        Raises:
            GraphError: resourceModified.
        """
        expected = self.request.headers.get("if-match", "").strip()
        if expected and expected != "*" and etag not in _ETAG.findall(expected):
            raise etag_mismatch()

    def find_list(
        self, site: r.Site, reference: str, *, scopes: Collection[str] = READ_SITES
    ) -> r.SiteList:
        """
        Find a list of a site by id, name or title.

        Raises:
            GraphError: It is unknown, or closed to the caller.
        """
        self.require_scopes(scopes, site)
        folded = reference.casefold()
        for site_list in self.store.every(r.SiteList):
            if site_list.site_id == site.id and folded in (
                site_list.id.casefold(),
                site_list.name.casefold(),
                site_list.title.casefold(),
            ):
                return site_list
        raise not_found()

    def parse_item_number(self, reference: str) -> int:
        """
        Parse the id of a list item.

        Raises:
            GraphError: It is not a number of at most nine digits.
        """
        if not _NUMBER.match(reference):
            raise not_found()
        return int(reference)

    def default_drive(self, site: r.Site) -> r.Library:
        """
        Return the first library of a site.

        Raises:
            GraphError: The site has none.
        """
        self.require_scopes(READ_FILES, site)
        for drive in self.store.every(r.Library):
            if drive.site_id == site.id:
                return drive
        raise not_found()

    def own_drive(self) -> r.Library:
        """
        Return the caller's personal library.

        Raises:
            GraphError: The caller is an application, or has none.
        """
        self.require_user()
        for site in self.store.every(r.Site):
            if site.owner == self.account:
                return self.default_drive(site)
        raise not_found("User's mysite not found.")

    def require_user(self) -> None:
        """
        Refuse applications.

        Raises:
            GraphError: The token is app-only.
        """
        if self.app_only:
            raise invalid_request(
                "/me request is only valid with delegated authentication flow.", "BadRequest"
            )

    # -- reading and writing

    def options(
        self, shape: Shape, *, expandable: dict[str, Shape] | None = None, most: int = 999
    ) -> tuple[Options, frozenset[str]]:
        """
        Parse the query options; return them with the annotations that `$select` names.

        Raises:
            QueryError: An option is malformed or not supported.
        """
        pairs, annotations = _without_annotations(self.request.query)
        options = query_options.parse(pairs, shape, expandable=expandable or {}, max_top=most)
        if options.skip is not None:
            raise QueryError(
                "$skip is not supported on this API. Only URLs returned by the API can be used "
                "to page."
            )
        return options, annotations

    def json(self) -> dict[str, Any]:
        """
        Parse the body as a JSON object; an absent body is an empty object.

        Raises:
            GraphError: It is not an object.
        """
        try:
            body = self.request.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise invalid_request("Unable to read JSON request payload.", "BadRequest")
        return body

    def object_member(self, body: dict[str, Any], name: str) -> dict[str, Any]:
        """
        Return an object-valued member of a body, empty when absent.

        Raises:
            GraphError: It is not an object.
        """
        member = body.get(name)
        if member is None:
            return {}
        if not isinstance(member, dict):
            raise invalid_request(f"The value of '{name}' is not an object.")
        return member

    def context(self, path: str) -> str:
        """Return the `@odata.context` URL of *path*."""
        return f"{self.request.public}/{self.version}/$metadata#{path}"


def _placeholder_root(site: r.Site) -> r.Site:
    """Return a root for a host without one, to resolve paths below it."""
    return msgspec.structs.replace(site, path="", owner="", members=())


def _without_annotations(
    query: tuple[tuple[str, str], ...],
) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """Separate the annotations (``@…``) from the properties in `$select`."""
    pairs, annotations = [], frozenset[str]()
    for name, value in query:
        if name.startswith("@") or name.lower() not in ("$select", "select"):
            pairs.append((name, value))
            continue
        names = [part.strip() for part in value.split(",")]
        annotations = frozenset(
            name for name in names if name.startswith("@") or name == "content.downloadUrl"
        )
        properties = [name for name in names if name and name not in annotations]
        pairs.append((name, ",".join(properties) or "id"))
    return pairs, annotations


def _raise(refusal: GraphError) -> Any:
    raise refusal
