"""
Builder of content for the demo world, imports and tests.

Ids are derived from names, so the same content gets the same ids. Nothing is stored before
`ContentBuilder.save`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec

from sandbox.collab import ids
from sandbox.collab import records as r
from sandbox.collab.files import content
from sandbox.collab.files.blobs import quick_hash
from sandbox.collab.files.changes import FILE_TYPE
from sandbox.collab.lists.columns import LIBRARY_CONTENT_TYPES
from sandbox.collab.store import ContentStore

MAX_INDEXED_CHARACTERS = 20_000  # of a file's text
_FOLDER_TYPE = LIBRARY_CONTENT_TYPES[1].id


class ContentBuilder:
    """
    Creates records and saves them in a store.

    Attributes:
        when: Default creation time, ISO text in UTC.
        author: Default author, an e-mail address.
    """

    def __init__(self, store: ContentStore, *, when: str, author: str) -> None:
        self.store = store
        self.when = when
        self.author = author
        self._pending: list[r.Record] = []
        self._numbers: dict[str, int] = defaultdict(int)
        self._lists: dict[str, str] = {}

    def add(self, record: r.Record) -> None:
        """Add a record, to be stored by `save`."""
        self._pending.append(record)

    def save(self) -> None:
        """Store all records created so far."""
        self.store.put_many(self._pending)
        for list_id, used in self._numbers.items():
            self.store.set_numbers(list_id, used)
        self._pending.clear()

    def continue_list(self, list_id: str, drive_id: str = "") -> None:
        """Continue the item numbers of a stored list."""
        if drive_id:
            library_items = (*self.store.items(drive_id), *self.store.recycled(drive_id))
            used_numbers = [item.number for item in library_items]
            self._lists[drive_id] = list_id
        else:
            used_numbers = [row.number for row in self.store.rows(list_id)]
        self._numbers[list_id] = max(used_numbers, default=0)

    def people(
        self, people: Mapping[str, str], *, sign_in_names: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Add people to the directory: e-mail address -> name; -> sign-in name where it differs."""
        for email, name in people.items():
            self.add(r.Person(email=email, name=name, sign_in_name=sign_in_names.get(email, "")))

    def site(self, host: str, path: str, title: str, **more: Any) -> r.Site:
        """Add a site."""
        web = uuid5(NAMESPACE_URL, f"https://{host}{path}")
        collection = uuid5(web, "collection")
        site = r.Site(
            id=f"{host},{collection},{web}",
            path=path,
            name=path.rpartition("/")[2] or host.partition(".")[0],
            title=title,
            created=more.pop("created", self.when),
            modified=more.pop("modified", self.when),
            **more,
        )
        self.add(site)
        return site

    def library(
        self,
        site: r.Site,
        name: str,
        *,
        segment: str = "",
        columns: Sequence[r.Column] = (),
        content_types: Sequence[r.ContentType] = (),
        is_system: bool = False,
        **more: Any,
    ) -> r.Item:
        """Add a library with its list, and return its root folder."""
        segment = segment or name
        _, collection, web = site.id.split(",")
        guid = uuid5(UUID(web), f"library {segment}")
        drive_id = ids.drive_id(UUID(collection), UUID(web), guid)
        self._lists[drive_id] = str(guid)
        self.add(
            r.SiteList(
                id=str(guid),
                site_id=site.id,
                name=segment,
                title=name,
                template="documentLibrary",
                created=self.when,
                modified=self.when,
                author=self.author,
                drive_id=drive_id,
                columns=tuple(columns),
                content_types=tuple(content_types),
                is_system=is_system,
                description=str(more.get("description", "")),
            )
        )
        root = self._root_folder(drive_id, guid, segment)
        self.add(root)
        self.add(
            r.Library(
                id=drive_id,
                site_id=site.id,
                list_id=str(guid),
                root_id=root.id,
                name=name,
                segment=segment,
                created=self.when,
                modified=self.when,
                author=self.author,
                kind="business" if site.owner else "documentLibrary",
                **more,
            )
        )
        return root

    def _root_folder(self, drive_id: str, list_guid: UUID, segment: str) -> r.Item:
        return r.Item(
            id=ids.root_id(drive_id),
            drive_id=drive_id,
            parent_id="",
            name=segment,
            number=0,
            guid=str(uuid5(list_guid, "root")),
            created=self.when,
            modified=self.when,
            author=self.author,
            editor=self.author,
            is_folder=True,
        )

    def folder(self, parent: r.Item, name: str, **more: Any) -> r.Item:
        """Add a folder."""
        more.setdefault("content_type", _FOLDER_TYPE)
        return self._item(parent, name, is_folder=True, **more)

    def file(self, parent: r.Item, name: str, source: Sequence[str], **more: Any) -> r.Item:
        """Add a file generated from a recipe (`content.generate`)."""
        file_bytes = content.generate(source)
        more.setdefault("words", " ".join(source[1:])[:MAX_INDEXED_CHARACTERS])
        more.setdefault("mime", content.mime_type(name))
        more.setdefault("content_type", FILE_TYPE)
        return self._item(
            parent,
            name,
            size=len(file_bytes),
            quick_hash=quick_hash(file_bytes),
            source=tuple(source),
            **more,
        )

    def bare_file(self, parent: r.Item, name: str, *, size: int, **more: Any) -> r.Item:
        """Add a file without bytes to read, for content that is only listed and searched."""
        return self._item(parent, name, size=size, source=("text", name), **more)

    def blob(self, parent: r.Item, name: str, blob: str, size: int, **more: Any) -> r.Item:
        """Add a file whose bytes are a stored blob."""
        blobs = self.store.blobs
        head = blobs.read_head(blob, content.MAX_INDEXED_BYTES)
        return self._item(
            parent,
            name,
            size=size,
            blob=blob,
            quick_hash=blobs.quick_hash(blob),
            mime=content.mime_type(name),
            words=content.extract_text(name, head)[:MAX_INDEXED_CHARACTERS],
            content_type=FILE_TYPE,
            **more,
        )

    def notebook(self, parent: r.Item, name: str, **more: Any) -> r.Item:
        """Add a notebook: neither file nor folder."""
        return self._item(parent, name, package="oneNote", **more)

    def _item(self, parent: r.Item, name: str, **more: Any) -> r.Item:
        list_id = self._lists[parent.drive_id]
        guid = uuid5(UUID(parent.guid), f"item {name}")
        when = more.pop("created", self.when)
        item = r.Item(
            id=ids.item_id(parent.drive_id, guid),
            drive_id=parent.drive_id,
            parent_id=parent.id,
            name=name,
            number=self._next(list_id),
            guid=str(guid),
            created=when,
            modified=more.pop("modified", when),
            author=more.pop("author", self.author),
            editor=more.pop("editor", self.author),
            **more,
        )
        self.add(item)
        return item

    def list_in(
        self,
        site: r.Site,
        title: str,
        columns: Sequence[r.Column],
        rows: Sequence[Mapping[str, Any]] = (),
        **more: Any,
    ) -> r.SiteList:
        """Add a list and its rows."""
        _, _, web = site.id.split(",")
        site_list = r.SiteList(
            id=str(uuid5(UUID(web), f"list {title}")),
            site_id=site.id,
            name=more.pop("name", title),
            title=title,
            template=more.pop("template", "genericList"),
            created=self.when,
            modified=self.when,
            author=self.author,
            columns=tuple(columns),
            **more,
        )
        self.add(site_list)
        for fields in rows:
            self.row(site_list, fields)
        return site_list

    def row(self, site_list: r.SiteList, fields: Mapping[str, Any], **more: Any) -> r.Row:
        """Add a row to a list."""
        number = self._next(site_list.id)
        when = more.pop("created", self.when)
        content_types = site_list.content_types
        row = r.Row(
            list_id=site_list.id,
            number=number,
            guid=str(uuid5(UUID(site_list.id), f"row {number}")),
            created=when,
            modified=more.pop("modified", when),
            author=more.pop("author", self.author),
            editor=more.pop("editor", self.author),
            fields=dict(fields),
            content_type=more.pop(
                "content_type", content_types[0].id if content_types else "0x0100"
            ),
            **more,
        )
        self.add(row)
        return row

    def share(self, item: r.Item, kind: str, role: str, **more: Any) -> r.Share:
        """Add a permission on an item."""
        seed = "|".join(str(value) for value in (kind, role, *sorted(more.items())))
        share = r.Share(
            id=str(uuid5(UUID(item.guid), seed)),
            drive_id=item.drive_id,
            item_id=item.id,
            kind=kind,
            role=role,
            by=self.author,
            **more,
        )
        self.add(share)
        return share

    def label(self, item: r.Item, label: r.Label, method: str = "standard") -> r.Item:
        """Label an item that was added before."""
        labelled_item = msgspec.structs.replace(item, label=label.id, label_method=method)
        self.add(labelled_item)
        return labelled_item

    def _next(self, list_id: str) -> int:
        self._numbers[list_id] += 1
        return self._numbers[list_id]
