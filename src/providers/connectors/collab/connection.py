"""One collab connection; see `providers.ports.collab_port.CollabPort`."""

from providers.connectors.collab.connection_context import ConnectionContext
from providers.connectors.collab.files.labels import LabelReader
from providers.connectors.collab.files.reading import FileReader
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.files.uploads import FileUploader
from providers.connectors.collab.files.writing import FileWriter
from providers.connectors.collab.lists.item_writing import RowWriter
from providers.connectors.collab.lists.items import RowReader
from providers.connectors.collab.lists.lists import ListReader
from providers.connectors.collab.paging import PageReader
from providers.connectors.collab.search.search import IndexSearch
from providers.connectors.collab.search.selected_sites import SelectedSiteSearch
from providers.connectors.collab.ttl_cache import ConnectionCache
from providers.http.client import Upstream
from providers.ports.collab import SearchPage, SearchQuery
from providers.ports.connection import ConnectionInfo


class CollabConnection:
    """One connection, by area."""

    def __init__(self, info: ConnectionInfo, upstream: Upstream, cache: ConnectionCache) -> None:
        """*cache* belongs to the connection and outlives this object, which serves one request."""
        context = ConnectionContext(info, upstream, PageReader(upstream, info.base_url), cache)
        self._is_selected = context.is_selected
        self.sites = sites = SiteReader(context)
        self.files = files = FileReader(context, sites)
        self.file_writes = FileWriter(context, sites)
        self.uploads = FileUploader(context, sites)
        self.labels = LabelReader(context, sites, files)
        self.lists = lists = ListReader(context, sites)
        self.rows = rows = RowReader(context, sites, lists)
        self.row_writes = RowWriter(context, sites, lists, rows)
        self._search: IndexSearch | SelectedSiteSearch = (
            SelectedSiteSearch(context, sites, files, lists)
            if context.is_selected
            else IndexSearch(context, sites)
        )

    async def search(self, query: SearchQuery) -> SearchPage:
        """Search everything that the connection sees."""
        return await self._search.search(query)

    async def probe(self) -> None:
        """Make one harmless read."""
        if self._is_selected:
            await self.sites.visible()
        else:
            await self.sites.default_drive()
