"""
Queries, pages, values and errors of the collaboration content.

`providers.content.merged_content.MergedContent`, which the graph holds, answers for all connections
of a caller; `providers.connectors.collab.connection.CollabConnection` is one
connection.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from providers.records import collab as records

T = TypeVar("T")

Conflict: TypeAlias = Literal["fail", "rename", "replace"]
# A drive id, and the names of folders from the top of the library down; its root folder has none.
FolderPath: TypeAlias = tuple[str, tuple[str, ...]]
OrderBy: TypeAlias = Literal["name", "modified_time", "created_time", "size", "id"]

MAX_UPLOAD = 100 * 1024 * 1024  # bytes, inclusive; docs/spec/collab.md#upload


class ContentStream(Protocol):
    """The bytes of a file as they arrive; they raise members of `providers.failures`."""

    @property
    def chunks(self) -> AsyncIterator[bytes]: ...


OpenContent: TypeAlias = Callable[[], AbstractAsyncContextManager[ContentStream]]


class ReadOnlyContent(Exception):
    """Every connection that sees the object has read scopes only (403 READ_ONLY)."""


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
    """
    Values cannot be written (400 INVALID_FIELDS).

    Attributes:
        details: Pairs of a column and the reason; column "" stands for all of them.
    """

    def __init__(self, details: Sequence[tuple[str, str]]) -> None:
        super().__init__("Some of the fields cannot be written.")
        self.details = tuple(details)


class InvalidDestination(Exception):
    """The target of a move (400): not a folder, in another library, or inside the moved one."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidCursor(Exception):
    """A cursor was not made by this listing (400 INVALID_PAGE_TOKEN)."""


class UploadTooLarge(Exception):
    """More bytes came than `MAX_UPLOAD`; nothing is left upstream (413)."""


class UploadTruncated(Exception):
    """Fewer bytes came than were announced; nothing is left upstream (400)."""


class NotDownloadable(Exception):
    """A folder or a notebook has no bytes (400)."""


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """
    One page of a listing.

    Attributes:
        items: In order.
        cursors: One per item: where to continue after it.
        next: Where to continue after everything that was read; None when nothing follows.
        upstream_pages: How many upstream pages were read for it.
        warnings: Sentences for `authWarnings`.
    """

    items: tuple[T, ...]
    cursors: tuple[str, ...]
    next: str | None
    upstream_pages: int = 1
    warnings: tuple[str, ...] = ()


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """
    The order of files; folders come first when it is by name.

    Attributes:
        count_folder_sizes: Whether a folder has the size of everything in it, else zero.
    """

    by: OrderBy = "modified_time"
    descending: bool = True
    count_folder_sizes: bool = True


class FileQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A listing or search of files; None restricts nothing.

    Attributes:
        text: The caller's `q`: whole subtrees are searched. None: direct children are listed.
        names_only: Whether *text* is matched against names alone, word by word.
        mime_type: Tells whether a media type, in lower case, is wanted; folders never match.
        name: Substring, any case.
        owner: The whole address of an owner, any case.
        shared_with: The address of a person with whom it is shared, or `@domain`; upstream's index
            decides.
        web_addresses: Where it is, decoded: one of them; upstream's index decides.
        modified_after, modified_before: Exclusive.
        limit: How many files are wanted; a page may hold more or fewer.
    """

    text: str | None = None
    names_only: bool = False
    mime_type: Callable[[str], bool] | None = None
    name: str | None = None
    owner: str | None = None
    shared_with: str | None = None
    web_addresses: tuple[str, ...] = ()
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    order: Order = Order()
    limit: int = 25


class ListItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A listing of list items.

    Attributes:
        filter: In the language of docs/spec/collab.md#filter-language.
        order_by: ``Column [asc|desc]``, comma-separated, at most three; None: by id.
        select: API names of the columns that `fields` shall have; None: all.
        hidden: Columns that are not requested and null in `fields`, together with every column
            that is calculated from them.
        limit: How many items are wanted; a page may hold more or fewer.
    """

    filter: str | None = None
    order_by: str | None = None
    select: tuple[str, ...] | None = None
    hidden: frozenset[str] = frozenset()
    limit: int = 50


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """
    A file to be stored.

    Attributes:
        name: Already checked.
        chunks: The bytes, read once, while they are sent on. An exception raised by it passes
            through, and nothing is left upstream.
        size: In bytes, when it is known beforehand.
        mime_type: The declared type of the bytes.
    """

    name: str
    chunks: AsyncIterator[bytes]
    size: int | None = None
    mime_type: str = "application/octet-stream"
    description: str | None = None
    conflict: Conflict = "fail"


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """
    A permission to be added.

    Attributes:
        type: "user", "group", "domain" or "anyone".
        role: "reader" or "writer"; upstream knows no commenters.
        email: Of a user or group.
        notify: Whether upstream writes to them.
    """

    type: str
    role: str
    email: str | None = None
    notify: bool = True
    message: str | None = None


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A search over everything.

    Attributes:
        text: In the language of docs/spec/collab.md#search-language.
        entity_types: Some of "driveItem", "listItem", "list", "site".
        start: Index of the first hit.
        limit: 1 to 500.
        site: Restricts to one site.
    """

    text: str
    entity_types: frozenset[str]
    start: int = 0
    limit: int = 25
    site: str | None = None


class SearchPage(msgspec.Struct, frozen=True, kw_only=True):
    """
    One page of hits.

    Attributes:
        hits: From *start* on, each once, upstream's best first; hits whose ids upstream does not
            tell are left out.
        total: The number of all hits, as upstream says.
        more: Whether there are hits after these.
        warnings: Sentences for `authWarnings`.
    """

    hits: tuple[records.SearchHit, ...]
    total: int
    more: bool
    warnings: tuple[str, ...] = ()
