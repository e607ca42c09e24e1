"""Endpoints of list items. See docs/spec/upstream/microsoft-files.md#list-items."""

import re
from datetime import date
from typing import Any
from uuid import uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request, name_taken, not_found
from sandbox.collab.files import changes
from sandbox.collab.lists import columns, list_item_views
from sandbox.collab.lists.lists import list_entries
from sandbox.collab.lists.query_limits import apply_query
from sandbox.collab.paging import respond_with_page
from sandbox.collab.requests import WRITE_SITES, CollabCall
from sandbox.http import Response, Router
from sandbox.provider_b.odata.filter_terms import read_instant
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.responses import empty, ok


def install(routes: Router) -> None:
    """Register the routes of list items."""
    add = routes.add
    add("GET", "/sites/{site}/lists/{list_id}/items", list_rows)
    add("POST", "/sites/{site}/lists/{list_id}/items", create_row)
    add("GET", "/sites/{site}/lists/{list_id}/items/{item}", get_row)
    add("PATCH", "/sites/{site}/lists/{list_id}/items/{item}", change_row)
    add("DELETE", "/sites/{site}/lists/{list_id}/items/{item}", delete_row)
    add("GET", "/sites/{site}/lists/{list_id}/items/{item}/fields", get_fields)
    add("PATCH", "/sites/{site}/lists/{list_id}/items/{item}/fields", change_fields)


def write_list_item_of_file(call: CollabCall, item: r.Item, options: Options) -> dict[str, Any]:
    """Return the list item of a file or folder."""
    drive = call.drive(item.drive_id)
    site_list = call.store.get(r.SiteList, drive.list_id)
    if site_list is None:
        raise not_found()
    return list_item_views.write_list_item(call, site_list, item, options)


def list_rows(call: CollabCall, site: str, list_id: str) -> Response:
    """List the items of a list, by default ordered by id."""
    site_list = call.find_list(call.site(site), list_id)
    entries, options = apply_query(call, site_list, list_entries(call, site_list))
    return respond_with_page(
        call,
        entries,
        options,
        key=lambda entry: str(entry.number),
        write_record=lambda entry: list_item_views.write_list_item(call, site_list, entry, options),
        context=f"sites('{site_list.site_id}')/lists('{site_list.id}')/items",
    )


def get_row(call: CollabCall, site: str, list_id: str, item: str) -> Response:
    """Return one item."""
    site_list = call.find_list(call.site(site), list_id)
    options, _ = call.options(list_item_views.SHAPE, expandable=list_item_views.EXPANDABLE)
    entry = _entry(call, site_list, item)
    return ok(
        {
            "@odata.context": _context(call, site_list),
            **list_item_views.write_list_item(call, site_list, entry, options),
        },
        200,
        {"etag": list_item_views.etag(entry)},
    )


def get_fields(call: CollabCall, site: str, list_id: str, item: str) -> Response:
    """Return an item's fields."""
    site_list = call.find_list(call.site(site), list_id)
    options, _ = call.options(list_item_views.EXPANDABLE["fields"])
    return _respond_with_fields(call, site_list, _entry(call, site_list, item), options.select)


def create_row(call: CollabCall, site: str, list_id: str) -> Response:
    """Create an item."""
    site_list = call.find_list(call.site(site), list_id, scopes=WRITE_SITES)
    if site_list.drive_id:
        raise invalid_request("Items of a library are made by uploading a file.", "notSupported")
    body = call.json()
    new_fields = call.object_member(body, "fields")
    content_types = columns.content_types(site_list)
    content_type = call.object_member(body, "contentType").get("id", content_types[0].id)
    if content_type not in [known_type.id for known_type in content_types]:
        raise invalid_request("The content type is not one of the list's.")
    fields = {
        name: value
        for name, value in validate_fields(site_list, new_fields).items()
        if value is not None
    }
    now = call.store.now_text()
    row = r.Row(
        list_id=site_list.id,
        number=call.store.next_number(site_list.id),
        guid=str(uuid4()),
        created=now,
        modified=now,
        author=call.actor(),
        editor=call.actor(),
        fields=fields,
        content_type=content_type,
    )
    call.store.put(row)
    options, _ = call.options(list_item_views.SHAPE, expandable=list_item_views.EXPANDABLE)
    record = list_item_views.write_list_item(call, site_list, row, options)
    record.setdefault("fields", list_item_views.write_fields(call.store, site_list, row, ()))
    return ok({"@odata.context": _context(call, site_list), **record}, 201)


def change_row(call: CollabCall, site: str, list_id: str, item: str) -> Response:
    """Change an item's fields or content type."""
    site_list = call.find_list(call.site(site), list_id, scopes=WRITE_SITES)
    body = call.json()
    entry = _entry(call, site_list, item)
    call.check_if_match(list_item_views.etag(entry))
    new_fields = call.object_member(body, "fields")
    content_type = call.object_member(body, "contentType").get("id", entry.content_type)
    if content_type not in [
        entry.content_type,
        *(known_type.id for known_type in columns.content_types(site_list)),
    ]:
        raise invalid_request("The content type is not one of the list's.")
    changed = _update_entry(
        call, site_list, msgspec.structs.replace(entry, content_type=content_type), new_fields
    )
    options, _ = call.options(list_item_views.SHAPE, expandable=list_item_views.EXPANDABLE)
    return ok(
        {
            "@odata.context": _context(call, site_list),
            **list_item_views.write_list_item(call, site_list, changed, options),
        }
    )


def change_fields(call: CollabCall, site: str, list_id: str, item: str) -> Response:
    """Change fields of an item; null clears a field."""
    site_list = call.find_list(call.site(site), list_id, scopes=WRITE_SITES)
    new_fields = call.json()
    entry = _entry(call, site_list, item)
    call.check_if_match(list_item_views.etag(entry))
    return _respond_with_fields(
        call, site_list, _update_entry(call, site_list, entry, new_fields), ()
    )


def delete_row(call: CollabCall, site: str, list_id: str, item: str) -> Response:
    """Delete an item; a library's file moves to the recycle bin."""
    site_list = call.find_list(call.site(site), list_id, scopes=WRITE_SITES)
    entry = _entry(call, site_list, item)
    call.check_if_match(list_item_views.etag(entry))
    if isinstance(entry, r.Item):
        changes.move_to_recycle_bin(call, entry)
    else:
        call.store.delete(entry)
    return empty(204)


def _entry(call: CollabCall, site_list: r.SiteList, reference: str) -> list_item_views.Entry:
    number = call.parse_item_number(reference)
    entry: list_item_views.Entry | None
    if site_list.drive_id:
        entry = call.store.item_by_number(site_list.drive_id, number)
    else:
        entry = call.store.row(site_list.id, number)
    if entry is None:
        raise not_found("The specified list item was not found")
    return entry


def _update_entry(
    call: CollabCall,
    site_list: r.SiteList,
    entry: list_item_views.Entry,
    new_fields: dict[str, Any],
) -> list_item_views.Entry:
    validated = validate_fields(site_list, new_fields)
    name = validated.pop("FileLeafRef", None)
    merged = {**entry.fields, **validated}
    fields = {key: value for key, value in merged.items() if value is not None}
    changed = msgspec.structs.replace(
        entry,
        fields=fields,
        modified=call.store.now_text(),
        editor=call.actor(),
        version=entry.version + 1,
    )
    if name and isinstance(changed, r.Item):
        parent = call.item(changed.drive_id, changed.parent_id)
        valid_name = changes.validate_name(call.store, parent, name)
        namesake = call.store.child(parent, valid_name)
        if namesake is not None and namesake.id != changed.id:
            raise name_taken()
        changed = msgspec.structs.replace(changed, name=valid_name)
    call.store.put(changed)
    return changed


def _respond_with_fields(
    call: CollabCall, site_list: r.SiteList, entry: list_item_views.Entry, select: tuple[str, ...]
) -> Response:
    context = call.context(
        f"sites('{site_list.site_id}')/lists('{site_list.id}')/items('{entry.number}')/fields/$entity"
    )
    return ok(
        {
            "@odata.context": context,
            **list_item_views.write_fields(call.store, site_list, entry, select),
        }
    )


def _context(call: CollabCall, site_list: r.SiteList) -> str:
    return call.context(f"sites('{site_list.site_id}')/lists('{site_list.id}')/items/$entity")


# -- values


def validate_fields(site_list: r.SiteList, fields: dict[str, Any]) -> dict[str, Any]:
    """
    Return fields in their stored form.

    Required columns may be omitted, as upstream allows.

    Raises:
        GraphError: A column is unknown or read-only, or a value has the wrong type.
    """
    known = {column.name: column for column in columns.all_columns(site_list)}
    validated: dict[str, Any] = {}
    for name, value in fields.items():
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
        validated[name] = None if value is None else _to_stored_value(column, name, value)
    return validated


def _to_stored_value(column: r.Column, name: str, value: Any) -> Any:
    wrong_type = invalid_request(f"The value of field '{name}' is not of its type.")
    match column.kind:
        case "text":
            if not isinstance(value, str):
                raise wrong_type
            if len(value) > int(column.facet.get("maxLength") or 1 << 20):
                raise invalid_request(f"The text of field '{name}' is too long.")
            return value
        case "number" | "currency":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise wrong_type
            return value
        case "boolean":
            if not isinstance(value, bool):
                raise wrong_type
            return value
        case "dateTime":
            return _parse_time(value, wrong_type)
        case "choice":
            is_multiple = column.facet.get("displayAs") == "checkBoxes"
            if (
                is_multiple
                and isinstance(value, list)
                and all(isinstance(choice, str) for choice in value)
            ):
                return value
            if is_multiple or not isinstance(value, str):
                raise wrong_type
            return value
        case "lookup" if column.facet.get("allowMultipleValues"):
            if not isinstance(value, list):
                raise wrong_type
            return [_lookup_number(choice, wrong_type) for choice in value]
        case "lookup" | "personOrGroup":
            return _lookup_number(value, wrong_type)
    return value


def _lookup_number(value: Any, wrong_type: Exception) -> str:
    """Return the item number of a lookup value."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", str(value)):
        raise wrong_type
    return str(int(value))


def _parse_time(value: Any, wrong_type: Exception) -> str:
    if not isinstance(value, str):
        raise wrong_type
    try:
        return read_instant(value).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        pass
    try:
        return f"{date.fromisoformat(value).isoformat()}T00:00:00Z"
    except ValueError:
        raise wrong_type from None
