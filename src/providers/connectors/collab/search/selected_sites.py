"""
Search in selected sites, where upstream offers none: asked of each site, merged here.

Libraries are asked by their own search; sites and lists are found by their names, list items by
their titles. Source: wire report 1D.6; decisions 8.15.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from providers.connectors.collab import response_types, selected_fields
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.reading import FileReader
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists.lists import ListReader
from providers.connectors.collab.mapping import row as to_row
from providers.connectors.collab.paging import ODataPage
from providers.connectors.collab.search import keyword_query
from providers.connectors.collab.search.keyword_query import Known, Said, Term
from providers.content.ids import ROOT, ItemKey, is_number
from providers.failures import Broken, Missing
from providers.ports.collab import SearchPage, SearchQuery
from providers.records import collab as records

MOST_FILES = 500  # hits of one library and one alternative
MOST_ROWS = 2000  # items looked at per list
MOST_LISTS = 20  # lists looked into per site
_OF_FILES = frozenset(
    {"name", "size", "modified_time", "web_view_link", "owners", "description"}
    | {"site", "list_id", "list_item_id"}
)
_OF_ROWS = frozenset(
    {"name", "web_url", "last_modified_date_time", "created_by", "content_type", "fields"}
)
_LIMITS = "In selected sites, lists are found by their names and list items by their titles."


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A hit, and how good it is: by title first, then by name."""

    hit: records.SearchHit
    titled: bool

    @property
    def rank(self) -> tuple[bool, str, str]:
        return (not self.titled, (self.hit.title or "").casefold(), self.hit.id)


class SelectedSiteSearch:
    """Searches the chosen sites."""

    def __init__(
        self, context: ConnectionContext, sites: SiteReader, files: FileReader, lists: ListReader
    ) -> None:
        self._context = context
        self._sites = sites
        self._files = files
        self._lists = lists

    async def search(self, query: SearchQuery) -> SearchPage:
        """Search; see `CollabPort.search`. *total* is what was found within our bounds."""
        term = keyword_query.parse(query.text)
        if query.site is not None:
            self._sites.admit_site(query.site)
        sites = [one for one in await self._sites.visible() if query.site in (None, one.site)]
        if query.site is not None and not sites:
            raise Missing
        found = await asyncio.gather(*(self._of_site(one, query, term) for one in sites))
        hits = {one.hit.id: one for several in found for one in several}
        ordered = [one.hit for one in sorted(hits.values(), key=lambda one: one.rank)]
        end = query.start + query.limit
        return SearchPage(
            hits=tuple(ordered[query.start : end]),
            total=len(ordered),
            more=end < len(ordered),
            warnings=(_LIMITS,),
        )

    async def _of_site(
        self, site: records.Site, query: SearchQuery, term: Term
    ) -> Sequence[_Ranked]:
        found: list[_Ranked] = []
        if "site" in query.entity_types:
            found += self._itself(site, term)
        if "driveItem" in query.entity_types:
            found += await self._in_libraries(site, term)
        if query.entity_types & {"list", "listItem"}:
            lists = await self._lists.of_site(site.site, include_hidden=False)
            plain = [one for one in lists if one.template != "documentLibrary"]
            if "list" in query.entity_types:
                found += [hit for one in lists for hit in self._list(one, term)]
            if "listItem" in query.entity_types:
                for one in plain[:MOST_LISTS]:
                    found += await self._in_list(one, term)
        return found

    def _itself(self, site: records.Site, term: Term) -> list[_Ranked]:
        hit = records.SearchHit(
            entity_type="site",
            title=site.display_name,
            web_url=site.web_url,
            last_modified_date_time=site.last_modified_date_time,
            site=site,
        )
        return _hits(hit, term, {"description": site.description})

    def _list(self, one: records.SiteList, term: Term) -> list[_Ranked]:
        hit = records.SearchHit(
            entity_type="list",
            title=one.display_name,
            web_url=one.web_url,
            last_modified_date_time=one.last_modified_date_time,
            list=one,
        )
        return _hits(hit, term, {"description": one.description})

    async def _in_libraries(self, site: records.Site, term: Term) -> list[_Ranked]:
        drives = (await self._sites.drives((site.site,)))[site.site]
        if not isinstance(drives, tuple):
            raise Broken
        found: list[_Ranked] = []
        for branch in keyword_query.probes(term):
            words = " ".join(" ".join(said.words) for said in sorted(branch, key=_words))
            for drive in drives:
                found += await self._in_library(drive, words, branch, term)
        return found

    async def _in_library(
        self, drive: records.Drive, words: str, branch: frozenset[Said], term: Term
    ) -> list[_Ranked]:
        found: list[_Ranked] = []
        cursor: str | None = None
        seen = 0
        while True:
            page = await self._files.search(
                ItemKey(drive.drive, ROOT), words, cursor=cursor, top=200, wanted=_OF_FILES
            )
            for file in page.items:
                found += _file_hits(file, branch, term)
            seen += len(page.items)
            cursor = page.next
            if cursor is None or seen >= MOST_FILES:
                return found

    async def _in_list(self, one: records.SiteList, term: Term) -> list[_Ranked]:
        params = [("$top", "1000"), *selected_fields.row(_OF_ROWS, ("Title",))]
        rows, _ = await self._context.pages.read_all(
            (V1, "sites", one.site, "lists", one.list, "items"),
            params,
            ODataPage[response_types.ListItem],
            limit=MOST_ROWS,
        )
        found: list[_Ranked] = []
        for each in rows:
            if not is_number(each.id):
                continue
            row = to_row(each, one.key, _OF_ROWS)
            hit = records.SearchHit(
                entity_type="listItem",
                title=row.name,
                web_url=row.web_url,
                last_modified_date_time=row.last_modified_date_time,
                row=row,
            )
            found += _hits(hit, term, {"author": row.created_by, "contenttype": row.content_type})
        return found


def _file_hits(file: records.File, branch: frozenset[Said], term: Term) -> list[_Ranked]:
    owner = file.owners[0] if file.owners else None
    name = file.name or ""
    more = {
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
    return _hits(hit, term, more, trusted=branch)


def _hits(
    hit: records.SearchHit,
    term: Term,
    more: Mapping[str, str | None],
    *,
    trusted: frozenset[Said] = frozenset(),
) -> list[_Ranked]:
    """Return *hit* if *term* finds it by what it tells, and *more* that is known of it."""
    changed = hit.last_modified_date_time
    told = {
        "title": hit.title,
        "path": hit.web_url,
        "lastmodifiedtime": None if changed is None else str(changed),
        **more,
    }
    texts = {name: text for name, text in told.items() if text}
    if not keyword_query.found(term, Known(fields=texts, trusted=trusted)):
        return []
    title = {"title": hit.title or ""}
    return [_Ranked(hit, keyword_query.found(term, Known(fields=title)))]


def _words(said: Said) -> tuple[str, ...]:
    return said.words
