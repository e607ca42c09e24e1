"""`/search/query`: files, list items, lists and sites. Source: wire report 1D.6."""

import re
from datetime import UTC, datetime
from typing import Any

from sandbox.collab import records as r
from sandbox.collab import sites
from sandbox.collab.endpoint import CollabEndpoint
from sandbox.collab.errors import access_denied, invalid_request
from sandbox.collab.files import items
from sandbox.collab.lists import list_item_views
from sandbox.collab.requests import READ_FILES, READ_SITES, CollabCall
from sandbox.collab.search.index import SearchDocument, SearchIndex
from sandbox.collab.search.keyword_query import parse, split_words
from sandbox.http import Response
from sandbox.provider_b.responses import ok

DEFAULT_SIZE = 25
MAX_SIZE = 500
_TYPES = ("driveItem", "listItem", "list", "site", "drive")
_OTHERS = ("message", "event", "chatMessage", "person", "externalItem", "acronym", "bookmark")
_SUMMARY = 180  # characters


def install(door: CollabEndpoint) -> None:
    """Add the path of search."""
    index = SearchIndex()

    def ask(call: CollabCall) -> Response:
        return query(call, index)

    door.routes.add("POST", "/search/query", ask)


def query(call: CollabCall, index: SearchIndex) -> Response:
    """Answer one question."""
    if call.is_selected:
        raise access_denied("Search is not supported with selected sites.")
    if not call.scopes & (READ_FILES | READ_SITES):
        raise access_denied()
    asked = _request(call)
    test, words = parse(str(asked["query"]["queryString"]), _now(call))
    kinds = set(asked["entityTypes"])
    found = [
        one
        for one in index.known(call.store)
        if _wanted(one, kinds) and test(one.indexed) and call.enters(one.site)
    ]
    found.sort(key=lambda one: (not set(words) & set(split_words(one.title)), one.title.casefold()))
    # A file is told of as a list item when only those are asked for, or as both.
    hits = [(one, "driveItem" not in kinds) for one in found]
    if call.store.settings.doubles_hits and {"driveItem", "listItem"} <= kinds:
        hits += [(one, True) for one in found if isinstance(one.record, r.Item)]
    start, size = asked["from"], asked["size"]
    container: dict[str, Any] = {
        "total": len(hits),
        "moreResultsAvailable": start + size < len(hits),
    }
    if hits:
        fields = _texts(asked.get("fields"))
        container["hits"] = [
            _hit(call, one, rank, words, fields, as_row=as_row)
            for rank, (one, as_row) in enumerate(hits[start : start + size], start + 1)
        ]
    body = {
        "@odata.context": call.context("Collection(microsoft.graph.searchResponse)"),
        "value": [{"searchTerms": list(words), "hitsContainers": [container]}],
    }
    return ok(body)


def _request(call: CollabCall) -> dict[str, Any]:
    """
    Read the one request of the body.

    Raises:
        Refusal: There is none or more than one, or it is malformed.
    """
    given = call.json().get("requests")
    if not isinstance(given, list) or len(given) != 1 or not isinstance(given[0], dict):
        raise invalid_request(
            "The request body must contain exactly one search request.", "BadRequest"
        )
    asked = given[0]
    kinds = asked.get("entityTypes")
    known = (*_TYPES, *_OTHERS)
    if not isinstance(kinds, list) or not kinds or any(kind not in known for kind in kinds):
        raise invalid_request("The entity types are not known.", "BadRequest")
    if not set(kinds) <= set(_TYPES):
        raise invalid_request("The combination of entity types is not supported.", "BadRequest")
    text = asked.get("query")
    if not isinstance(text, dict) or not str(text.get("queryString") or "").strip():
        raise invalid_request("The query string is missing.", "BadRequest")
    if call.app_only and not asked.get("region"):
        raise invalid_request(
            "SearchRequest Invalid (Region is required when request with application permission.)",
            "BadRequest",
        )
    start, size = asked.get("from", 0), asked.get("size", DEFAULT_SIZE)
    for number in (start, size):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise invalid_request("from and size are numbers, not negative.", "BadRequest")
    if size > MAX_SIZE:
        raise invalid_request(f"The size is larger than {MAX_SIZE}.", "BadRequest")
    return {**asked, "from": start, "size": size}


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()


def _wanted(one: SearchDocument, kinds: set[str]) -> bool:
    if one.kind == "driveItem":
        return bool(kinds & {"driveItem", "listItem"})
    if one.kind == "list" and one.of_list is not None and one.of_list.drive_id:
        return bool(kinds & {"list", "drive"})
    return one.kind in kinds


def _hit(
    call: CollabCall,
    one: SearchDocument,
    rank: int,
    words: tuple[str, ...],
    fields: tuple[str, ...],
    *,
    as_row: bool,
) -> dict[str, Any]:
    resource = _resource(call, one, fields, as_row=as_row)
    return {
        "hitId": resource.get("id", ""),
        "rank": rank,
        "summary": _summary(one.body, words),
        "resource": resource,
    }


def _resource(
    call: CollabCall, one: SearchDocument, fields: tuple[str, ...], *, as_row: bool
) -> dict[str, Any]:
    store, record = call.store, one.record
    if isinstance(record, r.Item) and not as_row:
        whole = items.write_whole_item(call, record, is_found=True)
        ids = items.sharepoint_ids(store, record)
        parent = {**items.write_parent_reference(store, record, is_thin=True), "sharepointIds": ids}
        names = ("id", "name", "webUrl", "size", "createdDateTime", "lastModifiedDateTime",
                 "createdBy", "lastModifiedBy", "fileSystemInfo", "folder", "file")  # fmt: skip
        kept = {name: whole[name] for name in names if name in whole}
        return {"@odata.type": "#microsoft.graph.driveItem", **kept, "parentReference": parent}
    if isinstance(record, (r.Item, r.Row)) and one.of_list is not None:
        return _row(call, one.of_list, record, fields)
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
    site = sites.write_site(one.site)
    of_site = ("id", "name", "displayName", "description", "webUrl", "createdDateTime",
               "lastModifiedDateTime")  # fmt: skip
    return {"@odata.type": "#microsoft.graph.site", **{name: site[name] for name in of_site}}


def _row(
    call: CollabCall, one: r.SiteList, record: r.Row | r.Item, fields: tuple[str, ...]
) -> dict[str, Any]:
    ids = list_item_views.sharepoint_ids(one, record)
    values = list_item_views.column_values(call.store, one, record)
    folded = {name.casefold(): (name, value) for name, value in values.items()}
    title = values.get("LinkTitle")
    chosen = {} if title is None else {"title": title}
    for name in fields:
        known = folded.get(name.casefold())
        if known is not None:
            chosen[name] = known[1]
    return {
        "@odata.type": "#microsoft.graph.listItem",
        "id": record.guid,
        "webUrl": list_item_views.item_url(call, one, record),
        "createdDateTime": record.created,
        "lastModifiedDateTime": record.modified,
        "createdBy": items.write_identity(call.store, record.author),
        "lastModifiedBy": items.write_identity(call.store, record.editor),
        "parentReference": {"siteId": one.site_id, "sharepointIds": {"listId": one.id}},
        "sharepointIds": {name: ids[name] for name in ("listId", "listItemId", "listItemUniqueId")},
        "fields": chosen,
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
    return datetime.fromtimestamp(call.store.seconds(), UTC)
