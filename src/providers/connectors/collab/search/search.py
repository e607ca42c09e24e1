"""Search over everything a user sees. Source: wire report 1D.6; decisions 8.12."""

import re
from collections.abc import Iterable

import msgspec

from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists.lists import site_list
from providers.connectors.collab.search import keyword_query
from providers.content import ids as collab_ids
from providers.content.ids import ListKey
from providers.failures import Broken, Missing, ProviderFailure, Refused
from providers.ports.collab import InvalidSearch, SearchPage, SearchQuery
from providers.records import collab as records
from providers.timestamps import parse_utc

_MARKS = re.compile(r"</?c0>|<ddd\s*/>")
_OF_HITS = frozenset({"name", "size", "web_view_link", "modified_time"})


class IndexSearch:
    """Asks upstream's own search."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def search(self, query: SearchQuery) -> SearchPage:
        """Search; see `CollabPort.search`."""
        keyword_query.parse(query.text)
        text = query.text
        if query.site is not None:
            url = (await self._sites.get(query.site)).web_url
            if not url or '"' in url:
                raise Missing
            text = f'({text}) AND path:"{url}"'
        request = {
            "entityTypes": sorted(query.entity_types),
            "query": {"queryString": text},
            "from": query.start,
            "size": query.limit,
        }
        try:
            answer = await self._context.upstream.call(
                "POST",
                V1,
                "search",
                "query",
                json={"requests": [request]},
                retry=True,
                changes=False,
            )
        except Refused as refusal:
            if refusal.status == 400:
                raise InvalidSearch("The provider does not understand this search.") from refusal
            raise
        except Missing as missing:  # the search itself, and not what is searched for
            raise Broken from missing
        containers = [
            container
            for one in answer.decode(response_types.SearchAnswers).value
            for container in one.hits_containers
        ]
        if not containers:
            raise Broken
        container = containers[0]
        hits = unique(map(hit, container.hits or ()))
        return SearchPage(
            hits=tuple(one for one in hits if in_site(one, query.site)),
            total=max(0, container.total),
            more=container.more_results_available,
        )


def unique(hits: Iterable[records.SearchHit | None]) -> tuple[records.SearchHit, ...]:
    """Drop what is no hit, and what was there already, perhaps with its other face."""
    found: dict[object, records.SearchHit] = {}
    for one in hits:
        if one is not None:
            found.setdefault(_face(one), one)
    return tuple(found.values())


def in_site(one: records.SearchHit, site: str | None) -> bool:
    """Whether a hit surely lies in *site*; None: anywhere."""
    if site is None:
        return True
    thing = one.file or one.row or one.list or one.site
    return thing is not None and thing.site == site


def hit(one: response_types.Hit) -> records.SearchHit | None:
    """Make a record of a hit; None when upstream tells too little of it."""
    try:
        kind = msgspec.json.decode(one.resource, type=response_types.Kind).odata_type.rpartition(
            "."
        )[2]
        match kind:
            case "driveItem":
                return _of_file(one, msgspec.json.decode(one.resource, type=response_types.Item))
            case "listItem":
                return _of_row(one, msgspec.json.decode(one.resource, type=response_types.ListItem))
            case "list":
                return _of_list(
                    one, msgspec.json.decode(one.resource, type=response_types.SiteList)
                )
            case "site":
                return _of_site(one, msgspec.json.decode(one.resource, type=response_types.Site))
    except (msgspec.DecodeError, UnicodeDecodeError, ProviderFailure):
        return None
    return None


def _of_file(one: response_types.Hit, item: response_types.Item) -> records.SearchHit | None:
    reference = item.parent_reference
    if reference is None or not reference.drive_id or not collab_ids.is_part(reference.drive_id):
        return None
    if item.sharepoint_ids is None:
        item.sharepoint_ids = reference.sharepoint_ids
    file = mapping.file(item, _OF_HITS, within=reference.drive_id)
    if file is None:
        return None
    return records.SearchHit(
        entity_type="driveItem",
        title=item.name,
        summary=plain(one.summary),
        web_url=item.web_url,
        last_modified_date_time=file.modified_time,
        file=file,
    )


def _of_row(one: response_types.Hit, item: response_types.ListItem) -> records.SearchHit | None:
    reference, ids = item.parent_reference, item.sharepoint_ids
    inner = reference.sharepoint_ids if reference is not None else None
    site = mapping.site_of(reference, ids) or mapping.site_of(None, inner)
    list_id = (ids.list_id if ids else None) or (inner.list_id if inner else None)
    number = (ids.list_item_id if ids else None) or (inner.list_item_id if inner else None)
    if site is None or not list_id or not number:
        return None
    if not collab_ids.is_guid(list_id) or not collab_ids.is_number(number):
        return None
    item.id = number
    told = item.fields or {}
    title = next(
        (told[name] for name in ("title", "Title") if isinstance(told.get(name), str)), None
    )
    return records.SearchHit(
        entity_type="listItem",
        title=title or item.name,
        summary=plain(one.summary),
        web_url=item.web_url,
        last_modified_date_time=parse_utc(item.last_modified_date_time),
        row=mapping.row(item, ListKey(site, list_id.lower()), frozenset()),
    )


def _of_list(one: response_types.Hit, found: response_types.SiteList) -> records.SearchHit | None:
    site = mapping.site_of(found.parent_reference, None)
    record = None if site is None else site_list(found, site)
    if record is None:
        return None
    return records.SearchHit(
        entity_type="list",
        title=found.display_name or found.name,
        summary=plain(one.summary),
        web_url=found.web_url,
        last_modified_date_time=record.last_modified_date_time,
        list=msgspec.structs.replace(record, drive=records.UNKNOWN),  # a hit does not tell
    )


def _of_site(one: response_types.Hit, found: response_types.Site) -> records.SearchHit | None:
    record = mapping.site(found)
    if record is None:
        return None
    return records.SearchHit(
        entity_type="site",
        title=found.display_name or found.name,
        summary=plain(one.summary),
        web_url=found.web_url,
        last_modified_date_time=record.last_modified_date_time,
        site=record,
    )


def plain(summary: str | None) -> str | None:
    """Return a summary without upstream's highlights."""
    if summary is None:
        return None
    return _MARKS.sub(lambda mark: " … " if "ddd" in mark[0] else "", summary).strip() or None


def _face(one: records.SearchHit) -> object:
    """Return what a file and its list item have in common."""
    if one.file is not None and isinstance(one.file.list_id, str):
        return (one.file.list_id, one.file.list_item_id)
    if one.row is not None:
        return (one.row.list, one.row.number)
    return one.id
