"""
What the graph asks of the collaboration content.

`providers.content.merged_content.MergedContent`, which the graph holds, answers for all connections
of a caller; `CollabPort` is one connection. Keys and ids in and out are upstream's own
(`providers.content.ids` writes and reads the prefixed ones). *wanted* names attributes of the
records in `providers.records.collab`, facts included (`site`, `list_id`, `list_item_id`,
`content_type_id`, `file` of rows). Every method raises members of `providers.failures` and what is
named here, nothing else.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from providers.content.ids import ItemKey, ListKey, RowKey
from providers.records import collab as records
from providers.records.collab import UnknownType

T = TypeVar("T")

Unknown: TypeAlias = Literal[UnknownType.UNKNOWN]
Conflict: TypeAlias = Literal["fail", "rename", "replace"]
# A library, and names of folders from its top down; the top itself has none.
FolderPath: TypeAlias = tuple[str, tuple[str, ...]]
OrderBy: TypeAlias = Literal["name", "modified_time", "created_time", "size", "id"]

MAX_UPLOAD = 100 * 1024 * 1024  # bytes, inclusive; decisions 8.5


class ReadOnlyContent(Exception):
    """No connection that sees this may change it: read scopes only (403 READ_ONLY)."""


class InvalidFilter(Exception):
    """A filter or an order does not parse, or names no column (400 INVALID_FILTER)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidSearch(Exception):
    """A search text does not parse (400 INVALID_QUERY)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidFields(Exception):
    """Values cannot be written (400 INVALID_FIELDS). *details*: column ("": all) and reason."""

    def __init__(self, details: Sequence[tuple[str, str]]) -> None:
        super().__init__("Some of the fields cannot be written.")
        self.details = tuple(details)


class InvalidDestination(Exception):
    """The target of a move is no folder, in another library, or inside of what is moved (400)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidCursor(Exception):
    """A cursor that was not made by this listing (400 INVALID_PAGE_TOKEN)."""


class UploadTooLarge(Exception):
    """More bytes came than `MAX_UPLOAD`; nothing is left upstream (413)."""


class UploadTruncated(Exception):
    """Not as many bytes came as were announced; nothing is left upstream (400)."""


class NotDownloadable(Exception):
    """What is asked for has no bytes: a folder or a notebook (400)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """
    A stretch of a listing.

    Attributes:
        items: In order.
        places: One cursor per item: where to go on after it.
        next: Where to go on after everything that was read; None when nothing follows.
        calls: How many upstream pages were read for it.
        warnings: Sentences for `authWarnings`.
    """

    items: tuple[T, ...]
    places: tuple[str, ...]
    next: str | None
    calls: int = 1
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """
    How files are ordered; folders come first when it is by name.

    Attributes:
        count_folder_sizes: Whether a folder has the size of everything in it, else none.
    """

    by: OrderBy = "modified_time"
    descending: bool = True
    count_folder_sizes: bool = True

    @property
    def is_upstreams(self) -> bool:
        """Whether upstream orders the files of a folder in the same way."""
        return self.by not in ("name", "id") and (self.by != "size" or self.count_folder_sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuery:
    """
    A listing or search of files; None restricts nothing.

    Attributes:
        text: The caller's `q`; with it whole subtrees are searched, else direct children listed.
        names_only: Whether names alone may be looked into for it, word by word.
        mime_type: Exact or with "*" anywhere, any case; folders never match.
        name: Substring, any case.
        modified_after, modified_before: Exclusive.
        limit: How many are wanted; a page may hold more or fewer.
    """

    text: str | None = None
    names_only: bool = False
    mime_type: str | None = None
    name: str | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    order: Order = Order()
    limit: int = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuery:
    """
    A listing of list items.

    Attributes:
        filter: In the grammar of decisions 8.10.
        order_by: ``Column [asc|desc]``, comma-separated, at most three; None: by id.
        select: API names of the columns that `fields` shall have; None: all.
        hidden: Columns whose values are not asked for and null in `fields`, and with them what is
            calculated from them.
        limit: How many are wanted; a page may hold more or fewer.
    """

    filter: str | None = None
    order_by: str | None = None
    select: tuple[str, ...] | None = None
    hidden: frozenset[str] = frozenset()
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """
    A file to be stored.

    Attributes:
        name: Already checked.
        chunks: The bytes, read once, while they are sent on. An exception raised by it passes
            through, and nothing is left upstream.
        size: In bytes, when it is known beforehand.
        mime_type: What the bytes are said to be.
    """

    name: str
    chunks: AsyncIterator[bytes]
    size: int | None = None
    mime_type: str = "application/octet-stream"
    description: str | None = None
    conflict: Conflict = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """
    A permission to be given.

    Attributes:
        type: "user", "group", "domain" or "anyone".
        role: "reader", "writer" or "commenter"; upstream knows no commenters (Refused).
        email: Of a user or group.
        notify: Whether upstream writes to them.
    """

    type: str
    role: str
    email: str | None = None
    notify: bool = True
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """
    A search over everything.

    Attributes:
        text: In the language of decisions 8.12.
        entity_types: Some of "driveItem", "listItem", "list", "site".
        start: Index of the first hit.
        limit: 1 to 100.
        site: Restricts to one site.
    """

    text: str
    entity_types: frozenset[str]
    start: int = 0
    limit: int = 25
    site: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """
    What a search found.

    Attributes:
        hits: From *start* on, each once, best first as upstream has it; hits whose ids upstream
            does not tell are left out.
        total: How many there are in all, as upstream says.
        more: Whether there are hits after these.
        warnings: Sentences for `authWarnings`.
    """

    hits: tuple[records.SearchHit, ...]
    total: int
    more: bool
    warnings: tuple[str, ...] = ()


class CollabPort(Protocol):
    """
    One connection.

    Whatever lies in a site that the connection may not use is Missing. Batched reads answer per
    key: the record, None when there surely is nothing, UNKNOWN when it could not be read.
    """

    # -- sites and libraries

    async def sites(self) -> tuple[records.Site, ...]:
        """Return every site in sight, in no order, each once."""

    async def site(self, site: str) -> records.Site:
        """
        Read one site.

        Raises:
            Missing: There is none under this id, or it is not in sight.
        """

    async def drives(
        self, sites: Collection[str]
    ) -> Mapping[str, tuple[records.Drive, ...] | Unknown]:
        """Return the libraries of each site, in upstream's order; hidden ones left out."""

    async def drives_by_id(
        self, drives: Collection[str]
    ) -> Mapping[str, records.Drive | Unknown | None]:
        """Read libraries by their ids, in one batch, site included."""

    async def library_name(self, drive: str) -> str | None:
        """Return a library's name as it was lately; None when it cannot be told."""

    async def default_drive(self) -> records.Drive:
        """Return the library that things go to when no other is named."""

    # -- files: reading

    async def children(
        self,
        folder: ItemKey,
        *,
        order: Order | None,
        cursor: str | None,
        top: int,
        wanted: AbstractSet[str],
    ) -> Page[records.File]:
        """
        Return a page of a folder's children, in upstream's order when *order* is None.

        Raises:
            Missing: There is no such folder.
            Refused: Upstream cannot order this way.
            InvalidCursor: *cursor* is not of this folder.
        """

    async def search_files(
        self, folder: ItemKey, text: str, *, cursor: str | None, top: int, wanted: AbstractSet[str]
    ) -> Page[records.File]:
        """Return a page of what is found below a folder, in upstream's order."""

    async def item(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.File:
        """
        Read a file or folder; ``root`` stands for a library's root folder.

        Raises:
            Missing: It is not there, or upstream knows it under another id.
        """

    async def named(self, folder: ItemKey, name: str, *, wanted: AbstractSet[str]) -> records.File:
        """
        Read what has a name in a folder, any case.

        Raises:
            Missing: Nothing has, or the folder is not there.
        """

    async def items(
        self, keys: Collection[ItemKey], *, wanted: AbstractSet[str]
    ) -> Mapping[ItemKey, records.File | Unknown | None]:
        """Read files by their ids, in batches."""

    async def folders(
        self, paths: Collection[FolderPath]
    ) -> Mapping[FolderPath, records.File | Unknown | None]:
        """Read folders by where they are, in batches, without any attribute."""

    async def link(self, key: ItemKey, *, wanted: AbstractSet[str]) -> records.FileLink:
        """
        Return where a file's bytes may be had without credentials.

        Raises:
            NoLink: It is a folder or has no bytes.
        """

    async def permissions(self, key: ItemKey) -> tuple[records.Permission, ...]:
        """Return who may do what with a file."""

    async def file_labels(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.FileLabel, ...] | Unknown]:
        """Return the sensitivity labels of files, in batches; none for what cannot have any."""

    async def labels(self) -> tuple[records.SensitivityLabel, ...]:
        """Return the tenant's labels, by rising sensitivity; none when it does not tell them."""

    # -- files: writing

    async def upload(self, parent: ItemKey, upload: Upload) -> records.File:
        """
        Store a file with flat memory.

        Raises:
            Conflicted: The name is taken, and *conflict* is "fail".
            OutOfSpace: The library is full.
            UploadTooLarge: More came than may; nothing is left.
            OutcomeUnknown: It may or may not be there.
        """

    async def create_folder(
        self, parent: ItemKey, name: str, *, description: str | None
    ) -> records.File:
        """Make a folder; Conflicted when the name is taken."""

    async def rename(self, key: ItemKey, name: str, *, etag: str | None) -> records.File:
        """Give a new name; Stale when it is no longer at *etag*."""

    async def move(self, key: ItemKey, folder: ItemKey, *, etag: str | None) -> records.File:
        """Move within a library; Stale when it is no longer at *etag*."""

    async def delete(self, key: ItemKey, *, etag: str | None) -> None:
        """Put into the recycle bin; Stale when it is no longer at *etag*."""

    async def share(self, key: ItemKey, share: Share) -> str | None:
        """Give a permission; return its id, None when upstream does not tell it."""

    async def update_permission(self, key: ItemKey, permission: str, role: str) -> None:
        """Change a permission's role."""

    async def delete_permission(self, key: ItemKey, permission: str) -> None:
        """Take a permission away."""

    # -- lists

    async def lists(self, site: str, *, include_hidden: bool) -> tuple[records.SiteList, ...]:
        """Return a site's lists, in no order, without columns."""

    async def site_list(self, key: ListKey) -> records.SiteList:
        """
        Read one list with its columns.

        Raises:
            Missing: The site has no such list.
        """

    async def lists_by_id(
        self, keys: Collection[ListKey]
    ) -> Mapping[ListKey, records.SiteList | Unknown | None]:
        """Read lists by their ids, in batches, without columns."""

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """
        Return the columns of a list, as they were a minute ago at most.

        Raises:
            Missing: The site has no such list.
        """

    async def rows(
        self, key: ListKey, query: RowQuery, *, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        """
        Return a page of a list's items that pass the filter; it may be empty with a *next*.

        Raises:
            InvalidFilter: Filter, order or selection are not of this list.
            InvalidCursor: *cursor* is not of this listing.
        """

    async def row(
        self, key: RowKey, *, wanted: AbstractSet[str], hidden: AbstractSet[str] = frozenset()
    ) -> records.Row:
        """Read one list item; *hidden* as in `RowQuery`."""

    async def rows_by_id(
        self, keys: Collection[RowKey], *, wanted: AbstractSet[str]
    ) -> Mapping[RowKey, records.Row | Unknown | None]:
        """Read list items by their ids, in batches."""

    async def create_row(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """
        Add a list item.

        Raises:
            InvalidFields: Columns are unknown, read-only, or required and missing.
        """

    async def update_row(
        self,
        key: RowKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.Row:
        """
        Change some columns of a list item.

        Raises:
            InvalidFields: Columns are unknown or read-only, or a required one is cleared.
            Stale: It is no longer at *etag*.
        """

    async def delete_row(self, key: RowKey, *, etag: str | None) -> None:
        """Delete a list item; Stale when it is no longer at *etag*."""

    # -- everything

    async def search(self, query: SearchQuery) -> SearchPage:
        """
        Search over everything in sight; hits carry the facts that upstream's search tells.

        Raises:
            InvalidSearch: The text does not parse.
        """

    async def probe(self) -> None:
        """Make one harmless read, to see whether the connection works."""
