"""What search knows of everything: the texts and fields that the keyword language asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sandbox.collab import records as r
from sandbox.collab.files import items
from sandbox.collab.files.content import suffix
from sandbox.collab.lists import list_item_views
from sandbox.collab.search.keyword_query import IndexedText, index_text
from sandbox.collab.store import ContentStore


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """
    Something that search knows.

    Attributes:
        kind: driveItem, listItem, list or site.
        body: The text that a summary is cut out of.
    """

    kind: str
    record: r.Record
    of_list: r.SiteList | None
    site: r.Site
    indexed: IndexedText
    title: str
    body: str


class SearchIndex:
    """All that can be found, made again when the shelf has changed."""

    def __init__(self) -> None:
        self._made_at = -1
        self._known: list[SearchDocument] = []

    def known(self, store: ContentStore) -> list[SearchDocument]:
        """Return everything."""
        if store.changes != self._made_at:
            self._known = list(_everything(store))
            self._made_at = store.changes
        return self._known


def _everything(store: ContentStore) -> Iterator[SearchDocument]:
    lists = {one.id: one for one in store.every(r.SiteList)}
    by_drive = {list_.drive_id: list_ for list_ in lists.values() if list_.drive_id}
    urls = {drive: _Addresses(store, drive) for drive in by_drive}
    for site in store.every(r.Site):
        yield _of_site(site)
        for list_ in lists.values():
            if list_.site_id != site.id or list_.is_system or list_.is_hidden:
                continue
            url = list_item_views.list_url(store, list_)
            yield _of_list(site, list_, url)
            if list_.drive_id:
                for item in store.items(list_.drive_id):
                    if item.parent_id:
                        yield _of_item(store, site, by_drive[list_.drive_id], item, urls)
            else:
                for row in store.rows(list_.id):
                    yield _of_row(store, site, list_, row, url)


class _Addresses:
    """The addresses of a library's items, each made once from its folder's."""

    def __init__(self, store: ContentStore, drive_id: str) -> None:
        self._store = store
        self._drive_id = drive_id
        self._made: dict[str, str] = {}

    def of(self, item: r.Item) -> str:
        if item.id not in self._made:
            parent = self._store.item(self._drive_id, item.parent_id) if item.parent_id else None
            self._made[item.id] = (
                items.web_url(self._store, item)
                if parent is None
                else f"{self.of(parent)}/{quote(item.name)}"
            )
        return self._made[item.id]


def _of_site(site: r.Site) -> SearchDocument:
    text = f"{site.title} {site.name} {site.description}"
    fields = {
        "title": site.title,
        "path": site.url,
        "created": site.created,
        "lastmodifiedtime": site.modified,
        "contenttype": "site",
        "iscontainer": "true",
        "isdocument": "false",
        "siteid": site.id.split(",")[1],
    }
    return SearchDocument(
        kind="site",
        record=site,
        of_list=None,
        site=site,
        indexed=index_text(text, fields),
        title=site.title,
        body=site.description,
    )


def _of_list(site: r.Site, one: r.SiteList, url: str) -> SearchDocument:
    fields = {
        "title": one.title,
        "path": url,
        "created": one.created,
        "lastmodifiedtime": one.modified,
        "author": one.author,
        "contenttype": "list",
        "iscontainer": "true",
        "isdocument": "false",
        "listid": one.id,
        "siteid": site.id.split(",")[1],
    }
    return SearchDocument(
        kind="list",
        record=one,
        of_list=one,
        site=site,
        indexed=index_text(f"{one.title} {one.description}", fields),
        title=one.title,
        body=one.description,
    )


def _of_item(
    store: ContentStore,
    site: r.Site,
    one: r.SiteList,
    item: r.Item,
    urls: dict[str, _Addresses],
) -> SearchDocument:
    kind = list_item_views.content_type_of(one, item)
    text = " ".join((item.name, item.description, item.words, *_texts(item.fields)))
    fields = {
        "title": str(item.fields.get("Title") or item.name.rpartition(".")[0] or item.name),
        "filename": item.name,
        "filetype": "" if item.is_folder else suffix(item.name).lstrip("."),
        "author": f"{store.name_of(item.author)} {item.author}",
        "editor": f"{store.name_of(item.editor)} {item.editor}",
        "path": urls[item.drive_id].of(item),
        "created": item.created,
        "lastmodifiedtime": item.modified,
        "contenttype": kind.name,
        "contenttypeid": kind.id,
        "isdocument": "false" if item.is_folder else "true",
        "iscontainer": "true" if item.is_folder else "false",
        "size": str(item.size),
        "listid": one.id,
        "siteid": site.id.split(",")[1],
    }
    return SearchDocument(
        kind="driveItem",
        record=item,
        of_list=one,
        site=site,
        indexed=index_text(text, fields),
        title=item.name,
        body=item.words or item.description or item.name,
    )


def _of_row(
    store: ContentStore, site: r.Site, one: r.SiteList, row: r.Row, url: str
) -> SearchDocument:
    kind = list_item_views.content_type_of(one, row)
    title = str(row.fields.get("Title") or "")
    text = " ".join((*_texts(row.fields), *_looked_up(store, one, row)))
    fields = {
        "title": title,
        "author": f"{store.name_of(row.author)} {row.author}",
        "editor": f"{store.name_of(row.editor)} {row.editor}",
        "path": f"{url}/{row.number}_.000",
        "created": row.created,
        "lastmodifiedtime": row.modified,
        "contenttype": kind.name,
        "contenttypeid": kind.id,
        "isdocument": "false",
        "iscontainer": "false",
        "listid": one.id,
        "siteid": site.id.split(",")[1],
    }
    return SearchDocument(
        kind="listItem",
        record=row,
        of_list=one,
        site=site,
        indexed=index_text(text, fields),
        title=title,
        body=text,
    )


def _looked_up(store: ContentStore, one: r.SiteList, row: r.Row) -> list[str]:
    """Return the texts of other lists that an item is found by, as upstream finds it."""
    if not any(column.kind == "lookup" for column in one.columns):
        return []
    texts = list_item_views.lookup_texts(store, one, row)
    several = [
        each["LookupValue"] for text in texts.values() if isinstance(text, list) for each in text
    ]
    return [*_texts(texts), *(str(text) for text in several)]


def _texts(fields: dict[str, Any]) -> list[str]:
    found = [value for value in fields.values() if isinstance(value, str)]
    for value in fields.values():
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, str)]
    return found
