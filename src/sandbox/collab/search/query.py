"""Endpoint `/search/query`. See docs/spec/upstream/microsoft-files.md#search."""

import re
from datetime import UTC, datetime
from typing import Any

from sandbox.collab import records as r
from sandbox.collab import sites
from sandbox.collab.errors import access_denied, invalid_request
from sandbox.collab.files import items
from sandbox.collab.lists import list_item_views
from sandbox.collab.requests import READ_FILES, READ_SITES, CollabCall
from sandbox.collab.search.index import SearchDocument, SearchIndex
from sandbox.collab.search.keyword_query import parse, split_words
from sandbox.http import Response, Router
from sandbox.provider_b.responses import ok

DEFAULT_SIZE = 25
MAX_SIZE = 500
_TYPES = ("driveItem", "listItem", "list", "site", "drive")
_UNSUPPORTED_TYPES = (
    "message",
    "event",
    "chatMessage",
    "person",
    "externalItem",
    "acronym",
    "bookmark",
)
_SORTABLE = {"lastModifiedDateTime": "modified", "createdDateTime": "created"}
_SUMMARY = 180  # characters


def install(routes: Router) -> None:
    """Register the route of search."""
    index = SearchIndex()

    def handle(call: CollabCall) -> Response:
        return query(call, index)

    routes.add("POST", "/search/query", handle)


def query(call: CollabCall, index: SearchIndex) -> Response:
    """Return the hits of a search request."""
    if call.has_selected_sites_only:
        raise access_denied("Search is not supported with selected sites.")
    if not call.scopes & (READ_FILES | READ_SITES):
        raise access_denied()
    search_request = _request(call)
    test, words = parse(str(search_request["query"]["queryString"]), _now(call))
    entity_types = set(search_request["entityTypes"])
    matching = [
        document
        for document in index.documents(call.store)
        if _is_requested(document, entity_types)
        and test(document.indexed)
        and call.may_read(document.site)
    ]
    matching.sort(
        key=lambda document: (
            not set(words) & set(split_words(document.title)),
            document.title.casefold(),
        )
    )
    order = _sort_order(search_request.get("sortProperties"))
    if order is not None:
        name, is_descending = order
        matching.sort(
            key=lambda document: str(getattr(document.record, name, "")), reverse=is_descending
        )
    # A file is a list item when files are not requested, and optionally both.
    hits = [(document, "driveItem" not in entity_types) for document in matching]
    if call.store.settings.doubles_hits and {"driveItem", "listItem"} <= entity_types:
        hits += [(document, True) for document in matching if isinstance(document.record, r.Item)]
    start, size = search_request["from"], search_request["size"]
    container: dict[str, Any] = {
        "total": len(hits),
        "moreResultsAvailable": start + size < len(hits),
    }
    if hits:
        fields = _text_items(search_request.get("fields"))
        container["hits"] = [
            _hit(call, document, rank, words, fields, as_list_item=as_list_item)
            for rank, (document, as_list_item) in enumerate(hits[start : start + size], start + 1)
        ]
    body = {
        "@odata.context": call.context("Collection(microsoft.graph.searchResponse)"),
        "value": [{"searchTerms": list(words), "hitsContainers": [container]}],
    }
    return ok(body)


def _request(call: CollabCall) -> dict[str, Any]:
    """
    Parse the single search request of the body.

    Raises:
        GraphError: There is not exactly one request, or it is malformed.
    """
    search_requests = call.json().get("requests")
    if (
        not isinstance(search_requests, list)
        or len(search_requests) != 1
        or not isinstance(search_requests[0], dict)
    ):
        raise invalid_request(
            "The request body must contain exactly one search request.", "BadRequest"
        )
    search_request = search_requests[0]
    entity_types = search_request.get("entityTypes")
    known_types = (*_TYPES, *_UNSUPPORTED_TYPES)
    if (
        not isinstance(entity_types, list)
        or not entity_types
        or any(kind not in known_types for kind in entity_types)
    ):
        raise invalid_request("The entity types are not known.", "BadRequest")
    if not set(entity_types) <= set(_TYPES):
        raise invalid_request("The combination of entity types is not supported.", "BadRequest")
    text = search_request.get("query")
    if not isinstance(text, dict) or not str(text.get("queryString") or "").strip():
        raise invalid_request("The query string is missing.", "BadRequest")
    if call.app_only and not search_request.get("region"):
        raise invalid_request(
            "SearchRequest Invalid (Region is required when request with application permission.)",
            "BadRequest",
        )
    start, size = search_request.get("from", 0), search_request.get("size", DEFAULT_SIZE)
    for number in (start, size):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise invalid_request("from and size are numbers, not negative.", "BadRequest")
    if size > MAX_SIZE:
        raise invalid_request(f"The size is larger than {MAX_SIZE}.", "BadRequest")
    return {**search_request, "from": start, "size": size}


def _sort_order(value: Any) -> tuple[str, bool] | None:
    """
    Parse the property to sort by: the attribute of the records, and whether descending.

    Raises:
        GraphError: There are several, or it is not sortable.
    """
    if not value:
        return None
    first = value[0] if isinstance(value, list) and len(value) == 1 else None
    name = _SORTABLE.get(str(first.get("name"))) if isinstance(first, dict) else None
    if not isinstance(first, dict) or name is None:
        raise invalid_request("The results cannot be sorted by this property.", "BadRequest")
    return name, bool(first.get("isDescending"))


def _text_items(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _is_requested(document: SearchDocument, entity_types: set[str]) -> bool:
    if document.kind == "driveItem":
        return bool(entity_types & {"driveItem", "listItem"})
    if document.kind == "list" and document.of_list is not None and document.of_list.drive_id:
        return bool(entity_types & {"list", "drive"})
    return document.kind in entity_types


def _hit(
    call: CollabCall,
    document: SearchDocument,
    rank: int,
    words: tuple[str, ...],
    fields: tuple[str, ...],
    *,
    as_list_item: bool,
) -> dict[str, Any]:
    resource = _resource(call, document, fields, as_list_item=as_list_item)
    return {
        "hitId": resource.get("id", ""),
        "rank": rank,
        "summary": _summary(document.body, words),
        "resource": resource,
    }


def _resource(
    call: CollabCall, document: SearchDocument, fields: tuple[str, ...], *, as_list_item: bool
) -> dict[str, Any]:
    store, record = call.store, document.record
    if isinstance(record, r.Item) and not as_list_item:
        item = items.write_whole_item(call, record, is_found=True)
        ids = items.sharepoint_ids(store, record)
        parent = {**items.write_parent_reference(store, record, is_thin=True), "sharepointIds": ids}
        names = ("id", "name", "webUrl", "size", "createdDateTime", "lastModifiedDateTime",
                 "createdBy", "lastModifiedBy", "fileSystemInfo", "folder", "file")  # fmt: skip
        item_members = {name: item[name] for name in names if name in item}
        return {
            "@odata.type": "#microsoft.graph.driveItem",
            **item_members,
            "parentReference": parent,
        }
    if isinstance(record, (r.Item, r.Row)) and document.of_list is not None:
        return _row(call, document.of_list, record, fields)
    if isinstance(record, r.SiteList):
        return {
            "@odata.type": "#microsoft.graph.list",
            "id": record.id,
            "name": record.name,
            "displayName": record.title,
            "description": record.description,
            "webUrl": list_item_views.list_url(store, record),
            "createdDateTime": record.created,
            "lastModifiedDateTime": record.modified,
            "createdBy": items.write_identity(store, record.author),
            "parentReference": {"siteId": record.site_id},
        }
    site = sites.write_site(document.site)
    site_members = ("id", "name", "displayName", "description", "webUrl", "createdDateTime",
               "lastModifiedDateTime")  # fmt: skip
    return {"@odata.type": "#microsoft.graph.site", **{name: site[name] for name in site_members}}


def _row(
    call: CollabCall, site_list: r.SiteList, record: r.Row | r.Item, fields: tuple[str, ...]
) -> dict[str, Any]:
    ids = list_item_views.sharepoint_ids(site_list, record)
    values = list_item_views.column_values(call.store, site_list, record)
    folded = {name.casefold(): (name, value) for name, value in values.items()}
    title = values.get("LinkTitle")
    shown_fields = {} if title is None else {"title": title}
    for name in fields:
        match = folded.get(name.casefold())
        if match is not None:
            shown_fields[name] = match[1]
    return {
        "@odata.type": "#microsoft.graph.listItem",
        "id": record.guid,
        "webUrl": list_item_views.item_url(call, site_list, record),
        "createdDateTime": record.created,
        "lastModifiedDateTime": record.modified,
        "createdBy": items.write_identity(call.store, record.author),
        "lastModifiedBy": items.write_identity(call.store, record.editor),
        "parentReference": {"siteId": site_list.site_id, "sharepointIds": {"listId": site_list.id}},
        "sharepointIds": {name: ids[name] for name in ("listId", "listItemId", "listItemUniqueId")},
        "fields": shown_fields,
    }


def _summary(body: str, words: tuple[str, ...]) -> str:
    flat = re.sub(r"\s+", " ", body).strip()
    if not words:
        return flat[:_SUMMARY]
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})", re.IGNORECASE)
    first = pattern.search(flat)
    start = max(0, first.start() - 40) if first else 0
    cut = flat[start : start + _SUMMARY]
    shown = pattern.sub(lambda match: f"<c0>{match[0]}</c0>", cut)
    return f"{'<ddd/>' if start else ''}{shown}{'<ddd/>' if start + _SUMMARY < len(flat) else ''}"


def _now(call: CollabCall) -> datetime:
    return datetime.fromtimestamp(call.store.now_seconds(), UTC)
