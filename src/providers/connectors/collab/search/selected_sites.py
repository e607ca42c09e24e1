"""
Search in selected sites, where upstream has no search index: each site is searched, merged here.

Files are found by the search of their library, sites and lists by their names, list items by their
titles; docs/spec/collab.md#search-in-selected-sites.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from providers.collab_ids import ROOT, ItemKey, is_number
from providers.connectors.collab import response_types, selected_fields
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.reading import FileReader
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists.lists import ListReader
from providers.connectors.collab.mapping import list_item as to_list_item
from providers.connectors.collab.paging import ODataPage
from providers.connectors.collab.search import keyword_query
from providers.connectors.collab.search.keyword_query import FieldName, Phrase, SearchDocument, Term
from providers.failures import Broken, Missing
from providers.ports.collab import SearchPage, SearchQuery
from providers.records import collab as records

MAX_FILES = 500  # hits of one library and one alternative
MAX_ROWS = 2000  # items read per list
MAX_LISTS = 20  # lists searched per site
_FILE_ATTRIBUTES = frozenset(
    {"name", "size", "modified_time", "web_view_link", "owners", "description"}
    | {"site", "list_id", "list_item_id"}
)
_LIST_ITEM_ATTRIBUTES = frozenset(
    {"name", "web_url", "last_modified_date_time", "created_by", "content_type", "fields"}
)
_LIMITS_WARNING = (
    "In selected sites, lists are found by their names and list items by their titles."
)


@dataclass(frozen=True, slots=True)
class _RankedHit:
    """A hit; those whose titles match come first, then all by title."""

    hit: records.SearchHit
    title_matches: bool

    @property
    def rank(self) -> tuple[bool, str, str]:
        return (not self.title_matches, (self.hit.title or "").casefold(), self.hit.id)


class SelectedSiteSearch:
    """Searches the selected sites."""

    def __init__(
        self, context: ConnectionContext, sites: SiteReader, files: FileReader, lists: ListReader
    ) -> None:
        self._context = context
        self._sites = sites
        self._files = files
        self._lists = lists

    async def search(self, query: SearchQuery) -> SearchPage:
        """As `CollabConnection.search`; *total* counts the hits within the bounds above."""
        term = keyword_query.parse(query.text)
        if query.site is not None:
            self._sites.admit_site(query.site)
        sites = [site for site in await self._sites.visible() if query.site in (None, site.site)]
        if query.site is not None and not sites:
            raise Missing
        hits_by_site = await asyncio.gather(
            *(self._search_site(site, query, term) for site in sites)
        )
        hits = {ranked.hit.id: ranked for hits in hits_by_site for ranked in hits}
        ordered = [ranked.hit for ranked in sorted(hits.values(), key=lambda ranked: ranked.rank)]
        end = query.start + query.limit
        return SearchPage(
            hits=tuple(ordered[query.start : end]),
            total=len(ordered),
            more=end < len(ordered),
            warnings=(_LIMITS_WARNING,),
        )

    async def _search_site(
        self, site: records.Site, query: SearchQuery, term: Term
    ) -> Sequence[_RankedHit]:
        hits: list[_RankedHit] = []
        if "site" in query.entity_types:
            hits += _container_hits(site, term)
        if "driveItem" in query.entity_types:
            hits += await self._search_libraries(site, term)
        if query.entity_types & {"list", "listItem"}:
            lists = await self._lists.of_site(site.site, include_hidden=False)
            if "list" in query.entity_types:
                for site_list in lists:
                    hits += _container_hits(site_list, term)
            if "listItem" in query.entity_types:
                others = [item for item in lists if item.template != "documentLibrary"]
                for site_list in others[:MAX_LISTS]:
                    hits += await self._search_list(site_list, term)
        return hits

    async def _search_libraries(self, site: records.Site, term: Term) -> list[_RankedHit]:
        drives = (await self._sites.drives((site.site,)))[site.site] or ()
        if not isinstance(drives, tuple):
            raise Broken
        hits: list[_RankedHit] = []
        for phrases in keyword_query.alternatives(term):
            ordered = sorted(phrase.words for phrase in phrases)
            text = " ".join(word for words in ordered for word in words)
            for drive in drives:
                hits += await self._search_library(drive, text, phrases, term)
        return hits

    async def _search_library(
        self, drive: records.Drive, text: str, phrases: frozenset[Phrase], term: Term
    ) -> list[_RankedHit]:
        hits: list[_RankedHit] = []
        cursor: str | None = None
        read = 0
        while True:
            page = await self._files.search(
                ItemKey(drive.drive, ROOT),
                text,
                cursor=cursor,
                top=200,
                projection=_FILE_ATTRIBUTES,
            )
            for file in page.items:
                hits += _file_hits(file, phrases, term)
            read += len(page.items)
            cursor = page.next
            if cursor is None or read >= MAX_FILES:
                return hits

    async def _search_list(self, site_list: records.SiteList, term: Term) -> list[_RankedHit]:
        params = [("$top", "1000"), *selected_fields.list_item(_LIST_ITEM_ATTRIBUTES, ("Title",))]
        items, _ = await self._context.pages.read_all(
            (V1, "sites", site_list.site, "lists", site_list.list, "items"),
            params,
            ODataPage[response_types.ListItem],
            limit=MAX_ROWS,
        )
        hits: list[_RankedHit] = []
        for item in items:
            if not is_number(item.id):
                continue
            list_item = to_list_item(item, site_list.key, _LIST_ITEM_ATTRIBUTES)
            hit = records.SearchHit(
                entity_type="listItem",
                title=list_item.name,
                web_url=list_item.web_url,
                last_modified_date_time=list_item.last_modified_date_time,
                list_item=list_item,
            )
            hits += _hits(
                hit, term, {"author": list_item.created_by, "contenttype": list_item.content_type}
            )
        return hits


def _file_hits(file: records.File, phrases: frozenset[Phrase], term: Term) -> list[_RankedHit]:
    owner = file.owners[0] if file.owners else None
    name = file.name or ""
    fields: dict[FieldName, str | None] = {
        "title": name.rpartition(".")[0] or name,
        "filename": name,
        "filetype": name.rpartition(".")[2] if "." in name else "",
        "author": None if owner is None else f"{owner.display_name or ''} {owner.email}",
        "description": file.description,
    }
    hit = records.SearchHit(
        entity_type="driveItem",
        title=file.name,
        web_url=file.web_view_link,
        last_modified_date_time=file.modified_time,
        file=file,
    )
    return _hits(hit, term, fields, trusted=phrases)


def _container_hits(container: records.Site | records.SiteList, term: Term) -> list[_RankedHit]:
    """Return the hit of a site or of a list, if its name or description contains the words."""
    hit = records.SearchHit(
        entity_type="list" if isinstance(container, records.SiteList) else "site",
        title=container.display_name,
        web_url=container.web_url,
        last_modified_date_time=container.last_modified_date_time,
        list=container if isinstance(container, records.SiteList) else None,
        site=container if isinstance(container, records.Site) else None,
    )
    return _hits(hit, term, {"description": container.description})


def _hits(
    hit: records.SearchHit,
    term: Term,
    fields: Mapping[FieldName, str | None],
    *,
    trusted: frozenset[Phrase] = frozenset(),
) -> list[_RankedHit]:
    """Return *hit*, ranked, if its title, address, time or *fields* match; else nothing."""
    modified_time = hit.last_modified_date_time
    known: dict[FieldName, str | None] = {
        "title": hit.title,
        "path": hit.web_url,
        "lastmodifiedtime": None if modified_time is None else str(modified_time),
        **fields,
    }
    texts = {name: text for name, text in known.items() if text}
    if not keyword_query.matches(term, SearchDocument(fields=texts, trusted=trusted)):
        return []
    title = SearchDocument(fields={"title": hit.title or ""})
    return [_RankedHit(hit, keyword_query.matches(term, title))]
