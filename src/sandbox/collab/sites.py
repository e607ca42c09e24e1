"""Sites: found, listed, and one by one. Source: wire report 1D.1."""

from typing import Any

from sandbox.collab import records as r
from sandbox.collab.endpoint import Door
from sandbox.collab.errors import bad, denied, not_found
from sandbox.collab.paging import page
from sandbox.collab.requests import READ_SITES, Call
from sandbox.collab.store import person_id
from sandbox.http import Response
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options, selected
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
_ROLES = ("read", "write", "owner", "fullcontrol")


def install(door: Door) -> None:
    """Add the paths of sites, and of the calling user."""
    add = door.routes.add
    add("GET", "/sites", sites)
    add("GET", "/sites/getAllSites", all_sites)
    add("GET", "/me/followedSites", followed)
    add("GET", "/sites/{site}", site_itself)
    add("GET", "/sites/{site}/sites", below)
    add("GET", "/sites/{site}/permissions", grants)
    add("POST", "/sites/{site}/permissions", grant)
    add("DELETE", "/sites/{site}/permissions/{permission}", ungrant)
    add("GET", "/me", me)


def me(call: Call) -> Response:
    """Answer the calling user."""
    call.as_user()
    return ok(
        {
            "@odata.context": call.context("users/$entity"),
            "displayName": call.store.name_of(call.account),
            "mail": call.account,
            "userPrincipalName": call.account,
            "id": person_id(call.account),
        }
    )


def sites(call: Call) -> Response:
    """Find sites by a word of their name, title or address; ``*`` or nothing finds all."""
    if call.is_selected:
        raise denied("Search is not supported for this permission.")
    call.needs(READ_SITES)
    given = call.request.first("search") or call.request.first("$search")
    wanted = given.strip().strip('"').casefold()
    found = [
        site
        for site in call.store.every(r.Site)
        if call.enters(site) and all(_says(site, word.strip("*")) for word in wanted.split())
    ]
    return _page(call, found, "sites")


def _says(site: r.Site, word: str) -> bool:
    return word in f"{site.name} {site.title} {site.description} {site.url}".casefold()


def all_sites(call: Call) -> Response:
    """List every site: for applications with all sites alone."""
    if not call.app_only:
        raise denied("This API is not supported for delegated permissions.")
    call.needs(READ_SITES)
    return _page(call, call.store.every(r.Site), "sites")


def followed(call: Call) -> Response:
    """List the sites that the user follows."""
    call.as_user()
    call.needs(READ_SITES)
    found = [site for site in call.store.every(r.Site) if call.account in site.followers]
    return _page(call, found, "sites")


def site_itself(call: Call, site: str) -> Response:
    """Answer one site."""
    found = call.site(site)
    options, _ = call.options(SHAPE, expandable=_PARTS)
    return ok({"@odata.context": call.context("sites/$entity"), **_written(found, options)})


def below(call: Call, site: str) -> Response:
    """List the sites below a site by their addresses."""
    top = call.site(site)
    found = [
        one
        for one in call.store.every(r.Site)
        if top.path and one.host == top.host and one.path.startswith(f"{top.path}/")
    ]
    return _page(call, [one for one in found if call.enters(one)], "sites")


# -- what applications were granted


def grants(call: Call, site: str) -> Response:
    """List the applications that a site was granted to."""
    found = call.site(site)
    call.needs(("Sites.FullControl.All",))
    given = [one for one in call.store.every(r.SiteGrant) if one.site_id == found.id]
    value = [_granted(one) for one in given]
    return ok({"@odata.context": call.context("permissions"), "value": value})


def grant(call: Call, site: str) -> Response:
    """Grant a site to an application."""
    found = call.site(site)
    call.needs(("Sites.FullControl.All",))
    body = call.json()
    roles = body.get("roles")
    if not isinstance(roles, list) or len(roles) != 1 or roles[0] not in _ROLES:
        raise bad("The roles are one of read, write, owner and fullcontrol.")
    named = body.get("grantedToIdentitiesV2") or body.get("grantedToIdentities")
    first = named[0] if isinstance(named, list) and named else body.get("grantedTo")
    whom = first if isinstance(first, dict) else {}
    application = call.inner(whom, "application").get("id")
    if not isinstance(application, str) or not application:
        raise bad("The application is not named.")
    given = r.SiteGrant(site_id=found.id, application=application, role=str(roles[0]))
    call.store.put(given)
    return ok({"@odata.context": call.context("permissions/$entity"), **_granted(given)}, 201)


def ungrant(call: Call, site: str, permission: str) -> Response:
    """Take a site away from an application."""
    found = call.site(site)
    call.needs(("Sites.FullControl.All",))
    for one in call.store.every(r.SiteGrant):
        if one.site_id == found.id and one.application == permission:
            call.store.drop(one)
            return empty(204)
    raise not_found()


def _granted(one: r.SiteGrant) -> dict[str, Any]:
    application = {"application": {"id": one.application, "displayName": one.application}}
    return {
        "id": one.application,
        "roles": [one.role],
        "grantedToIdentitiesV2": [application],
        "grantedToIdentities": [application],
    }


# -- writing


def _page(call: Call, found: list[r.Site], context: str) -> Response:
    pairs = [(name, value) for name, value in call.request.query if name.lower() != "$search"]
    options = query_options.read(pairs, SHAPE, expandable=_PARTS, max_top=999)
    if options.skip is not None:
        raise QueryError("$skip is not supported on this API.")
    if any(order.path != "createdDateTime" for order in options.orderby):
        raise QueryError("Sites can be ordered by createdDateTime alone.")
    if options.filter is not None:
        found = [site for site in found if options.filter.matches(full(site))]
    if options.orderby:
        found = sorted(found, key=lambda site: site.created, reverse=options.orderby[0].descending)
    return page(
        call,
        found,
        options,
        key=lambda site: site.id,
        write=lambda site: _written(site, options),
        context=context,
    )


def _written(site: r.Site, options: Options) -> dict[str, Any]:
    record = full(site)
    if "sharepointIds" in options.select:
        _, collection, web = site.id.split(",")
        record["sharepointIds"] = {"siteId": collection, "webId": web, "siteUrl": site.url}
    return selected(record, options.select, always=())


def full(site: r.Site) -> dict[str, Any]:
    """Write everything about a site."""
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
