"""
One collab connection, by area.

Keys and ids in and out are upstream's own; `providers.collab_ids` writes and reads the prefixed
ones. *projection* names attributes of the records in `providers.records.collab`, facts included.
Every method raises members of `providers.failures` and what its docstring names.

A site that the connection may not use, and everything in it, is Missing. Reads of many keys answer
per key: the record, None when there surely is none, UNKNOWN when it could not be read.
"""

from providers.connectors.collab.connection_context import ConnectionContext
from providers.connectors.collab.files.labels import LabelReader
from providers.connectors.collab.files.reading import FileReader
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.files.uploads import FileUploader
from providers.connectors.collab.files.writing import FileWriter
from providers.connectors.collab.lists.item_writing import ListItemWriter
from providers.connectors.collab.lists.items import ListItemReader
from providers.connectors.collab.lists.lists import ListReader
from providers.connectors.collab.paging import PageReader
from providers.connectors.collab.search.search import IndexSearch
from providers.connectors.collab.search.selected_sites import SelectedSiteSearch
from providers.connectors.collab.ttl_cache import ConnectionCache
from providers.failures import Missing, NeedsReauth, Refused
from providers.http.client import Upstream
from providers.microsoft_user import read_addresses
from providers.ports.collab import FileQuery, Page, SearchPage, SearchQuery
from providers.ports.connection import ConnectionInfo
from providers.ports.opening import Opening
from providers.records import collab as records


def open_port(opening: Opening) -> "CollabConnection":
    """Open the account of a connection; makes no call."""
    return CollabConnection(opening.info, opening.upstream(), opening.memory(ConnectionCache))


class CollabConnection:
    """One connection; its attributes are the areas."""

    def __init__(self, info: ConnectionInfo, upstream: Upstream, cache: ConnectionCache) -> None:
        """*cache* belongs to the connection and outlives this object, which serves one request."""
        context = ConnectionContext(info, upstream, PageReader(upstream, info.base_url), cache)
        self._context = context
        self.sites = sites = SiteReader(context)
        self.files = files = FileReader(context, sites)
        self.file_writes = FileWriter(context, sites)
        self.uploads = FileUploader(context, sites)
        self.labels = LabelReader(context, sites, files)
        self.lists = lists = ListReader(context, sites)
        self.list_items = list_items = ListItemReader(context, sites, lists)
        self.list_item_writes = ListItemWriter(context, sites, lists, list_items)
        self._search: IndexSearch | SelectedSiteSearch = (
            SelectedSiteSearch(context, sites, files, lists)
            if context.is_selected
            else IndexSearch(context, sites)
        )

    async def search(self, query: SearchQuery) -> SearchPage:
        """
        Search everything that the connection sees; hits carry the facts of the search index.

        Raises:
            InvalidSearch: The text does not parse.
        """
        return await self._search.search(query)

    async def indexed_files(self, query: FileQuery, *, start: int) -> Page[records.File]:
        """
        Return files by the search index; see `IndexSearch.files`.

        Raises:
            Missing: The connection has no search index.
        """
        if isinstance(self._search, SelectedSiteSearch):
            raise Missing
        return await self._search.files(query, start=start)

    async def own_addresses(self) -> frozenset[str]:
        """
        Return the primary address, the sign-in name and the aliases of the account, folded.

        Empty for an application, and for a connection whose scopes do not show them.
        """
        cache = self._context.cache.own_addresses
        if self._context.is_selected:
            return frozenset()
        own = cache.get("")
        if own is None:
            try:
                addresses = await read_addresses(self._context.upstream)
            except (Missing, NeedsReauth, Refused):  # a token without User.Read
                addresses = ()
            own = frozenset(map(str.casefold, addresses))
            cache.put("", own)
        return own

    async def probe(self) -> None:
        """Make one harmless read, to see whether the connection works."""
        if self._context.is_selected:
            await self.sites.visible()
        else:
            await self.sites.default_drive()
