"""Hits of a search."""

from datetime import datetime

from providers.records.base import Long, Record
from providers.records.collab.files import File
from providers.records.collab.lists import ListItem, SiteList
from providers.records.collab.sites import Site


class SearchHit(Record, frozen=True):
    """
    A hit of a search. Exactly one of *file*, *list_item*, *list* and *site* is set, with its facts.

    Attributes:
        entity_type: "driveItem", "listItem", "list" or "site".
        summary: Plain text, without highlights.
        connection_id: The connection that found it; None in a connector's records.
    """

    entity_type: str
    title: str | None = None
    summary: str | None = None
    web_url: str | None = None
    last_modified_date_time: datetime | None = None
    file: File | None = None
    list_item: ListItem | None = None
    list: SiteList | None = None
    site: Site | None = None
    connection_id: Long | None = None

    @property
    def identity(self) -> object:
        """A key that a file and its list item share."""
        if self.file is not None and isinstance(self.file.list_id, str):
            return (self.file.list_id, self.file.list_item_id)
        if self.list_item is not None:
            return (self.list_item.list, self.list_item.number)
        return self.id

    @property
    def id(self) -> str:
        record = self.file or self.list_item or self.list or self.site
        return record.id if record is not None else ""
