"""
Records of the collaboration content; docs/spec/collab.md#objects.

Besides what callers see, records carry the facts that rules are evaluated on. `id` and the other
ids of the schema are computed, prefixed; `key` is the argument of ports. An attribute that was not
wanted is None. A wanted fact that upstream did not tell is UNKNOWN; None or empty means that there
surely is none.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, Literal, TypeAlias

from providers import collab_ids
from providers.collab_ids import ItemKey, ListKey, RowKey
from providers.records.base import Record


class UnknownType(Enum):
    """The type of UNKNOWN, the value of a fact that upstream did not tell."""

    UNKNOWN = auto()


UNKNOWN: Final = UnknownType.UNKNOWN
Fact: TypeAlias = str | Literal[UnknownType.UNKNOWN] | None
Unknown: TypeAlias = Literal[UnknownType.UNKNOWN]


class Site(Record, frozen=True):
    """A site. *site* is its composite id, in lower case."""

    site: str
    display_name: str | None = None
    name: str | None = None
    description: str | None = None
    web_url: str | None = None
    created_date_time: datetime | None = None
    last_modified_date_time: datetime | None = None
    is_personal_site: bool = False

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
    """

    drive: str
    name: str | None = None
    description: str | None = None
    web_url: str | None = None
    site: str | Literal[UnknownType.UNKNOWN] = UNKNOWN
    list_id: Fact = UNKNOWN
    root: str | None = None
    personal: bool = False

    @property
    def id(self) -> str:
        return collab_ids.join_drive(self.drive)

    @property
    def root_folder_id(self) -> str:
        return collab_ids.join_item(ItemKey(self.drive, self.root or collab_ids.ROOT))


class DriveUser(Record, frozen=True):
    """A user. *email* is "" where upstream has none; *role*: "owner", "writer", "reader"."""

    email: str
    display_name: str | None = None
    role: str | None = None


class FileLabels(Record, frozen=True):
    """The sensitivity label of a file, as responses show it; *name* None when unknown."""

    sensitivity_label_id: str
    sensitivity_label_name: str | None = None


class File(Record, frozen=True):
    """
    A file or folder.

    Attributes:
        parent: The folder above; None for a library's root folder, UNKNOWN when upstream did not
            tell.
        is_root: Whether it is the root folder of its library.
        ancestor_names: The names of the folders above it, from the top of its library down; None
            when upstream did not tell. They save calls; containment is decided by *parent*.
        labels: The sensitivity label; not set by connectors (see `LabelReader.of_files`).
        etag: As `If-Match` takes it.
        mime_type: As upstream has it; None for folders and where upstream has none.
        site, list_id, list_item_id: Facts: its site, and its list item.
        content_type_id: A fact: the content type of its list item.
        media_type: A fact: *mime_type* in lower case without parameters; None for folders,
            UNKNOWN for a file without one.
    """

    drive: str
    item: str
    name: str | None = None
    mime_type: str | None = None
    size: int | None = None
    created_time: datetime | None = None
    modified_time: datetime | None = None
    owners: tuple[DriveUser, ...] | None = None
    shared_with: tuple[DriveUser, ...] | None = None
    description: str | None = None
    web_view_link: str | None = None
    download_link: str | None = None
    parent: ItemKey | Literal[UnknownType.UNKNOWN] | None = UNKNOWN
    parent_folder_name: str | None = None
    labels: FileLabels | None = None
    is_folder: bool = False
    is_root: bool = False
    ancestor_names: tuple[str, ...] | None = None
    etag: str | None = None
    site: Fact = UNKNOWN
    list_id: Fact = UNKNOWN
    list_item_id: Fact = UNKNOWN
    content_type_id: Fact = UNKNOWN

    @property
    def id(self) -> str:
        return collab_ids.join_item(self.key)

    @property
    def key(self) -> ItemKey:
        return ItemKey(self.drive, self.item)

    @property
    def provider(self) -> str:
        return "COLLAB"

    @property
    def parent_folder_id(self) -> str | None:
        parent = self.parent
        return None if parent is None or parent is UNKNOWN else collab_ids.join_item(parent)

    @property
    def media_type(self) -> Fact:
        if self.is_folder:
            return None
        return media_type(self.mime_type) or UNKNOWN


def media_type(text: str | None) -> str | None:
    """Return a MIME type in lower case without parameters; None when it is empty."""
    return (text or "").partition(";")[0].strip().lower() or None


class FileLink(Record, frozen=True):
    """
    A pre-authenticated address of a file's bytes, with the file.

    Attributes:
        file: As read in the same call, with every fact.
        download_url: None when upstream gave none.
        expires_at: When the address expires, as far as is known.
    """

    file: File
    download_url: str | None = None
    expires_at: datetime | None = None


class Permission(Record, frozen=True):
    """
    A permission on a file.

    Attributes:
        permission: Upstream's id.
        type: "user", "group", "domain" or "anyone".
        role: "owner", "writer" or "reader".
    """

    id: str
    type: str
    role: str
    email_address: str | None = None
    domain: str | None = None
    display_name: str | None = None


def shared_with(permissions: Sequence[Permission]) -> tuple[DriveUser, ...]:
    """Return the people and groups that have permissions, without owners, each once."""
    people = {
        (permission.email_address or "", permission.display_name): permission
        for permission in permissions
        if permission.type in ("user", "group") and permission.role != "owner"
    }
    return tuple(
        DriveUser(email=email, display_name=name, role=permission.role)
        for (email, name), permission in people.items()
    )


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

    @property
    def id(self) -> str:
        return collab_ids.join_list(self.key)

    @property
    def key(self) -> ListKey:
        return ListKey(self.site, self.list)


class Row(Record, frozen=True):
    """
    A list item.

    Attributes:
        number: Its id in the list.
        content_type: The name of its content type; *content_type_id* is a fact.
        fields: By column API name, upstream's own members left out.
        labels: The sensitivity label of its file; not set by connectors.
        etag: As `If-Match` takes it.
        file: The file or folder behind it, with facts; None: surely none.
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

    @property
    def id(self) -> str:
        return collab_ids.join_row(self.key)

    @property
    def key(self) -> RowKey:
        return RowKey(self.site, self.list, self.number)


class SensitivityLabel(Record, frozen=True):
    """A label of the catalogue. *id*: a GUID in lower case; a higher *sensitivity* is stricter."""

    id: str
    display_name: str | None = None
    description: str | None = None
    color: str | None = None
    sensitivity: int = 0
    tool_tip: str | None = None
    is_active: bool = True
    is_appliable: bool = True


class FileLabel(Record, frozen=True):
    """
    The label that a file carries.

    Attributes:
        label_id: A GUID in lower case.
        assignment_method: "standard", "privileged" or "auto".
    """

    label_id: str
    assignment_method: str | None = None


class SearchHit(Record, frozen=True):
    """
    A hit of a search. Exactly one of *file*, *row*, *list* and *site* is set, with its facts.

    Attributes:
        entity_type: "driveItem", "listItem", "list" or "site".
        summary: Plain text, without highlights.
    """

    entity_type: str
    title: str | None = None
    summary: str | None = None
    web_url: str | None = None
    last_modified_date_time: datetime | None = None
    file: File | None = None
    row: Row | None = None
    list: SiteList | None = None
    site: Site | None = None

    @property
    def identity(self) -> object:
        """A key that a file and its list item share."""
        if self.file is not None and isinstance(self.file.list_id, str):
            return (self.file.list_id, self.file.list_item_id)
        if self.row is not None:
            return (self.row.list, self.row.number)
        return self.id

    @property
    def id(self) -> str:
        record = self.file or self.row or self.list or self.site
        return record.id if record is not None else ""
