"""Items of lists: read, ask, create, change, delete. Source: wire report 1D.5."""

import re
from datetime import date
from typing import Any
from uuid import uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.endpoint import CollabEndpoint
from sandbox.collab.errors import invalid_request, name_taken, not_found
from sandbox.collab.files import changes
from sandbox.collab.lists import columns, list_item_views
from sandbox.collab.lists.lists import list_entries
from sandbox.collab.lists.query_limits import apply_query
from sandbox.collab.paging import respond_with_page
from sandbox.collab.requests import WRITE_SITES, CollabCall
from sandbox.http import Response
from sandbox.provider_b.odata.filter_terms import instant
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.responses import empty, ok


def install(door: CollabEndpoint) -> None:
    """Add the paths of list items."""
    add = door.routes.add
    add("GET", "/sites/{site}/lists/{one}/items", list_rows)
    add("POST", "/sites/{site}/lists/{one}/items", create_row)
    add("GET", "/sites/{site}/lists/{one}/items/{item}", get_row)
    add("PATCH", "/sites/{site}/lists/{one}/items/{item}", change_row)
    add("DELETE", "/sites/{site}/lists/{one}/items/{item}", delete_row)
    add("GET", "/sites/{site}/lists/{one}/items/{item}/fields", get_fields)
    add("PATCH", "/sites/{site}/lists/{one}/items/{item}/fields", change_fields)


def write_list_item_of_file(call: CollabCall, item: r.Item, options: Options) -> dict[str, Any]:
    """Write the list-item face of a file or folder."""
    drive = call.drive(item.drive_id)
    one = call.store.get(r.SiteList, drive.list_id)
    if one is None:
        raise not_found()
    return list_item_views.write_list_item(call, one, item, options)


def list_rows(call: CollabCall, site: str, one: str) -> Response:
    """List items, by id unless `$orderby` says otherwise."""
    found = call.list_in(call.site(site), one)
    entries, options = apply_query(call, found, list_entries(call, found))
    return respond_with_page(
        call,
        entries,
        options,
        key=lambda entry: str(entry.number),
        write_record=lambda entry: list_item_views.write_list_item(call, found, entry, options),
        context=f"sites('{found.site_id}')/lists('{found.id}')/items",
    )


def get_row(call: CollabCall, site: str, one: str, item: str) -> Response:
    """Answer one item."""
    found = call.list_in(call.site(site), one)
    options, _ = call.options(list_item_views.SHAPE, expandable=list_item_views.EXPANDABLE)
    entry = _entry(call, found, item)
    return ok(
        {
            "@odata.context": _context(call, found),
            **list_item_views.write_list_item(call, found, entry, options),
        },
        200,
        {"etag": list_item_views.etag(entry)},
    )


def get_fields(call: CollabCall, site: str, one: str, item: str) -> Response:
    """Answer an item's values."""
    found = call.list_in(call.site(site), one)
    options, _ = call.options(list_item_views.EXPANDABLE["fields"])
    return _values(call, found, _entry(call, found, item), options.select)


def create_row(call: CollabCall, site: str, one: str) -> Response:
    """Add an item."""
    found = call.list_in(call.site(site), one, scopes=WRITE_SITES)
    if found.drive_id:
        raise invalid_request("Items of a library are made by uploading a file.", "notSupported")
    body = call.json()
    given = call.inner(body, "fields")
    types = columns.content_types(found)
    kind = call.inner(body, "contentType").get("id", types[0].id)
    if kind not in [type_.id for type_ in types]:
        raise invalid_request("The content type is not one of the list's.")
    fields = {
        name: value for name, value in validate_fields(found, given).items() if value is not None
    }
    now = call.store.now()
    row = r.Row(
        list_id=found.id,
        number=call.store.next_number(found.id),
        guid=str(uuid4()),
        created=now,
        modified=now,
        author=call.by(),
        editor=call.by(),
        fields=fields,
        content_type=kind,
    )
    call.store.put(row)
    options, _ = call.options(list_item_views.SHAPE, expandable=list_item_views.EXPANDABLE)
    record = list_item_views.write_list_item(call, found, row, options)
    record.setdefault("fields", list_item_views.write_fields(call.store, found, row, ()))
    return ok({"@odata.context": _context(call, found), **record}, 201)


def change_row(call: CollabCall, site: str, one: str, item: str) -> Response:
    """Change an item's values or content type."""
    found = call.list_in(call.site(site), one, scopes=WRITE_SITES)
    body = call.json()
    entry = _entry(call, found, item)
    call.unchanged(list_item_views.etag(entry))
    given = call.inner(body, "fields")
    kind = call.inner(body, "contentType").get("id", entry.content_type)
    if kind not in [
        entry.content_type,
        *(content_type_.id for content_type_ in columns.content_types(found)),
    ]:
        raise invalid_request("The content type is not one of the list's.")
    changed = _changed(call, found, msgspec.structs.replace(entry, content_type=kind), given)
    options, _ = call.options(list_item_views.SHAPE, expandable=list_item_views.EXPANDABLE)
    return ok(
        {
            "@odata.context": _context(call, found),
            **list_item_views.write_list_item(call, found, changed, options),
        }
    )


def change_fields(call: CollabCall, site: str, one: str, item: str) -> Response:
    """Change the values that are named; null clears one."""
    found = call.list_in(call.site(site), one, scopes=WRITE_SITES)
    given = call.json()
    entry = _entry(call, found, item)
    call.unchanged(list_item_views.etag(entry))
    return _values(call, found, _changed(call, found, entry, given), ())


def delete_row(call: CollabCall, site: str, one: str, item: str) -> Response:
    """Remove an item; a library's file goes into the recycle bin."""
    found = call.list_in(call.site(site), one, scopes=WRITE_SITES)
    entry = _entry(call, found, item)
    call.unchanged(list_item_views.etag(entry))
    if isinstance(entry, r.Item):
        changes.move_to_recycle_bin(call, entry)
    else:
        call.store.drop(entry)
    return empty(204)


def _entry(call: CollabCall, one: r.SiteList, reference: str) -> list_item_views.Entry:
    number = call.number(reference)
    found: list_item_views.Entry | None
    if one.drive_id:
        found = call.store.item_by_number(one.drive_id, number)
    else:
        found = call.store.row(one.id, number)
    if found is None:
        raise not_found("The specified list item was not found")
    return found


def _changed(
    call: CollabCall, one: r.SiteList, entry: list_item_views.Entry, given: dict[str, Any]
) -> list_item_views.Entry:
    fresh = validate_fields(one, given)
    name = fresh.pop("FileLeafRef", None)
    kept = {**entry.fields, **fresh}
    fields = {key: value for key, value in kept.items() if value is not None}
    changed = msgspec.structs.replace(
        entry,
        fields=fields,
        modified=call.store.now(),
        editor=call.by(),
        version=entry.version + 1,
    )
    if name and isinstance(changed, r.Item):
        parent = call.item(changed.drive_id, changed.parent_id)
        good = changes.validate_name(call.store, parent, name)
        same = call.store.child(parent, good)
        if same is not None and same.id != changed.id:
            raise name_taken()
        changed = msgspec.structs.replace(changed, name=good)
    call.store.put(changed)
    return changed


def _values(
    call: CollabCall, one: r.SiteList, entry: list_item_views.Entry, select: tuple[str, ...]
) -> Response:
    context = call.context(
        f"sites('{one.site_id}')/lists('{one.id}')/items('{entry.number}')/fields/$entity"
    )
    return ok(
        {"@odata.context": context, **list_item_views.write_fields(call.store, one, entry, select)}
    )


def _context(call: CollabCall, one: r.SiteList) -> str:
    return call.context(f"sites('{one.site_id}')/lists('{one.id}')/items/$entity")


# -- values


def validate_fields(one: r.SiteList, given: dict[str, Any]) -> dict[str, Any]:
    """
    Return values as they are kept.

    Required columns may be left out, as upstream lets them.

    Raises:
        Refusal: A column is unknown or read-only, or a value is not of its kind.
    """
    known = {column.name: column for column in columns.all_columns(one)}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if "@" in name:
            continue
        column = known.get(name)
        if column is None or column.kind in ("lookup", "personOrGroup"):
            column = known.get(name.removesuffix("LookupId"))
            if column is None or column.kind not in ("lookup", "personOrGroup"):
                raise invalid_request(f"Field '{name}' is not recognized")
            if not name.endswith("LookupId"):
                raise invalid_request(f"Field '{name}' is a lookup: set '{name}LookupId'.")
        if column.is_read_only or column.kind == "calculated":
            raise invalid_request(f"Field '{name}' is read-only")
        found[name] = None if value is None else _kept(column, name, value)
    return found


def _kept(column: r.Column, name: str, value: Any) -> Any:
    wrong = invalid_request(f"The value of field '{name}' is not of its type.")
    match column.kind:
        case "text":
            if not isinstance(value, str):
                raise wrong
            if len(value) > int(column.facet.get("maxLength") or 1 << 20):
                raise invalid_request(f"The text of field '{name}' is too long.")
            return value
        case "number" | "currency":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise wrong
            return value
        case "boolean":
            if not isinstance(value, bool):
                raise wrong
            return value
        case "dateTime":
            return _moment(value, wrong)
        case "choice":
            many = column.facet.get("displayAs") == "checkBoxes"
            if many and isinstance(value, list) and all(isinstance(one, str) for one in value):
                return value
            if many or not isinstance(value, str):
                raise wrong
            return value
        case "lookup" if column.facet.get("allowMultipleValues"):
            if not isinstance(value, list):
                raise wrong
            return [_number(one, wrong) for one in value]
        case "lookup" | "personOrGroup":
            return _number(value, wrong)
    return value


def _number(value: Any, wrong: Exception) -> str:
    """Return the number of the item that a look-up points at."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", str(value)):
        raise wrong
    return str(int(value))


def _moment(value: Any, wrong: Exception) -> str:
    if not isinstance(value, str):
        raise wrong
    try:
        return instant(value).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        pass
    try:
        return f"{date.fromisoformat(value).isoformat()}T00:00:00Z"
    except ValueError:
        raise wrong from None
