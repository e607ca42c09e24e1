"""Lists with their columns and items."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from providers import collab_ids
from providers.collab_ids import ListItemKey, ListKey
from providers.records.base import Long, Record
from providers.records.collab.facts import UNKNOWN, Fact, UnknownType
from providers.records.collab.files import File, FileLabels


class Column(Record, frozen=True):
    """
    A column of a list.

    Attributes:
        name: Its API name.
        column_type: A word of docs/spec/collab.md#open-enumerations.
        has_default: Whether a new item gets a default value.
        multiple: Whether it holds several people or look-ups.
        formula: The formula of a calculated column, else None.
        looks_up: The column of the other list that a look-up column shows.
        source: GUID of that other list, in lower case; None where upstream names none.
    """

    name: str
    display_name: str | None = None
    column_type: str = "unknown"
    hidden: bool = False
    read_only: bool = False
    required: bool = False
    indexed: bool = False
    has_default: bool = False
    multiple: bool = False
    formula: str | None = None
    looks_up: str | None = None
    source: str | None = None


class SiteList(Record, frozen=True):
    """
    A list.

    Attributes:
        columns: None unless the list was read alone.
        drive: The library that it is the list of; None: surely none.
        connection_id: The connection that it was read from; None in a connector's records.
    """

    site: str
    list: str
    display_name: str | None = None
    name: str | None = None
    description: str | None = None
    web_url: str | None = None
    template: str | None = None
    hidden: bool = False
    created_date_time: datetime | None = None
    last_modified_date_time: datetime | None = None
    site_name: str | None = None
    columns: tuple[Column, ...] | None = None
    drive: Fact = UNKNOWN
    connection_id: Long | None = None

    @property
    def id(self) -> str:
        return collab_ids.join_list(self.key)

    @property
    def site_id(self) -> str:
        return collab_ids.join_site(self.site)

    @property
    def key(self) -> ListKey:
        return ListKey(self.site, self.list)


class ListItem(Record, frozen=True):
    """
    A list item.

    Attributes:
        number: Its id in the list.
        content_type: The name of its content type; *content_type_id* is a fact.
        fields: By column API name, upstream's own members left out.
        labels: The sensitivity label of its file; not set by connectors.
        etag: As `If-Match` takes it.
        file: The file or folder behind it, with facts; None: surely none.
        connection_id: The connection that it was read from; None in a connector's records.
    """

    site: str
    list: str
    number: str
    name: str | None = None
    web_url: str | None = None
    content_type: str | None = None
    created_date_time: datetime | None = None
    last_modified_date_time: datetime | None = None
    fields: Mapping[str, Any] | None = None
    created_by: str | None = None
    last_modified_by: str | None = None
    site_name: str | None = None
    list_name: str | None = None
    labels: FileLabels | None = None
    etag: str | None = None
    content_type_id: Fact = UNKNOWN
    file: File | Literal[UnknownType.UNKNOWN] | None = UNKNOWN
    connection_id: Long | None = None

    @property
    def id(self) -> str:
        return collab_ids.join_list_item(self.key)

    @property
    def site_id(self) -> str:
        return collab_ids.join_site(self.site)

    @property
    def list_id(self) -> str:
        return collab_ids.join_list(self.key.of)

    @property
    def file_id(self) -> str | None:
        return self.file.id if isinstance(self.file, File) else None

    @property
    def key(self) -> ListItemKey:
        return ListItemKey(self.site, self.list, self.number)
