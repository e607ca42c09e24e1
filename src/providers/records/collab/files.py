"""Files and folders, their people, permissions and labels."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from providers import collab_ids
from providers.collab_ids import ItemKey, ListItemKey
from providers.records.base import Long, Record
from providers.records.collab.facts import UNKNOWN, Fact, UnknownType


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
        is_package: Whether it is a folder that takes nothing from callers, as a OneNote notebook.
        ancestor_names: The names of the folders above it, from the top of its library down; None
            when upstream did not tell. They save calls; containment is decided by *parent*.
        target: Of a shortcut, the file or folder that it leads to, which has rules of its own.
        editors: Who changed it last, at *modified_time*.
        labels: The sensitivity label; not set by connectors (see `LabelReader.of_files`).
        etag: As `If-Match` takes it.
        mime_type: As upstream has it; None for folders and where upstream has none.
        site, list_id, list_item_id: Facts: its site, and its list item.
        content_type_id: A fact: the content type of its list item.
        media_type: A fact: *mime_type* in lower case without parameters; None for folders,
            UNKNOWN for a file without one.
        connection_id: The connection that it was read from; None in a connector's records.
    """

    drive: str
    item: str
    name: str | None = None
    mime_type: str | None = None
    size: int | None = None
    created_time: datetime | None = None
    modified_time: datetime | None = None
    owners: tuple[DriveUser, ...] | None = None
    editors: tuple[DriveUser, ...] | None = None
    shared_with: tuple[DriveUser, ...] | None = None
    description: str | None = None
    web_view_link: str | None = None
    download_link: str | None = None
    parent: ItemKey | Literal[UnknownType.UNKNOWN] | None = UNKNOWN
    parent_folder_name: str | None = None
    labels: FileLabels | None = None
    is_folder: bool = False
    is_root: bool = False
    is_package: bool = False
    ancestor_names: tuple[str, ...] | None = None
    target: ItemKey | None = None
    etag: str | None = None
    site: Fact = UNKNOWN
    list_id: Fact = UNKNOWN
    list_item_id: Fact = UNKNOWN
    content_type_id: Fact = UNKNOWN
    connection_id: Long | None = None

    @property
    def id(self) -> str:
        return collab_ids.join_item(self.key)

    @property
    def key(self) -> ItemKey:
        return ItemKey(self.drive, self.item)

    @property
    def drive_id(self) -> str:
        return collab_ids.join_drive(self.drive)

    @property
    def provider(self) -> str:
        return "COLLAB"

    @property
    def folder_id(self) -> str | None:
        return self.id if self.is_folder else None

    @property
    def site_id(self) -> str | None:
        return collab_ids.join_site(self.site) if isinstance(self.site, str) else None

    @property
    def of_list_id(self) -> str | None:
        return self.of_list_item_id and self.of_list_item_id.partition(":item:")[0]

    @property
    def of_list_item_id(self) -> str | None:
        known = (self.site, self.list_id, self.list_item_id)
        facts = [fact for fact in known if isinstance(fact, str)]
        return collab_ids.join_list_item(ListItemKey(*facts)) if len(facts) == 3 else None

    @property
    def parent_folder_id(self) -> str | None:
        parent = self.parent
        return None if parent is None or parent is UNKNOWN else collab_ids.join_item(parent)

    @property
    def media_type(self) -> Fact:
        return None if self.is_folder else media_type(self.mime_type) or UNKNOWN


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
