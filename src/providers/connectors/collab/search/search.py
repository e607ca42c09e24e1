"""Search over everything a user sees; docs/spec/upstream/microsoft-files.md#search."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

import msgspec

from providers import collab_ids
from providers.collab_ids import ListKey
from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists.lists import to_list
from providers.connectors.collab.search import keyword_query
from providers.failures import Broken, Missing, ProviderFailure, Refused
from providers.http.response import decode_json
from providers.ports.collab import FileQuery, InvalidSearch, Page, SearchPage, SearchQuery
from providers.records import collab as records
from providers.timestamps import parse_utc

_HIGHLIGHTS = re.compile(r"</?c0>|<ddd\s*/>")
MAX_START = 10_000  # hits that can be paged through
_DAY = timedelta(days=1)
_SORTED: Mapping[str, str] = MappingProxyType(
    {"modified_time": "lastModifiedDateTime", "created_time": "createdDateTime"}
)
_HIT_ATTRIBUTES = frozenset({"name", "size", "web_view_link", "modified_time"})


class IndexSearch:
    """Searches with upstream's search index."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def search(self, query: SearchQuery) -> SearchPage:
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
        container = await self._search(request)
        hits = _unique(map(_to_hit, container.hits or ()))
        return SearchPage(
            hits=tuple(hit for hit in hits if _is_in_site(hit, query.site)),
            total=max(0, container.total),
            more=container.more_results_available,
        )

    async def files(self, query: FileQuery, *, start: int) -> Page[records.File]:
        """
        Return the files that match a query's text and times by day, in its order.

        Args:
            query: Its other filters are the caller's; its order is by a time.
            start: Number of hits to skip. A cursor is this number.
        """
        words = re.findall(r"\w+", (query.text or "").lower())
        if query.text is not None and not words:
            return Page(items=(), cursors=(), next=None)
        request = {
            "entityTypes": ["driveItem"],
            "query": {"queryString": _file_query(words, query)},
            "from": start,
            "size": query.limit,
            "sortProperties": [
                {"name": _SORTED[query.order.by], "isDescending": query.order.descending}
            ],
        }
        container = await self._search(request)
        hits = [*enumerate(map(_to_hit, container.hits or ()), start + 1)]
        read = [(hit.file, end) for end, hit in hits if hit is not None and hit.file is not None]
        more = bool(hits) and container.more_results_available
        end = start + len(hits)
        is_last = more and end >= MAX_START
        return Page(
            items=tuple(file for file, _ in read),
            cursors=tuple(str(end) for _, end in read),
            next=str(end) if more and not is_last else None,
            warnings=(f"Only the first {MAX_START} files are listed.",) if is_last else (),
        )

    async def _search(self, request: Mapping[str, object]) -> response_types.HitContainer:
        try:
            response = await self._context.upstream.call(
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
        except Missing as missing:  # the search endpoint is missing
            raise Broken from missing
        containers = [
            container
            for result in response.decode(response_types.SearchAnswers).value
            for container in result.hits_containers
        ]
        if not containers:
            raise Broken
        return containers[0]


def _file_query(words: Sequence[str], query: FileQuery) -> str:
    """
    Write a query for files in upstream's language; times are widened to whole days.

    A time that no file can have bounds nothing: it could not be widened.
    """
    field = "filename:" if query.names_only else ""
    parts = ["IsDocument:true", *(f"{field}{word}*" for word in words)]
    if query.owner is not None:
        parts.append(f"author:{_quote(query.owner)}")
    if query.shared_with is not None:
        parts.append(f"SharedWithUsersOWSUSER:{_quote(query.shared_with)}")
    if query.web_addresses:
        parts.append(f"({' OR '.join(f'path:{_quote(url)}' for url in query.web_addresses)})")
    if query.modified_after is not None and query.modified_after.year > 1900:
        parts.append(f"LastModifiedTime>={query.modified_after - _DAY:%Y-%m-%d}")
    if query.modified_before is not None and query.modified_before.year < 9000:
        parts.append(f"LastModifiedTime<={query.modified_before + _DAY:%Y-%m-%d}")
    return " AND ".join(parts)


def _quote(value: str) -> str:
    """Write a value so that it is taken for one phrase."""
    return '"' + value.replace('"', " ") + '"'


def _unique(hits: Iterable[records.SearchHit | None]) -> tuple[records.SearchHit, ...]:
    """Drop None, and the later hit of a file and its list item."""
    by_identity: dict[object, records.SearchHit] = {}
    for hit in hits:
        if hit is not None:
            by_identity.setdefault(hit.identity, hit)
    return tuple(by_identity.values())


def _is_in_site(hit: records.SearchHit, site_id: str | None) -> bool:
    """Return whether a hit surely is in a site; None: anywhere."""
    if site_id is None:
        return True
    record = hit.file or hit.list_item or hit.list or hit.site
    return record is not None and record.site == site_id


def _to_hit(hit: response_types.Hit) -> records.SearchHit | None:
    """Map a hit; None when upstream tells too little of it."""
    try:
        kind = decode_json(hit.resource, response_types.Kind)
        match kind.odata_type.rpartition(".")[2]:
            case "driveItem":
                return _file_hit(hit, decode_json(hit.resource, response_types.Item))
            case "listItem":
                item = decode_json(hit.resource, response_types.ListItem)
                return _list_item_hit(hit, item)
            case "list":
                site_list = decode_json(hit.resource, response_types.SiteList)
                return _list_hit(hit, site_list)
            case "site":
                return _site_hit(hit, decode_json(hit.resource, response_types.Site))
    except ProviderFailure:
        return None
    return None


def _file_hit(hit: response_types.Hit, item: response_types.Item) -> records.SearchHit | None:
    reference = item.parent_reference
    if reference is None or not reference.drive_id or not collab_ids.is_part(reference.drive_id):
        return None
    if item.sharepoint_ids is None:
        item.sharepoint_ids = reference.sharepoint_ids
    file = mapping.file(item, _HIT_ATTRIBUTES, within=reference.drive_id)
    if file is None:
        return None
    return records.SearchHit(
        entity_type="driveItem",
        title=item.name,
        summary=_without_highlights(hit.summary),
        web_url=item.web_url,
        last_modified_date_time=file.modified_time,
        file=file,
    )


def _list_item_hit(
    hit: response_types.Hit, item: response_types.ListItem
) -> records.SearchHit | None:
    reference, ids = item.parent_reference, item.sharepoint_ids
    parent_ids = reference.sharepoint_ids if reference is not None else None
    site_id = mapping.site_of(reference, ids) or mapping.site_of(None, parent_ids)
    list_id = (ids.list_id if ids else None) or (parent_ids.list_id if parent_ids else None)
    number = (ids.list_item_id if ids else None) or (
        parent_ids.list_item_id if parent_ids else None
    )
    if site_id is None or not list_id or not number:
        return None
    if not collab_ids.is_guid(list_id) or not collab_ids.is_number(number):
        return None
    item.id = number
    fields = item.fields or {}
    titles = (fields.get("title"), fields.get("Title"))
    title = next((text for text in titles if isinstance(text, str)), None)
    return records.SearchHit(
        entity_type="listItem",
        title=title or item.name,
        summary=_without_highlights(hit.summary),
        web_url=item.web_url,
        last_modified_date_time=parse_utc(item.last_modified_date_time),
        list_item=mapping.list_item(item, ListKey(site_id, list_id.lower()), frozenset()),
    )


def _list_hit(
    hit: response_types.Hit, site_list: response_types.SiteList
) -> records.SearchHit | None:
    site_id = mapping.site_of(site_list.parent_reference, None)
    record = None if site_id is None else to_list(site_list, site_id)
    if record is None:
        return None
    return records.SearchHit(
        entity_type="list",
        title=site_list.display_name or site_list.name,
        summary=_without_highlights(hit.summary),
        web_url=site_list.web_url,
        last_modified_date_time=record.last_modified_date_time,
        list=msgspec.structs.replace(record, drive=records.UNKNOWN),  # a hit does not tell it
    )


def _site_hit(hit: response_types.Hit, site: response_types.Site) -> records.SearchHit | None:
    record = mapping.site(site)
    if record is None:
        return None
    return records.SearchHit(
        entity_type="site",
        title=site.display_name or site.name,
        summary=_without_highlights(hit.summary),
        web_url=site.web_url,
        last_modified_date_time=record.last_modified_date_time,
        site=record,
    )


def _without_highlights(summary: str | None) -> str | None:
    """Return a summary without upstream's highlights."""
    if summary is None:
        return None
    return _HIGHLIGHTS.sub(lambda mark: " … " if "ddd" in mark[0] else "", summary).strip() or None
