"""Index of searchable documents: texts and fields of all content."""

from collections import defaultdict
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
    A searchable file, list item, list or site.

    Attributes:
        kind: driveItem, listItem, list or site.
        body: The text of the summary.
    """

    kind: str
    record: r.Record
    of_list: r.SiteList | None
    site: r.Site
    indexed: IndexedText
    title: str
    body: str


class SearchIndex:
    """Index of all searchable documents; rebuilt after a change of the store."""

    def __init__(self) -> None:
        self._built_at = -1
        self._documents: list[SearchDocument] = []

    def documents(self, store: ContentStore) -> list[SearchDocument]:
        """Return all documents."""
        if store.changes != self._built_at:
            self._documents = list(_build_documents(store))
            self._built_at = store.changes
        return self._documents


def _build_documents(store: ContentStore) -> Iterator[SearchDocument]:
    lists = {site_list.id: site_list for site_list in store.every(r.SiteList)}
    by_drive = {site_list.drive_id: site_list for site_list in lists.values() if site_list.drive_id}
    urls = {drive: _UrlCache(store, drive) for drive in by_drive}
    by_site: dict[str, list[r.SiteList]] = defaultdict(list)
    for site_list in lists.values():
        if not (site_list.is_system or site_list.is_hidden):
            by_site[site_list.site_id].append(site_list)
    for site in store.every(r.Site):
        yield _of_site(site)
        for site_list in by_site[site.id]:
            url = list_item_views.list_url(store, site_list)
            yield _of_list(site, site_list, url)
            if site_list.drive_id:
                for item in store.items(site_list.drive_id):
                    if item.parent_id:
                        yield _of_item(store, site, by_drive[site_list.drive_id], item, urls)
            else:
                for row in store.rows(site_list.id):
                    yield _of_row(store, site, site_list, row, url)


class _UrlCache:
    """URLs of a library's items; cached, each derived from its folder's URL."""

    def __init__(self, store: ContentStore, drive_id: str) -> None:
        self._store = store
        self._drive_id = drive_id
        self._urls: dict[str, str] = {}

    def of(self, item: r.Item) -> str:
        if item.id not in self._urls:
            parent = self._store.item(self._drive_id, item.parent_id) if item.parent_id else None
            self._urls[item.id] = (
                items.web_url(self._store, item)
                if parent is None
                else f"{self.of(parent)}/{quote(item.name)}"
            )
        return self._urls[item.id]


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


def _of_list(site: r.Site, site_list: r.SiteList, url: str) -> SearchDocument:
    fields = {
        "title": site_list.title,
        "path": url,
        "created": site_list.created,
        "lastmodifiedtime": site_list.modified,
        "author": site_list.author,
        "contenttype": "list",
        "iscontainer": "true",
        "isdocument": "false",
        "listid": site_list.id,
        "siteid": site.id.split(",")[1],
    }
    return SearchDocument(
        kind="list",
        record=site_list,
        of_list=site_list,
        site=site,
        indexed=index_text(f"{site_list.title} {site_list.description}", fields),
        title=site_list.title,
        body=site_list.description,
    )


def _of_item(
    store: ContentStore,
    site: r.Site,
    site_list: r.SiteList,
    item: r.Item,
    urls: dict[str, _UrlCache],
) -> SearchDocument:
    content_type = list_item_views.content_type_of(site_list, item)
    text = " ".join((item.name, item.description, item.words, *_texts(item.fields)))
    fields = {
        "title": str(item.fields.get("Title") or item.name.rpartition(".")[0] or item.name),
        "filename": item.name,
        "filetype": "" if item.is_folder else suffix(item.name).lstrip("."),
        "author": f"{store.display_name(item.author)} {item.author}",
        "editor": f"{store.display_name(item.editor)} {item.editor}",
        "sharedwithusersowsuser": " ".join(
            f"{store.display_name(address)} {address}"
            for share in store.shares(item)
            for address in share.to
        ),
        "path": urls[item.drive_id].of(item),
        "created": item.created,
        "lastmodifiedtime": item.modified,
        "contenttype": content_type.name,
        "contenttypeid": content_type.id,
        "isdocument": "false" if item.is_folder else "true",
        "iscontainer": "true" if item.is_folder else "false",
        "size": str(item.size),
        "listid": site_list.id,
        "siteid": site.id.split(",")[1],
    }
    return SearchDocument(
        kind="driveItem",
        record=item,
        of_list=site_list,
        site=site,
        indexed=index_text(text, fields),
        title=item.name,
        body=item.words or item.description or item.name,
    )


def _of_row(
    store: ContentStore, site: r.Site, site_list: r.SiteList, row: r.Row, url: str
) -> SearchDocument:
    content_type = list_item_views.content_type_of(site_list, row)
    title = str(row.fields.get("Title") or "")
    text = " ".join((*_texts(row.fields), *_lookup_texts(store, site_list, row)))
    fields = {
        "title": title,
        "author": f"{store.display_name(row.author)} {row.author}",
        "editor": f"{store.display_name(row.editor)} {row.editor}",
        "path": f"{url}/{row.number}_.000",
        "created": row.created,
        "lastmodifiedtime": row.modified,
        "contenttype": content_type.name,
        "contenttypeid": content_type.id,
        "isdocument": "false",
        "iscontainer": "false",
        "listid": site_list.id,
        "siteid": site.id.split(",")[1],
    }
    return SearchDocument(
        kind="listItem",
        record=row,
        of_list=site_list,
        site=site,
        indexed=index_text(text, fields),
        title=title,
        body=text,
    )


def _lookup_texts(store: ContentStore, site_list: r.SiteList, row: r.Row) -> list[str]:
    """Return the lookup texts of an item; upstream indexes them."""
    if not any(column.kind == "lookup" for column in site_list.columns):
        return []
    texts = list_item_views.lookup_texts(store, site_list, row)
    multiple = [
        entry["LookupValue"] for text in texts.values() if isinstance(text, list) for entry in text
    ]
    return [*_texts(texts), *(str(text) for text in multiple)]


def _texts(fields: dict[str, Any]) -> list[str]:
    texts = [value for value in fields.values() if isinstance(value, str)]
    for value in fields.values():
        if isinstance(value, list):
            texts += [text for text in value if isinstance(text, str)]
    return texts
