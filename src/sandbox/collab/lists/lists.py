"""Lists of a site, their columns and content types. Source: wire report 1D.5."""

from typing import Any

from sandbox.collab import records as r
from sandbox.collab.endpoint import CollabEndpoint
from sandbox.collab.files import items
from sandbox.collab.lists import columns, list_item_views
from sandbox.collab.paging import respond_with_page
from sandbox.collab.requests import READ_SITES, CollabCall
from sandbox.http import Response
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options, selected
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


def install(door: CollabEndpoint) -> None:
    """Add the paths of lists."""
    add = door.routes.add
    add("GET", "/sites/{site}/lists", list_lists)
    add("GET", "/sites/{site}/lists/{one}", get_list)
    add("GET", "/sites/{site}/lists/{one}/columns", list_columns)
    add("GET", "/sites/{site}/lists/{one}/contentTypes", list_content_types)


def list_lists(call: CollabCall, site: str) -> Response:
    """List a site's lists; those of the system only when `$select` names `system`."""
    found = call.site(site)
    call.needs(READ_SITES, found)
    options, _ = call.options(SHAPE, expandable=_PARTS)
    every = [one for one in call.store.every(r.SiteList) if one.site_id == found.id]
    if "system" not in options.select:
        every = [one for one in every if not one.is_system]
    if options.filter is not None:
        test = options.filter.matches
        every = [one for one in every if test(_whole(call, one))]
    if options.orderby:
        whole = {one.id: _whole(call, one) for one in every}
        order = [record["id"] for record in query_options.ordered(whole.values(), options.orderby)]
        every.sort(key=lambda one: order.index(one.id))
    return respond_with_page(
        call,
        every,
        options,
        key=lambda one: one.id,
        write_record=lambda one: _written(call, one, options),
        context=f"sites('{found.id}')/lists",
    )


def get_list(call: CollabCall, site: str, one: str) -> Response:
    """Answer one list."""
    found = call.list_in(call.site(site), one)
    options, _ = call.options(SHAPE, expandable=_PARTS)
    context = call.context(f"sites('{found.site_id}')/lists/$entity")
    return ok({"@odata.context": context, **_written(call, found, options)})


def list_columns(call: CollabCall, site: str, one: str) -> Response:
    """List the columns; hidden ones only when `$select` names `hidden`."""
    found = call.list_in(call.site(site), one)
    options, _ = call.options(columns.SHAPE)
    value = _columns(found, options)
    context = call.context(f"sites('{found.site_id}')/lists('{found.id}')/columns")
    return ok({"@odata.context": context, "value": value})


def list_content_types(call: CollabCall, site: str, one: str) -> Response:
    """List the content types."""
    found = call.list_in(call.site(site), one)
    options, _ = call.options(columns.CONTENT_TYPE_SHAPE)
    value = [
        selected(columns.write_content_type(kind), options.select)
        for kind in columns.content_types(found)
    ]
    context = call.context(f"sites('{found.site_id}')/lists('{found.id}')/contentTypes")
    return ok({"@odata.context": context, "value": value})


def _columns(one: r.SiteList, options: Options) -> list[dict[str, Any]]:
    shows_hidden = "hidden" in options.select
    records = [
        columns.write_column(one, column)
        for column in columns.all_columns(one)
        if shows_hidden or not column.is_hidden
    ]
    if options.filter is not None:
        records = [record for record in records if options.filter.matches(record)]
    return [selected(record, options.select) for record in records]


def _whole(call: CollabCall, one: r.SiteList) -> dict[str, Any]:
    store = call.store
    return {
        "@odata.etag": f'"{one.id},1"',
        "createdDateTime": one.created,
        "description": one.description,
        "eTag": f'"{one.id},1"',
        "id": one.id,
        "lastModifiedDateTime": one.modified,
        "name": one.name,
        "webUrl": list_item_views.list_url(store, one),
        "displayName": one.title,
        "createdBy": items.write_identity(store, one.author),
        "lastModifiedBy": items.write_identity(store, one.author),
        "parentReference": {"siteId": one.site_id},
        "list": {
            "contentTypesEnabled": bool(one.content_types),
            "hidden": one.is_hidden,
            "template": one.template,
        },
        **({"system": {}} if one.is_system else {}),
    }


def _written(call: CollabCall, one: r.SiteList, options: Options) -> dict[str, Any]:
    record = _whole(call, one)
    if "sharepointIds" in options.select:
        _, collection, web = one.site_id.split(",")
        record["sharepointIds"] = {"listId": one.id, "siteId": collection, "webId": web}
    shown = selected(record, options.select, always=("id",))
    if "columns" in options.expand:
        shown["columns"] = _columns(one, options.expand["columns"])
    if "contentTypes" in options.expand:
        shown["contentTypes"] = [
            columns.write_content_type(kind) for kind in columns.content_types(one)
        ]
    if "drive" in options.expand and one.drive_id:
        shown["drive"] = {"id": one.drive_id}
    if "items" in options.expand:
        inner = options.expand["items"]
        entries = list_entries(call, one)[: inner.top or 200]
        shown["items"] = [
            list_item_views.write_list_item(call, one, entry, inner) for entry in entries
        ]
    return shown


def list_entries(call: CollabCall, one: r.SiteList) -> list[list_item_views.Entry]:
    """Return the items of a list, by their numbers."""
    if not one.drive_id:
        return list(call.store.rows(one.id))
    found = [item for item in call.store.items(one.drive_id) if item.parent_id]
    return sorted(found, key=lambda item: item.number)
