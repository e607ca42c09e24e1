"""Sites, and their document libraries."""

from datetime import datetime
from typing import Literal

from providers import collab_ids
from providers.collab_ids import ItemKey
from providers.records.base import Long, Record
from providers.records.collab.facts import UNKNOWN, Fact, UnknownType


class Site(Record, frozen=True):
    """
    A site.

    Attributes:
        site: Its composite id, in lower case.
        connection_id: The connection that it was read from; None in a connector's records.
    """

    site: str
    display_name: str | None = None
    name: str | None = None
    description: str | None = None
    web_url: str | None = None
    created_date_time: datetime | None = None
    last_modified_date_time: datetime | None = None
    is_personal_site: bool = False
    connection_id: Long | None = None

    @property
    def id(self) -> str:
        return collab_ids.join_site(self.site)


class Drive(Record, frozen=True):
    """
    A document library.

    Attributes:
        site: Composite id of the site it belongs to.
        list_id: GUID of the list behind it.
        root: The id of its root folder; None when it was not read.
        personal: Whether it belongs to one user.
        connection_id: The connection that it was read from; None in a connector's records.
    """

    drive: str
    name: str | None = None
    description: str | None = None
    web_url: str | None = None
    site: str | Literal[UnknownType.UNKNOWN] = UNKNOWN
    list_id: Fact = UNKNOWN
    root: str | None = None
    personal: bool = False
    connection_id: Long | None = None

    @property
    def id(self) -> str:
        return collab_ids.join_drive(self.drive)

    @property
    def root_folder_id(self) -> str:
        return collab_ids.join_item(ItemKey(self.drive, self.root or collab_ids.ROOT))
