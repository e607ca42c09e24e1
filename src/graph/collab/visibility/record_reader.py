"""
Records of one request, without a decision about them.

Where several fields of a request read, the loaders read for them together; a field that reads
alone, and a read whose cost must not depend on others, calls the connections itself.
"""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from graph.loaders.content_loaders import ContentLoaders
from providers.collab_ids import ROOT, ItemKey, ListItemKey, ListKey
from providers.content.merged_content import MergedContent
from providers.fanout import gather_results
from providers.records.collab import Column, Drive, File, ListItem, Permission, Site, SiteList


class RecordReader:
    """
    Reads records by their keys; Missing where no connection sees one.

    Attributes:
        content: What the caller's connections see.
        loaders: None: everything is read afresh.
    """

    def __init__(self, content: MergedContent, loaders: ContentLoaders | None) -> None:
        self.content = content
        self.loaders = loaders

    def exhaustive(self) -> "RecordReader":
        """Return a reader of even cost; see `MergedContent.exhaustive`."""
        return RecordReader(self.content.exhaustive(), None)

    async def file(self, key: ItemKey, *, projection: AbstractSet[str]) -> File:
        """Read a file or folder."""
        if self.loaders is None or key.item == ROOT:  # a batch knows no root by this name
            return await self.content.item(key, projection=projection)
        return await self.loaders.item(key, frozenset(projection))

    async def permissions(self, key: ItemKey) -> tuple[Permission, ...]:
        """Read the permissions of a file."""
        return await (self.loaders or self.content).permissions(key)

    async def list_item(
        self, key: ListItemKey, *, projection: AbstractSet[str], hidden: AbstractSet[str]
    ) -> ListItem:
        """Read a list item; *hidden* as in `ListItemQuery`."""
        if self.loaders is None:
            return await self.content.list_item(key, projection=projection, hidden=hidden)
        return await self.loaders.list_item(key, frozenset(projection), hidden=hidden)

    async def site(self, site: str) -> Site:
        """Read a site."""
        return await (self.loaders or self.content).site(site)

    async def drive(self, drive_id: str) -> Drive:
        """Read a library."""
        return await (self.loaders or self.content).drive(drive_id)

    async def drives_of(self, site: str) -> tuple[Drive, ...]:
        """Read the libraries of a site."""
        if self.loaders is None:
            return await self.content.drives(site)
        return await self.loaders.drives_of(site)

    async def lists_of(self, site: str, *, include_hidden: bool) -> tuple[SiteList, ...]:
        """Read the lists of a site, without their columns."""
        if self.loaders is None:
            return await self.content.lists(site, include_hidden=include_hidden)
        return await self.loaders.lists_of(site, include_hidden=include_hidden)

    async def site_list(self, key: ListKey) -> SiteList:
        """Read a list with its columns."""
        return await (self.loaders or self.content).site_list(key)

    async def columns(self, key: ListKey) -> tuple[Column, ...]:
        """Return the columns of a list, at most one minute old."""
        return await (self.loaders or self.content).columns(key)

    async def files(self, keys: Sequence[ItemKey], *, projection: AbstractSet[str]) -> list[File]:
        """Read files or folders; those that cannot be read are left out."""
        if self.loaders is None:
            items = await self.content.items(keys, projection=projection)
            return [item for item in items.values() if isinstance(item, File)]
        read, attributes = self.loaders.item, frozenset(projection)
        results = await gather_results([read(key, attributes) for key in keys])
        return [result for result in results if isinstance(result, File)]

    async def read_again(
        self, files: Sequence[File], *, projection: AbstractSet[str]
    ) -> list[File]:
        """Read *files* again; one that cannot be read is as it was."""
        again = await self.files([file.key for file in files], projection=projection)
        by_key = {file.key: file for file in again}
        return [by_key.get(file.key, file) for file in files]

    async def lists(self, keys: Collection[ListKey]) -> list[SiteList]:
        """Read lists without their columns; those that cannot be read are left out."""
        if self.loaders is None:
            lists = await self.content.lists_by_id(keys)
            return [site_list for site_list in lists.values() if isinstance(site_list, SiteList)]
        read = self.loaders.site_list
        results = await gather_results([read(key, columns=False) for key in keys])
        return [result for result in results if isinstance(result, SiteList)]
