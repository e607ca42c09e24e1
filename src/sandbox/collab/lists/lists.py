"""
Endpoints of lists, their columns and content types.

See docs/spec/upstream/microsoft-files.md#lists.
"""

from typing import Any

from sandbox.collab import records as r
from sandbox.collab.files import items
from sandbox.collab.lists import columns, list_item_views
from sandbox.collab.paging import respond_with_page
from sandbox.collab.requests import READ_SITES, CollabCall
from sandbox.http import Response, Router
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options, select_members
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.responses import ok

SHAPE = Shape(
    name="microsoft.graph.list",
    members={
        **dict.fromkeys(
            ("id", "name", "displayName", "description", "webUrl", "eTag"), Kind.STRING
        ),
        **dict.fromkeys(("createdDateTime", "lastModifiedDateTime"), Kind.INSTANT),
        **dict.fromkeys(
            ("createdBy", "lastModifiedBy", "parentReference", "sharepointIds", "system"),
            Kind.UNKNOWN,
        ),
        "list": Shape(
            name="microsoft.graph.listInfo",
            members={
                "template": Kind.STRING,
                "hidden": Kind.BOOLEAN,
                "contentTypesEnabled": Kind.BOOLEAN,
            },
        ),
    },
)
_PARTS = {
    "columns": columns.SHAPE,
    "contentTypes": columns.CONTENT_TYPE_SHAPE,
    "items": list_item_views.SHAPE,
    "drive": Shape(name="microsoft.graph.drive", members={}, open=True),
}


def install(routes: Router) -> None:
    """Register the routes of lists."""
    add = routes.add
    add("GET", "/sites/{site}/lists", list_lists)
    add("GET", "/sites/{site}/lists/{list_id}", get_list)
    add("GET", "/sites/{site}/lists/{list_id}/columns", list_columns)
    add("GET", "/sites/{site}/lists/{list_id}/contentTypes", list_content_types)


def list_lists(call: CollabCall, site: str) -> Response:
    """List a site's lists; system lists only when `$select` names `system`."""
    requested_site = call.site(site)
    call.require_scopes(READ_SITES, requested_site)
    options, _ = call.options(SHAPE, expandable=_PARTS)
    site_lists = [
        site_list
        for site_list in call.store.every(r.SiteList)
        if site_list.site_id == requested_site.id
    ]
    if "system" not in options.select:
        site_lists = [site_list for site_list in site_lists if not site_list.is_system]
    if options.filter is not None:
        test = options.filter.matches
        site_lists = [
            site_list for site_list in site_lists if test(_write_whole_list(call, site_list))
        ]
    if options.orderby:
        records = {site_list.id: _write_whole_list(call, site_list) for site_list in site_lists}
        order = [
            record["id"] for record in query_options.sort_records(records.values(), options.orderby)
        ]
        site_lists.sort(key=lambda site_list: order.index(site_list.id))
    return respond_with_page(
        call,
        site_lists,
        options,
        key=lambda site_list: site_list.id,
        write_record=lambda site_list: _write_list(call, site_list, options),
        context=f"sites('{requested_site.id}')/lists",
    )


def get_list(call: CollabCall, site: str, list_id: str) -> Response:
    """Return one list."""
    site_list = call.find_list(call.site(site), list_id)
    options, _ = call.options(SHAPE, expandable=_PARTS)
    context = call.context(f"sites('{site_list.site_id}')/lists/$entity")
    return ok({"@odata.context": context, **_write_list(call, site_list, options)})


def list_columns(call: CollabCall, site: str, list_id: str) -> Response:
    """List the columns; hidden ones only when `$select` names `hidden`."""
    site_list = call.find_list(call.site(site), list_id)
    options, _ = call.options(columns.SHAPE)
    value = _write_columns(site_list, options)
    context = call.context(f"sites('{site_list.site_id}')/lists('{site_list.id}')/columns")
    return ok({"@odata.context": context, "value": value})


def list_content_types(call: CollabCall, site: str, list_id: str) -> Response:
    """List the content types."""
    site_list = call.find_list(call.site(site), list_id)
    options, _ = call.options(columns.CONTENT_TYPE_SHAPE)
    value = [
        select_members(columns.write_content_type(content_type), options.select)
        for content_type in columns.content_types(site_list)
    ]
    context = call.context(f"sites('{site_list.site_id}')/lists('{site_list.id}')/contentTypes")
    return ok({"@odata.context": context, "value": value})


def _write_columns(site_list: r.SiteList, options: Options) -> list[dict[str, Any]]:
    shows_hidden = "hidden" in options.select
    records = [
        columns.write_column(site_list, column)
        for column in columns.all_columns(site_list)
        if shows_hidden or not column.is_hidden
    ]
    if options.filter is not None:
        records = [record for record in records if options.filter.matches(record)]
    return [select_members(record, options.select) for record in records]


def _write_whole_list(call: CollabCall, site_list: r.SiteList) -> dict[str, Any]:
    store = call.store
    return {
        "@odata.etag": f'"{site_list.id},1"',
        "createdDateTime": site_list.created,
        "description": site_list.description,
        "eTag": f'"{site_list.id},1"',
        "id": site_list.id,
        "lastModifiedDateTime": site_list.modified,
        "name": site_list.name,
        "webUrl": list_item_views.list_url(store, site_list),
        "displayName": site_list.title,
        "createdBy": items.write_identity(store, site_list.author),
        "lastModifiedBy": items.write_identity(store, site_list.author),
        "parentReference": {"siteId": site_list.site_id},
        "list": {
            "contentTypesEnabled": bool(site_list.content_types),
            "hidden": site_list.is_hidden,
            "template": site_list.template,
        },
        **({"system": {}} if site_list.is_system else {}),
    }


def _write_list(call: CollabCall, site_list: r.SiteList, options: Options) -> dict[str, Any]:
    record = _write_whole_list(call, site_list)
    if "sharepointIds" in options.select:
        _, collection, web = site_list.site_id.split(",")
        record["sharepointIds"] = {"listId": site_list.id, "siteId": collection, "webId": web}
    shown = select_members(record, options.select, always=("id",))
    if "columns" in options.expand:
        shown["columns"] = _write_columns(site_list, options.expand["columns"])
    if "contentTypes" in options.expand:
        shown["contentTypes"] = [
            columns.write_content_type(content_type)
            for content_type in columns.content_types(site_list)
        ]
    if "drive" in options.expand and site_list.drive_id:
        shown["drive"] = {"id": site_list.drive_id}
    if "items" in options.expand:
        inner = options.expand["items"]
        entries = list_entries(call, site_list)[: inner.top or 200]
        shown["items"] = [
            list_item_views.write_list_item(call, site_list, entry, inner) for entry in entries
        ]
    return shown


def list_entries(call: CollabCall, site_list: r.SiteList) -> list[list_item_views.Entry]:
    """Return the items of a list, ordered by number."""
    if not site_list.drive_id:
        return list(call.store.rows(site_list.id))
    files = [item for item in call.store.items(site_list.drive_id) if item.parent_id]
    return sorted(files, key=lambda item: item.number)
