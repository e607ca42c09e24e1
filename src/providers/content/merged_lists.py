"""Lists and list items of all connections: the list half of `MergedContent`."""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any

from providers.collab_ids import ListKey, RowKey
from providers.content.merged_sites import MergedSites
from providers.ports.collab import Page, RowQuery
from providers.records import collab as records
from providers.records.collab import Unknown

_NOTHING: frozenset[str] = frozenset()
_NOTHING_HIDDEN: Mapping[ListKey, AbstractSet[str]] = MappingProxyType({})


class MergedLists(MergedSites):
    """The lists that a caller's connections see."""

    async def lists(
        self, site_id: str, *, include_hidden: bool = False
    ) -> tuple[records.SiteList, ...]:
        """Return a site's lists, by display name, then id; Missing when it is not seen."""
        lists = await self._router.first(
            lambda port: port.lists.of_site(site_id, include_hidden=include_hidden)
        )
        return tuple(
            sorted(
                lists,
                key=lambda site_list: ((site_list.display_name or "").casefold(), site_list.list),
            )
        )

    async def site_list(self, key: ListKey) -> records.SiteList:
        return await self._router.first(lambda port: port.lists.get(key))

    async def lists_by_id(
        self, keys: Collection[ListKey], *, columns: bool = False
    ) -> Mapping[ListKey, records.SiteList | Unknown | None]:
        """Read lists by their ids, in batches; see `MergedFiles.items`."""
        return await self._router.merge(
            keys, lambda port, some: port.lists.get_many(some, columns=columns)
        )

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """Return the columns of a list, at most one minute old."""
        return await self._router.first(lambda port: port.lists.columns(key))

    async def rows(
        self, key: ListKey, query: RowQuery, *, cursor: str | None, projection: AbstractSet[str]
    ) -> Page[records.Row]:
        """List the items of a list; see `RowReader.page`."""
        page = await self._router.first(
            lambda port: port.rows.page(key, query, cursor=cursor, projection=projection)
        )
        self._remember_row_files(page.items)
        return page

    async def row(
        self, key: RowKey, *, projection: AbstractSet[str], hidden: AbstractSet[str] = _NOTHING
    ) -> records.Row:
        """Read one list item, uncached; *hidden* as in `RowQuery`."""
        row = await self._router.first(
            lambda port: port.rows.get(key, projection=projection, hidden=hidden)
        )
        self._remember_row_files((row,))
        return row

    async def rows_by_id(
        self,
        keys: Collection[RowKey],
        *,
        projection: AbstractSet[str],
        hidden: Mapping[ListKey, AbstractSet[str]] = _NOTHING_HIDDEN,
    ) -> Mapping[RowKey, records.Row | Unknown | None]:
        """
        Read list items by their ids, in batches; see `MergedFiles.items`.

        *hidden* as in `RowQuery`, by list.
        """
        rows = await self._router.merge(
            keys, lambda port, some: port.rows.get_many(some, projection=projection, hidden=hidden)
        )
        self._remember_row_files(rows.values())
        return rows

    async def create_row(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        projection: AbstractSet[str],
        hidden: AbstractSet[str] = _NOTHING,
    ) -> records.Row:
        """Add a list item; InvalidFields when its values do not fit."""
        port = await self._router.writer(lambda port: port.lists.get(key))
        return await port.row_writes.create(key, fields, projection=projection, hidden=hidden)

    async def update_row(
        self,
        key: RowKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        projection: AbstractSet[str],
        hidden: AbstractSet[str] = _NOTHING,
    ) -> records.Row:
        """Change some columns of a list item; InvalidFields, or Stale."""
        port = await self._router.writer(lambda port: port.rows.get(key, projection=_NOTHING))
        return await port.row_writes.update(
            key, fields, etag=etag, projection=projection, hidden=hidden
        )

    async def delete_row(self, key: RowKey, *, etag: str | None) -> None:
        """Delete a list item; Stale when it is no longer at *etag*."""
        port = await self._router.writer(lambda port: port.rows.get(key, projection=_NOTHING))
        await port.row_writes.delete(key, etag=etag)

    def _remember_row_files(self, rows: Iterable[records.Row | Unknown | None]) -> None:
        for row in rows:
            if isinstance(row, records.Row) and isinstance(row.file, records.File):
                self._remember_file(row.file)
