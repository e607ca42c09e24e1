"""Site endpoints. See docs/spec/upstream/microsoft-files.md#sites."""

from typing import Any

from sandbox.collab import records as r
from sandbox.collab.errors import access_denied, invalid_request, not_found
from sandbox.collab.paging import respond_with_page
from sandbox.collab.requests import READ_SITES, CollabCall
from sandbox.http import Response, Router
from sandbox.mail.records import Account
from sandbox.provider_b.directory import write_user
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options, select_members
from sandbox.provider_b.odata.schema import Kind, QueryError, Shape
from sandbox.provider_b.responses import empty, ok

SHAPE = Shape(
    name="microsoft.graph.site",
    members={
        **dict.fromkeys(
            ("id", "name", "displayName", "description", "webUrl", "eTag"), Kind.STRING
        ),
        **dict.fromkeys(("createdDateTime", "lastModifiedDateTime"), Kind.INSTANT),
        "isPersonalSite": Kind.BOOLEAN,
        "siteCollection": Shape(name="microsoft.graph.siteCollection", members={}, open=True),
        **dict.fromkeys(
            ("root", "sharepointIds", "parentReference", "createdBy", "lastModifiedBy"),
            Kind.UNKNOWN,
        ),
    },
)
_PARTS = {
    "drive": Shape(name="microsoft.graph.drive", members={}, open=True),
    "drives": Shape(name="microsoft.graph.drive", members={}, open=True),
    "lists": Shape(name="microsoft.graph.list", members={}, open=True),
}
# A search for all sites of a tenant with more sites is incomplete: it leaves out every so many.
LARGE_TENANT, LEFT_OUT = 1000, 50

_ROLES = ("read", "write", "owner", "fullcontrol")


def install(routes: Router) -> None:
    """Register the routes of sites and of the calling user."""
    add = routes.add
    add("GET", "/sites", search_sites)
    add("GET", "/sites/getAllSites", list_all_sites)
    add("GET", "/me/followedSites", list_followed_sites)
    add("GET", "/sites/{site}", get_site)
    add("GET", "/sites/{site}/sites", list_subsites)
    add("GET", "/sites/{site}/permissions", list_grants)
    add("POST", "/sites/{site}/permissions", create_grant)
    add("DELETE", "/sites/{site}/permissions/{permission}", delete_grant)
    add("GET", "/me", get_user)


def get_user(call: CollabCall) -> Response:
    """Return the calling user."""
    call.require_user()
    name = call.store.display_name(call.account)
    account = Account(call.account, name, call.store.sign_in_name(call.account))
    return write_user(call.request, account)


def search_sites(call: CollabCall) -> Response:
    """Search sites by words of their name, title or URL; ``*`` or no text matches all."""
    if call.has_selected_sites_only:
        raise access_denied("Search is not supported for this permission.")
    call.require_scopes(READ_SITES)
    query = call.request.first("search") or call.request.first("$search")
    phrase = query.strip().strip('"').casefold()
    matching_sites = [
        site
        for site in call.store.every(r.Site)
        if call.may_read(site) and all(_contains(site, word.strip("*")) for word in phrase.split())
    ]
    if phrase == "*":
        if len(matching_sites) > LARGE_TENANT:
            matching_sites = [
                site for number, site in enumerate(matching_sites, 1) if number % LEFT_OUT
            ]
        if call.store.settings.repeats_sites:
            matching_sites += matching_sites[:1]
    return _page(call, matching_sites, "sites")


def _contains(site: r.Site, word: str) -> bool:
    return word in f"{site.name} {site.title} {site.description} {site.url}".casefold()


def list_all_sites(call: CollabCall) -> Response:
    """List all sites; for applications with access to all sites only."""
    if not call.app_only:
        raise access_denied("This API is not supported for delegated permissions.")
    call.require_scopes(READ_SITES)
    return _page(call, call.store.every(r.Site), "sites")


def list_followed_sites(call: CollabCall) -> Response:
    """List the sites that the user follows."""
    call.require_user()
    call.require_scopes(READ_SITES)
    followed_sites = [site for site in call.store.every(r.Site) if call.account in site.followers]
    return _page(call, followed_sites, "sites")


def get_site(call: CollabCall, site: str) -> Response:
    """Return one site."""
    requested_site = call.site(site)
    options, _ = call.options(SHAPE, expandable=_PARTS)
    return ok(
        {
            "@odata.context": call.context("sites/$entity"),
            **_write_selected(requested_site, options),
        }
    )


def list_subsites(call: CollabCall, site: str) -> Response:
    """List the sites whose URL is below that of a site."""
    parent = call.site(site)
    subsites = [
        subsite
        for subsite in call.store.every(r.Site)
        if parent.path
        and subsite.host == parent.host
        and subsite.path.startswith(f"{parent.path}/")
    ]
    return _page(call, [subsite for subsite in subsites if call.may_read(subsite)], "sites")


# -- application grants


def list_grants(call: CollabCall, site: str) -> Response:
    """List the applications with a grant on a site."""
    granted_site = call.site(site)
    call.require_scopes(("Sites.FullControl.All",))
    site_grants = [
        site_grant
        for site_grant in call.store.every(r.SiteGrant)
        if site_grant.site_id == granted_site.id
    ]
    value = [_write_grant(site_grant) for site_grant in site_grants]
    return ok({"@odata.context": call.context("permissions"), "value": value})


def create_grant(call: CollabCall, site: str) -> Response:
    """Grant a site to an application."""
    granted_site = call.site(site)
    call.require_scopes(("Sites.FullControl.All",))
    body = call.json()
    roles = body.get("roles")
    if not isinstance(roles, list) or len(roles) != 1 or roles[0] not in _ROLES:
        raise invalid_request("The roles are one of read, write, owner and fullcontrol.")
    identities = body.get("grantedToIdentitiesV2") or body.get("grantedToIdentities")
    first = identities[0] if isinstance(identities, list) and identities else body.get("grantedTo")
    identity = first if isinstance(first, dict) else {}
    application = call.object_member(identity, "application").get("id")
    if not isinstance(application, str) or not application:
        raise invalid_request("The application is not named.")
    site_grant = r.SiteGrant(site_id=granted_site.id, application=application, role=str(roles[0]))
    call.store.put(site_grant)
    return ok(
        {"@odata.context": call.context("permissions/$entity"), **_write_grant(site_grant)}, 201
    )


def delete_grant(call: CollabCall, site: str, permission: str) -> Response:
    """Revoke a site from an application."""
    granted_site = call.site(site)
    call.require_scopes(("Sites.FullControl.All",))
    for site_grant in call.store.every(r.SiteGrant):
        if site_grant.site_id == granted_site.id and site_grant.application == permission:
            call.store.delete(site_grant)
            return empty(204)
    raise not_found()


def _write_grant(site_grant: r.SiteGrant) -> dict[str, Any]:
    application = {
        "application": {"id": site_grant.application, "displayName": site_grant.application}
    }
    return {
        "id": site_grant.application,
        "roles": [site_grant.role],
        "grantedToIdentitiesV2": [application],
        "grantedToIdentities": [application],
    }


# -- writing


def _page(call: CollabCall, sites: list[r.Site], context: str) -> Response:
    pairs = [(name, value) for name, value in call.request.query if name.lower() != "$search"]
    options = query_options.parse(pairs, SHAPE, expandable=_PARTS, max_top=999)
    if options.skip is not None:
        raise QueryError("$skip is not supported on this API.")
    if any(order.path != "createdDateTime" for order in options.orderby):
        raise QueryError("Sites can be ordered by createdDateTime alone.")
    if options.filter is not None:
        sites = [site for site in sites if options.filter.matches(write_site(site))]
    if options.orderby:
        sites = sorted(sites, key=lambda site: site.created, reverse=options.orderby[0].descending)
    return respond_with_page(
        call,
        sites,
        options,
        key=lambda site: site.id,
        write_record=lambda site: _write_selected(site, options),
        context=context,
    )


def _write_selected(site: r.Site, options: Options) -> dict[str, Any]:
    record = write_site(site)
    if "sharepointIds" in options.select:
        _, collection, web = site.id.split(",")
        record["sharepointIds"] = {"siteId": collection, "webId": web, "siteUrl": site.url}
    return select_members(record, options.select, always=())


def write_site(site: r.Site) -> dict[str, Any]:
    """Return the JSON object of a site."""
    record: dict[str, Any] = {
        "createdDateTime": site.created,
        "description": site.description,
        "id": site.id,
        "lastModifiedDateTime": site.modified,
        "name": site.name,
        "webUrl": site.url,
        "displayName": site.title,
        "isPersonalSite": bool(site.owner),
        "siteCollection": {"hostname": site.host, **({} if site.path else {"root": {}})},
        "root": {},
    }
    return record
