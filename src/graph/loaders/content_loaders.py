"""Loaders of the collaboration content."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple, TypeVar

from graph.loaders.object_loader import (
    EVERYTHING,
    Key,
    Loaded,
    ObjectLoader,
    Projection,
    ReadMany,
    each,
)
from providers.collab_ids import ItemKey, ListItemKey, ListKey
from providers.content.ancestors import Ancestors
from providers.content.merged_content import MergedContent
from providers.failures import Broken, Missing, ProviderFailure
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

_COLUMNS: Projection = frozenset({"columns"})

Drives = tuple[records.Drive, ...]
Permissions = tuple[records.Permission, ...]
Labels = tuple[records.FileLabel, ...]
Record = TypeVar("Record")


class _ListItemKey(NamedTuple):
    """A list item, and the columns of it that the caller may not see."""

    list_item: ListItemKey
    hidden: frozenset[str]


class ContentLoaders:
    """
    Loaders of what the caller's content connections see.

    Attributes:
        single_use: Only one field reads, once, so nothing is read together or twice.
        content: What they see.
    """

    def __init__(self, content: MergedContent, *, single_use: bool) -> None:
        self.single_use = single_use
        self.content = content
        self._narrower: dict[frozenset[int], ContentLoaders] = {}

    def among(self, connections: frozenset[int]) -> "ContentLoaders":
        """Return the loaders of what some of the connections see."""
        if connections not in self._narrower:
            content = self.content.among(connections)
            self._narrower[connections] = ContentLoaders(content, single_use=self.single_use)
        return self._narrower[connections]

    def cancel(self) -> None:
        """Stop what is read for a request that was cancelled."""
        for loader in list(vars(self).values()):
            if isinstance(loader, ObjectLoader):
                loader.cancel()
        for narrower in self._narrower.values():
            narrower.cancel()

    async def item(self, key: ItemKey, projection: Projection) -> records.File:
        """Read one file or folder."""
        return await self._items.load(key, projection)

    async def permissions(self, key: ItemKey) -> Permissions:
        """Read the permissions of one file."""
        if self.single_use:
            return await self.content.permissions(key)
        return await self._permissions.load(key, EVERYTHING)

    async def file_labels(self, keys: Collection[ItemKey]) -> Mapping[ItemKey, Labels | Unknown]:
        """Read the sensitivity labels of files; see `MergedContent.file_labels`."""
        return await _load_all(self._labels, keys)

    async def ancestors(self, keys: Collection[ItemKey]) -> Mapping[ItemKey, Ancestors]:
        """Read the folders above files; see `MergedContent.ancestors`."""
        return await _load_all(self._ancestors, keys)

    async def site(self, site_id: str) -> records.Site:
        """Read one site."""
        return await self._sites.load(site_id, EVERYTHING)

    async def drive(self, drive_id: str) -> records.Drive:
        """Read one library."""
        return await self._drives.load(drive_id, EVERYTHING)

    async def drives_by_id(
        self, drive_ids: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries; see `MergedContent.drives_by_id`."""

        async def read(drive_id: str) -> records.Drive | Unknown | None:
            try:
                return await self.drive(drive_id)
            except Missing:
                return None
            except Broken:
                return UNKNOWN

        drives = await asyncio.gather(*map(read, drive_ids))
        return dict(zip(drive_ids, drives, strict=True))

    async def drives_of(self, site_id: str) -> Drives:
        """Read the libraries of one site."""
        return await self._drives_of_sites.load(site_id, EVERYTHING)

    async def lists_of(self, site_id: str, *, include_hidden: bool) -> tuple[records.SiteList, ...]:
        """Read the lists of one site."""
        return await self._lists_of_sites.load((site_id, include_hidden), EVERYTHING)

    async def site_list(self, key: ListKey, *, columns: bool = True) -> records.SiteList:
        """Read one list, with or without its columns."""
        return await self._lists.load(key, _COLUMNS if columns else EVERYTHING)

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """Read the columns of one list; see `MergedContent.columns`."""
        return await self._list_columns.load(key, EVERYTHING)

    async def list_item(
        self, key: ListItemKey, projection: Projection, *, hidden: AbstractSet[str]
    ) -> records.ListItem:
        """Read one list item; *hidden* as in `ListItemQuery`."""
        return await self._list_items.load(_ListItemKey(key, frozenset(hidden)), projection)

    @cached_property
    def _items(self) -> ObjectLoader[ItemKey, records.File]:
        return ObjectLoader(
            _batched(
                lambda keys, projection: self.content.items(keys, projection=projection),
                lambda key, projection: self.content.item(key, projection=projection),
            )
        )

    @cached_property
    def _permissions(self) -> ObjectLoader[ItemKey, Permissions]:
        return ObjectLoader(
            _batched(
                lambda keys, _: self.content.permissions_of(keys),
                lambda key, _: self.content.permissions(key),
            )
        )

    @cached_property
    def _labels(self) -> ObjectLoader[ItemKey, Labels | Unknown]:
        return ObjectLoader(lambda keys, _: self.content.file_labels(keys))

    @cached_property
    def _ancestors(self) -> ObjectLoader[ItemKey, Ancestors]:
        return ObjectLoader(lambda keys, _: self.content.ancestors(keys))

    @cached_property
    def _sites(self) -> ObjectLoader[str, records.Site]:
        return ObjectLoader(
            _batched(
                lambda ids, _: self.content.sites_by_id(ids),
                lambda site_id, _: self.content.site(site_id),
            )
        )

    @cached_property
    def _drives(self) -> ObjectLoader[str, records.Drive]:
        return ObjectLoader(
            _batched(
                lambda ids, _: self.content.drives_by_id(ids),
                lambda drive_id, _: self.content.drive(drive_id),
            )
        )

    @cached_property
    def _drives_of_sites(self) -> ObjectLoader[str, Drives]:
        return ObjectLoader(
            _batched(
                lambda ids, _: self.content.drives_of(ids),
                lambda site_id, _: self.content.drives(site_id),
            )
        )

    @cached_property
    def _lists_of_sites(self) -> ObjectLoader[tuple[str, bool], tuple[records.SiteList, ...]]:
        return ObjectLoader(each(lambda key, _: self.content.lists(key[0], include_hidden=key[1])))

    @cached_property
    def _lists(self) -> ObjectLoader[ListKey, records.SiteList]:
        return ObjectLoader(
            _batched(
                lambda keys, projection: self.content.lists_by_id(keys, columns=bool(projection)),
                lambda key, _: self.content.site_list(key),
            )
        )

    @cached_property
    def _list_columns(self) -> ObjectLoader[ListKey, tuple[records.Column, ...]]:
        return ObjectLoader(each(lambda key, _: self.content.columns(key)))

    @cached_property
    def _list_items(self) -> ObjectLoader[_ListItemKey, records.ListItem]:
        return ObjectLoader(self._read_list_items)

    async def _read_list_items(
        self, keys: Sequence[_ListItemKey], projection: Projection
    ) -> Mapping[_ListItemKey, records.ListItem | ProviderFailure]:
        """Read list items by batches; one list has the same hidden columns in a whole request."""
        hidden = {key.list_item.of: key.hidden for key in keys}
        list_items = {key.list_item: key for key in keys}
        read = _batched(
            lambda keys, projection: self.content.list_items_by_id(
                keys, projection=projection, hidden=hidden
            ),
            lambda key, projection: self.content.list_item(
                key, projection=projection, hidden=hidden[key.of]
            ),
        )
        return {
            list_items[key]: list_item
            for key, list_item in (await read(list(list_items), projection)).items()
        }


def _batched(
    read_many: Callable[
        [Sequence[Key], Projection], Awaitable[Mapping[Key, Loaded | Unknown | None]]
    ],
    read_one: Callable[[Key, Projection], Awaitable[Loaded]],
) -> ReadMany[Key, Loaded]:
    """Read objects in batches; what a batch does not tell is read alone, and tells why."""

    async def read(
        keys: Sequence[Key], projection: Projection
    ) -> Mapping[Key, Loaded | ProviderFailure]:
        objects = await read_many(keys, projection) if len(keys) > 1 else {}
        known = {
            key: Missing() if record is None else record
            for key, record in objects.items()
            if record is not UNKNOWN
        }
        unknown = [key for key in keys if key not in known]
        return {**known, **await each(read_one)(unknown, projection)}

    return read


async def _load_all(loader: ObjectLoader[Key, Loaded], keys: Iterable[Key]) -> Mapping[Key, Loaded]:
    """Load objects that belong to no selection."""
    distinct = list(dict.fromkeys(keys))
    loaded = await asyncio.gather(*(loader.load(key, EVERYTHING) for key in distinct))
    return dict(zip(distinct, loaded, strict=True))
