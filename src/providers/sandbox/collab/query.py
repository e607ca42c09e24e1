"""`/search/query`: files, list items, lists and sites. Source: wire report 1D.6."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from providers.sandbox.collab import faces, items, sites
from providers.sandbox.collab import records as r
from providers.sandbox.collab.answers import bad, denied
from providers.sandbox.collab.content import suffix
from providers.sandbox.collab.door import READ_FILES, READ_SITES, Call, Door
from providers.sandbox.collab.language import Entry, entry, parse, split
from providers.sandbox.collab.shelf import Shelf
from providers.sandbox.provider_b.answers import ok
from providers.sandbox.wire import Answer

DEFAULT_SIZE = 25
MOST = 500
_TYPES = ("driveItem", "listItem", "list", "site", "drive")
_OTHERS = ("message", "event", "chatMessage", "person", "externalItem", "acronym", "bookmark")
_SUMMARY = 180  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """
    Something that search knows.

    Attributes:
        kind: driveItem, listItem, list or site.
        body: The text that a summary is cut out of.
    """

    kind: str
    record: r.Record
    of_list: r.SiteList | None
    site: r.Site
    entry: Entry
    title: str
    body: str


class Index:
    """All that can be found, made again when the shelf has changed."""

    def __init__(self) -> None:
        self._made_at = -1
        self._known: list[Known] = []

    def known(self, shelf: Shelf) -> list[Known]:
        """Return everything."""
        if shelf.changes != self._made_at:
            self._known = list(_everything(shelf))
            self._made_at = shelf.changes
        return self._known


def install(door: Door) -> None:
    """Add the path of search."""
    index = Index()

    def ask(call: Call) -> Answer:
        return query(call, index)

    door.routes.add("POST", "/search/query", ask)


def query(call: Call, index: Index) -> Answer:
    """Answer one question."""
    if call.is_selected:
        raise denied("Search is not supported with selected sites.")
    if not call.scopes & (READ_FILES | READ_SITES):
        raise denied()
    asked = _request(call)
    test, words = parse(str(asked["query"]["queryString"]), _now(call))
    kinds = set(asked["entityTypes"])
    hits = [
        one
        for one in index.known(call.shelf)
        if _wanted(one, kinds) and test(one.entry) and call.enters(one.site)
    ]
    hits.sort(key=lambda one: (not set(words) & set(split(one.title)), one.title.casefold()))
    if call.shelf.settings.doubles_hits and {"driveItem", "listItem"} <= kinds:
        hits += [one for one in hits if isinstance(one.record, r.Item)]
    start, size = asked["from"], asked["size"]
    container: dict[str, Any] = {
        "total": len(hits),
        "moreResultsAvailable": start + size < len(hits),
    }
    shown = hits[start : start + size]
    fields = tuple(asked.get("fields") or ())
    if hits:
        seen: set[int] = set()
        container["hits"] = []
        for rank, one in enumerate(shown, start + 1):
            as_row = "driveItem" not in kinds or hits.index(one) != rank - 1
            is_file = isinstance(one.record, r.Item)
            container["hits"].append(
                _hit(call, one, rank, words, fields, as_row=is_file and (as_row or id(one) in seen))
            )
            seen.add(id(one))
    body = {
        "@odata.context": call.context("Collection(microsoft.graph.searchResponse)"),
        "value": [{"searchTerms": list(words), "hitsContainers": [container]}],
    }
    return ok(body)


def _request(call: Call) -> dict[str, Any]:
    """
    Read the one request of the body.

    Raises:
        Refusal: There is none or more than one, or it is malformed.
    """
    given = call.json().get("requests")
    if not isinstance(given, list) or len(given) != 1 or not isinstance(given[0], dict):
        raise bad("The request body must contain exactly one search request.", "BadRequest")
    asked = given[0]
    kinds = asked.get("entityTypes")
    if not isinstance(kinds, list) or not kinds or not set(kinds) <= {*_TYPES, *_OTHERS}:
        raise bad("The entity types are not known.", "BadRequest")
    if not set(kinds) <= set(_TYPES):
        raise bad("The combination of entity types is not supported.", "BadRequest")
    text = asked.get("query")
    if not isinstance(text, dict) or not str(text.get("queryString") or "").strip():
        raise bad("The query string is missing.", "BadRequest")
    if call.app_only and not asked.get("region"):
        raise bad(
            "SearchRequest Invalid (Region is required when request with application permission.)",
            "BadRequest",
        )
    start, size = asked.get("from", 0), asked.get("size", DEFAULT_SIZE)
    for number in (start, size):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise bad("from and size are numbers, not negative.", "BadRequest")
    if size > MOST:
        raise bad(f"The size is larger than {MOST}.", "BadRequest")
    return {**asked, "from": start, "size": size}


def _wanted(one: Known, kinds: set[str]) -> bool:
    if one.kind == "driveItem":
        return bool(kinds & {"driveItem", "listItem"})
    if one.kind == "list" and one.of_list is not None and one.of_list.drive_id:
        return bool(kinds & {"list", "drive"})
    return one.kind in kinds


def _hit(
    call: Call,
    one: Known,
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


def _resource(call: Call, one: Known, fields: tuple[str, ...], *, as_row: bool) -> dict[str, Any]:
    shelf, record = call.shelf, one.record
    if isinstance(record, r.Item) and not as_row:
        whole = items.full(call, record, is_found=True)
        ids = items.sharepoint_ids(shelf, record)
        parent = {**items.reference(shelf, record, is_thin=True), "sharepointIds": ids}
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
            "webUrl": faces.list_url(shelf, record),
            "createdDateTime": record.created,
            "lastModifiedDateTime": record.modified,
            "createdBy": items.identity(shelf, record.author),
            "parentReference": {"siteId": record.site_id},
        }
    site = sites.full(one.site)
    of_site = ("id", "name", "displayName", "description", "webUrl", "createdDateTime",
               "lastModifiedDateTime")  # fmt: skip
    return {"@odata.type": "#microsoft.graph.site", **{name: site[name] for name in of_site}}


def _row(
    call: Call, one: r.SiteList, record: r.Row | r.Item, fields: tuple[str, ...]
) -> dict[str, Any]:
    ids = faces.sharepoint_ids(one, record)
    values = faces.values(call.shelf, one, record)
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
        "webUrl": faces.url(call, one, record),
        "createdDateTime": record.created,
        "lastModifiedDateTime": record.modified,
        "createdBy": items.identity(call.shelf, record.author),
        "lastModifiedBy": items.identity(call.shelf, record.editor),
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


def _now(call: Call) -> datetime:
    return datetime.fromtimestamp(call.shelf.seconds(), UTC)


# -- what can be found


def _everything(shelf: Shelf) -> Iterator[Known]:
    lists = {one.id: one for one in shelf.every(r.SiteList)}
    by_drive = {one.drive_id: one for one in lists.values() if one.drive_id}
    urls = {drive: _Addresses(shelf, drive) for drive in by_drive}
    for site in shelf.every(r.Site):
        yield _of_site(site)
        for one in lists.values():
            if one.site_id != site.id or one.is_system or one.is_hidden:
                continue
            url = faces.list_url(shelf, one)
            yield _of_list(site, one, url)
            if one.drive_id:
                for item in shelf.items(one.drive_id):
                    if item.parent_id:
                        yield _of_item(shelf, site, by_drive[one.drive_id], item, urls)
            else:
                for row in shelf.rows(one.id):
                    yield _of_row(shelf, site, one, row, url)


class _Addresses:
    """The addresses of a library's items, each made once from its folder's."""

    def __init__(self, shelf: Shelf, drive_id: str) -> None:
        self._shelf = shelf
        self._drive_id = drive_id
        self._made: dict[str, str] = {}

    def of(self, item: r.Item) -> str:
        if item.id not in self._made:
            parent = self._shelf.item(self._drive_id, item.parent_id) if item.parent_id else None
            self._made[item.id] = (
                items.folder_url(self._shelf, item)
                if parent is None
                else f"{self.of(parent)}/{quote(item.name)}"
            )
        return self._made[item.id]


def _of_site(site: r.Site) -> Known:
    text = f"{site.title} {site.name} {site.description}"
    fields = {
        "title": site.title,
        "path": site.url,
        "created": site.created,
        "lastmodifiedtime": site.modified,
        "contenttype": "site",
        "iscontainer": "true",
        "isdocument": "false",
        "siteid": site.id.split(",")[1],
    }
    return Known(
        kind="site",
        record=site,
        of_list=None,
        site=site,
        entry=entry(text, fields),
        title=site.title,
        body=site.description,
    )


def _of_list(site: r.Site, one: r.SiteList, url: str) -> Known:
    fields = {
        "title": one.title,
        "path": url,
        "created": one.created,
        "lastmodifiedtime": one.modified,
        "author": one.author,
        "contenttype": "list",
        "iscontainer": "true",
        "isdocument": "false",
        "listid": one.id,
        "siteid": site.id.split(",")[1],
    }
    return Known(
        kind="list",
        record=one,
        of_list=one,
        site=site,
        entry=entry(f"{one.title} {one.description}", fields),
        title=one.title,
        body=one.description,
    )


def _of_item(
    shelf: Shelf, site: r.Site, one: r.SiteList, item: r.Item, urls: dict[str, _Addresses]
) -> Known:
    kind = faces.type_of(one, item)
    text = " ".join((item.name, item.description, item.words, *_texts(item.fields)))
    fields = {
        "title": str(item.fields.get("Title") or item.name.rpartition(".")[0] or item.name),
        "filename": item.name,
        "filetype": "" if item.is_folder else suffix(item.name).lstrip("."),
        "author": f"{shelf.name_of(item.author)} {item.author}",
        "editor": f"{shelf.name_of(item.editor)} {item.editor}",
        "path": urls[item.drive_id].of(item),
        "created": item.created,
        "lastmodifiedtime": item.modified,
        "contenttype": kind.name,
        "contenttypeid": kind.id,
        "isdocument": "false" if item.is_folder else "true",
        "iscontainer": "true" if item.is_folder else "false",
        "size": str(item.size),
        "listid": one.id,
        "siteid": site.id.split(",")[1],
    }
    return Known(
        kind="driveItem",
        record=item,
        of_list=one,
        site=site,
        entry=entry(text, fields),
        title=item.name,
        body=item.words or item.description or item.name,
    )


def _of_row(shelf: Shelf, site: r.Site, one: r.SiteList, row: r.Row, url: str) -> Known:
    kind = faces.type_of(one, row)
    title = str(row.fields.get("Title") or "")
    text = " ".join(_texts(row.fields))
    fields = {
        "title": title,
        "author": f"{shelf.name_of(row.author)} {row.author}",
        "editor": f"{shelf.name_of(row.editor)} {row.editor}",
        "path": f"{url}/{row.number}_.000",
        "created": row.created,
        "lastmodifiedtime": row.modified,
        "contenttype": kind.name,
        "contenttypeid": kind.id,
        "isdocument": "false",
        "iscontainer": "false",
        "listid": one.id,
        "siteid": site.id.split(",")[1],
    }
    return Known(
        kind="listItem",
        record=row,
        of_list=one,
        site=site,
        entry=entry(text, fields),
        title=title,
        body=text,
    )


def _texts(fields: dict[str, Any]) -> list[str]:
    found = [value for value in fields.values() if isinstance(value, str)]
    for value in fields.values():
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, str)]
    return found
