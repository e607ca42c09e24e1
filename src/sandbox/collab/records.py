"""What the collaboration content is made of, as the shelf keeps it. Times are ISO texts in UTC."""

from typing import Any

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something kept; each kind has a key of its own (see `shelf.RECORD_KEYS`)."""


class Person(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody of the directory."""

    email: str
    name: str


class Site(Record, frozen=True, kw_only=True, omit_defaults=True):
    """
    A site.

    Attributes:
        id: ``host,collection guid,web guid``.
        path: Below the host: ``/sites/yard``, "" for the root site.
        owner: The e-mail address whose personal site it is, "" for a team's.
        members: Who may see it; empty for everybody (of a personal site: its owner alone).
        sharing: How far it may be shared: "anonymous", "organization" or "" for not at all.
    """

    id: str
    path: str
    name: str
    title: str
    created: str
    modified: str
    description: str = ""
    owner: str = ""
    members: tuple[str, ...] = ()
    followers: tuple[str, ...] = ()
    sharing: str = "anonymous"

    @property
    def host(self) -> str:
        return self.id.partition(",")[0]

    @property
    def url(self) -> str:
        return f"https://{self.host}{self.path}"


class Library(Record, frozen=True, kw_only=True, omit_defaults=True):
    """
    A document library, seen as a drive.

    Attributes:
        segment: Its part of the address, decoded: ``Shared Documents``.
        kind: "documentLibrary" or "business" (a personal one).
        quota: Bytes.
    """

    id: str
    site_id: str
    list_id: str
    root_id: str
    name: str
    segment: str
    created: str
    modified: str
    author: str
    description: str = ""
    kind: str = "documentLibrary"
    quota: int = 1 << 40


class Item(Record, frozen=True, kw_only=True, omit_defaults=True):
    """
    A file or folder of a library, which is a list item of the library's list too.

    Attributes:
        parent_id: "" for the root of the library.
        number: The list item's id.
        guid: The unique id of the list item, out of which *id* is made.
        package: "oneNote" for a notebook, which is neither file nor folder.
        mime: "" where upstream has none.
        quick_hash: quickXorHash of the bytes, base64.
        source: How to make the bytes (`content.make`); empty when they lie in *blob*.
        blob: The name of the file with the bytes.
        words: The text that search finds it by, besides its name.
        version, content_version: Counted up by any change, and by a change of the bytes.
        label: The sensitivity label's id, "" for none; *label_method* is how it was assigned.
        label_trouble: The error word when the label cannot be read.
        is_locked: Checked out by somebody else: cannot be changed.
        gone: When it went into the recycle bin, "" when it did not.
        fields: Values of the library's own columns.
    """

    id: str
    drive_id: str
    parent_id: str
    name: str
    number: int
    guid: str
    created: str
    modified: str
    author: str
    editor: str
    is_folder: bool = False
    package: str = ""
    size: int = 0
    mime: str = ""
    quick_hash: str = ""
    source: tuple[str, ...] = ()
    blob: str = ""
    words: str = ""
    description: str = ""
    version: int = 1
    content_version: int = 1
    label: str = ""
    label_method: str = "standard"
    label_trouble: str = ""
    is_locked: bool = False
    gone: str = ""
    fields: dict[str, Any] = {}
    content_type: str = ""


class Column(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    A column of a list.

    Attributes:
        kind: The facet's name: text, number, boolean, dateTime, choice, lookup, personOrGroup, …
        facet: What stands in the facet.
    """

    name: str
    title: str
    kind: str
    facet: dict[str, Any] = {}
    is_hidden: bool = False
    is_read_only: bool = False
    is_required: bool = False
    is_indexed: bool = False
    description: str = ""


class ContentType(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of item a list holds."""

    id: str
    name: str


class SiteList(Record, frozen=True, kw_only=True, omit_defaults=True):
    """
    A list; the list behind a library has its *drive_id*.

    Attributes:
        columns: Its own, besides those that every list has (`columns.LIST_COLUMNS`).
        content_types: The first is what new items get.
    """

    id: str
    site_id: str
    name: str
    title: str
    template: str
    created: str
    modified: str
    author: str
    description: str = ""
    drive_id: str = ""
    is_hidden: bool = False
    is_system: bool = False
    columns: tuple[Column, ...] = ()
    content_types: tuple[ContentType, ...] = ()


class Row(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An item of a list that is no library."""

    list_id: str
    number: int
    guid: str
    created: str
    modified: str
    author: str
    editor: str
    fields: dict[str, Any]
    content_type: str = ""
    version: int = 1


class Share(Record, frozen=True, kw_only=True, omit_defaults=True):
    """
    A permission given on an item, besides those that come from its site.

    Attributes:
        kind: "user", "group" or "link".
        to: Whom, by e-mail address; of a link, those it is for ("users" scope).
        role: "read", "write" or "owner".
        scope, view: Of a link: anonymous, organization or users; view or edit.
    """

    id: str
    drive_id: str
    item_id: str
    kind: str
    role: str
    by: str
    to: tuple[str, ...] = ()
    scope: str = ""
    view: str = ""
    needs_sign_in: bool = True


class Label(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A sensitivity label of the tenant; *parent* is the id of the one above."""

    id: str
    name: str
    description: str
    tooltip: str
    color: str
    priority: int
    is_active: bool = True
    parent: str = ""
    is_protecting: bool = False


class SiteGrant(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What an application with selected sites may do on one of them: read, write, owner."""

    site_id: str
    application: str
    role: str


class Upload(Record, frozen=True, kw_only=True, omit_defaults=True):
    """
    An upload session.

    Attributes:
        existing_id: The item whose bytes are replaced, "" when a name in a folder is uploaded to.
        conflict: "fail", "replace" or "rename".
        total: Bytes in all, 0 while unknown.
        received: Bytes so far; they lie in the file *blob*.
        expires: Seconds since the epoch.
    """

    token: str
    drive_id: str
    parent_id: str
    name: str
    conflict: str
    by: str
    blob: str
    expires: float
    existing_id: str = ""
    mime: str = ""
    description: str = ""
    total: int = 0
    received: int = 0
