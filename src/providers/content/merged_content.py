"""
All collab connections of a caller as one, for the length of one request.

What is read is remembered as long as this object lives; make one per request. Ids are routed by
docs/spec/collab.md#connections. Sites, files and lists are in `merged_sites`, `merged_files` and
`merged_lists`.
"""

from collections.abc import Collection

from msgspec.structs import replace

from providers.content.merged_files import MergedFiles
from providers.content.merged_lists import MergedLists
from providers.content.merged_sites import MergedResult
from providers.content.routing import CONNECTION_KIND, named
from providers.failures import ProviderFailure
from providers.fanout import ConnectionWarning, combined_failure, with_timeout
from providers.ports.collab import SearchPage, SearchQuery
from providers.records import collab as records


class MergedContent(MergedFiles, MergedLists):
    """The collaboration content that a caller's connections see."""

    @property
    def can_write(self) -> bool:
        """Whether any of the connections may change something."""
        return any(info.can_write for info, _ in self._router.connections)

    async def may_have_created(self, creators: Collection[str]) -> bool:
        """
        Return whether an object with these creators (addresses) may come from a connection.

        Raises:
            ProviderFailure: The addresses of an account cannot be read.
        """
        addresses = {creator.casefold() for creator in creators}
        for info, port in self._router.connections:
            if not info.can_write:
                continue
            if info.mode == "selected_sites":
                if not addresses:
                    return True
            elif info.account_email.casefold() in addresses:
                return True
            elif addresses:  # a connection may be named by an alias or by the sign-in name
                own = await with_timeout(port.own_addresses(), self._router.timeout_seconds)
                if not addresses.isdisjoint(own):
                    return True
        return False

    def exhaustive(self) -> "MergedContent":
        """
        Return a view that has remembered nothing yet and calls every connection for an id.

        The number of upstream calls then does not reveal what exists, and where (timing side
        channel; docs/spec/rules.md#equal-cost).
        """
        router = self._router
        return MergedContent(
            router.connections,
            timeout_seconds=router.timeout_seconds,
            exhaustive=True,
            writable_first=router.writable_first,
        )

    def among(self, connections: Collection[int], *, for_write: bool = False) -> "MergedContent":
        """
        Return what some of the connections see, which has remembered nothing yet.

        *for_write*: whether those that may write are called first, so that what is read of an
        object is read from the connection that gets the write.
        """
        return MergedContent(
            [pair for pair in self._router.connections if pair[0].id in connections],
            timeout_seconds=self._router.timeout_seconds,
            writable_first=for_write,
        )

    async def search(self, query: SearchQuery) -> MergedResult[SearchPage]:
        """
        Search everything: the hits of one connection after those of the other.

        Returns:
            One page. Hits in sites that an earlier connection sees come from that one alone.

        Raises:
            InvalidSearch: The text does not parse.
            ProviderFailure: No connection answered.
        """
        if len(self._router.connections) == 1:
            return MergedResult((await self._router.first(lambda port: port.search(query)),))
        return await self._search_all(query)

    async def _search_all(self, query: SearchQuery) -> MergedResult[SearchPage]:
        sites = await self.sites()
        hits: list[records.SearchHit] = []
        failed: list[ConnectionWarning] = []
        warnings: list[str] = []
        total, answered = 0, 0
        searched_sites: set[str] = set()
        for info, port in self._router.connections:
            start = max(0, query.start - total)
            missing = query.limit - len(hits)
            try:
                page = await port.search(replace(query, start=start, limit=max(1, missing)))
            except ProviderFailure as failure:
                failed.append(ConnectionWarning(info, failure))
                continue
            answered += 1
            total += page.total
            warnings += page.warnings
            if missing > 0:
                hits += [
                    named(hit, info)
                    for hit in page.hits[:missing]
                    if _site_of(hit) not in searched_sites
                ]
            searched_sites |= self._visible_sites.get(info.id, frozenset())
        if not answered:
            raise combined_failure(failed, of=CONNECTION_KIND)
        page = SearchPage(
            hits=tuple(hits),
            total=total,
            more=query.start + query.limit < total,
            warnings=tuple(dict.fromkeys(warnings)),
        )
        return MergedResult((page,), (*sites.failed, *failed))


def _site_of(hit: records.SearchHit) -> object:
    record = hit.file or hit.list_item or hit.list or hit.site
    return None if record is None else record.site
