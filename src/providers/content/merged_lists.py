"""Lists and list items of all connections: the list half of `MergedContent`."""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any

from providers.collab_ids import ListItemKey, ListKey
from providers.content.merged_sites import MergedSites
from providers.ports.collab import ListItemQuery, Page
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

    async def list_items(
        self,
        key: ListKey,
        query: ListItemQuery,
        *,
        cursor: str | None,
        projection: AbstractSet[str],
    ) -> Page[records.ListItem]:
        """List the items of a list; see `RowReader.page`."""
        page = await self._router.first(
            lambda port: port.list_items.page(key, query, cursor=cursor, projection=projection)
        )
        self._remember_list_item_files(page.items)
        return page

    async def list_item(
        self, key: ListItemKey, *, projection: AbstractSet[str], hidden: AbstractSet[str] = _NOTHING
    ) -> records.ListItem:
        """Read one list item, uncached; *hidden* as in `ListItemQuery`."""
        list_item = await self._router.first(
            lambda port: port.list_items.get(key, projection=projection, hidden=hidden)
        )
        self._remember_list_item_files((list_item,))
        return list_item

    async def list_items_by_id(
        self,
        keys: Collection[ListItemKey],
        *,
        projection: AbstractSet[str],
        hidden: Mapping[ListKey, AbstractSet[str]] = _NOTHING_HIDDEN,
    ) -> Mapping[ListItemKey, records.ListItem | Unknown | None]:
        """
        Read list items by their ids, in batches; see `MergedFiles.items`.

        *hidden* as in `ListItemQuery`, by list.
        """
        list_items = await self._router.merge(
            keys,
            lambda port, some: port.list_items.get_many(some, projection=projection, hidden=hidden),
        )
        self._remember_list_item_files(list_items.values())
        return list_items

    async def create_list_item(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        projection: AbstractSet[str],
        hidden: AbstractSet[str] = _NOTHING,
    ) -> records.ListItem:
        """Add a list item; InvalidFields when its values do not fit."""
        return await self._router.write_where(
            lambda port: port.lists.get(key),
            lambda port: port.list_item_writes.create(
                key, fields, projection=projection, hidden=hidden
            ),
        )

    async def update_list_item(
        self,
        key: ListItemKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        projection: AbstractSet[str],
        hidden: AbstractSet[str] = _NOTHING,
    ) -> records.ListItem:
        """Change some columns of a list item; InvalidFields, or Stale."""
        return await self._router.write_where(
            lambda port: port.list_items.get(key, projection=_NOTHING),
            lambda port: port.list_item_writes.update(
                key, fields, etag=etag, projection=projection, hidden=hidden
            ),
        )

    async def delete_list_item(self, key: ListItemKey, *, etag: str | None) -> None:
        """Delete a list item; Stale when it is no longer at *etag*."""
        await self._router.write_where(
            lambda port: port.list_items.get(key, projection=_NOTHING),
            lambda port: port.list_item_writes.delete(key, etag=etag),
        )

    def _remember_list_item_files(
        self, list_items: Iterable[records.ListItem | Unknown | None]
    ) -> None:
        for list_item in list_items:
            if isinstance(list_item, records.ListItem) and isinstance(list_item.file, records.File):
                self._remember_file(list_item.file)
