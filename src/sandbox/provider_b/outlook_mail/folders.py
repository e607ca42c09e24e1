"""
Mail folders: the well-known folders, and those that clients create.

A folder has the same id as plain and as immutable id. See
docs/spec/upstream/outlook-mail.md#folders.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256
from types import MappingProxyType

from sandbox.mail.ids import PROVIDER_B
from sandbox.storage.database import Database

ROOT = "msgfolderroot"
OUTBOX = "outbox"

# Well-known name of a folder -> its key in the mail store.
WELL_KNOWN: Mapping[str, str] = MappingProxyType(
    {
        "archive": "archive",
        "deleteditems": "trash",
        "drafts": "drafts",
        "inbox": "inbox",
        "junkemail": "spam",
        "outbox": OUTBOX,
        "sentitems": "sent",
        "msgfolderroot": ROOT,
    }
)
_NAMES: Mapping[str, str] = {
    "archive": "Archive",
    "trash": "Deleted Items",
    "drafts": "Drafts",
    "inbox": "Inbox",
    "spam": "Junk Email",
    OUTBOX: "Outbox",
    "sent": "Sent Items",
    ROOT: "Top of Information Store",
}
_TABLE = """CREATE TABLE IF NOT EXISTS mail_folder (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, parent TEXT NOT NULL,
    UNIQUE (parent, name)) STRICT"""


@dataclass(frozen=True, slots=True)
class Folder:
    """
    A folder.

    Attributes:
        key: The folder's name in the mail store.
        parent: The key of the parent folder; empty for the root.
    """

    key: str
    name: str
    parent: str

    @property
    def id(self) -> str:
        return folder_id(self.key)


@cache
def folder_id(key: str) -> str:
    """Return the API's id of the folder with this key in the mail store."""
    digest = urlsafe_b64encode(shake_256(f"folder/{key}".encode()).digest(51)).decode()
    return f"AAMkAGNDM4YTQ0ZDAtYjU2Yy00ZWEy-{digest}AAA="


class FolderExists(Exception):
    """The parent has a folder of this name (in any case)."""


class Folders:
    """The folders of *mailbox*; those that clients create are stored in *db*."""

    def __init__(self, db: Database, mailbox: str = PROVIDER_B) -> None:
        self._db = db
        self._place = "" if mailbox == PROVIDER_B else f"{mailbox}/"  # of stored parents
        db.define(_TABLE)

    def all(self) -> tuple[Folder, ...]:
        """Return every folder but the root, well-known folders first."""
        known = tuple(Folder(key, _NAMES[key], ROOT) for key in WELL_KNOWN.values() if key != ROOT)
        rows = self._db.rows("SELECT number, name, parent FROM mail_folder ORDER BY number")
        custom = (
            Folder(f"folder:{int(number or 0)}", str(name), str(above).removeprefix(self._place))
            for number, name, above in rows
            if str(above).rpartition("/")[0] == self._place.rstrip("/")
        )
        return (*known, *custom)

    def below(self, key: str) -> tuple[Folder, ...]:
        """Return the direct children of a folder."""
        return tuple(folder for folder in self.all() if folder.parent == key)

    def find(self, reference: str) -> Folder | None:
        """Return a folder by its id or well-known name (in any case); None when it is unknown."""
        key = WELL_KNOWN.get(reference.lower())
        if key == ROOT or reference == folder_id(ROOT):
            return Folder(ROOT, _NAMES[ROOT], "")
        return next(
            (folder for folder in self.all() if key == folder.key or folder.id == reference), None
        )

    def add(self, name: str, parent: str) -> Folder:
        """
        Create a folder.

        Raises:
            FolderExists: The parent has a folder of this name.
        """
        if any(folder.name.casefold() == name.casefold() for folder in self.below(parent)):
            raise FolderExists(name)
        number = self._db.next("mail-folder")
        self._db.run(
            "INSERT INTO mail_folder (number, name, parent) VALUES (?, ?, ?)",
            number,
            name,
            self._place + parent,
        )
        return Folder(f"folder:{number}", name, parent)

    def place(self, folder: Folder, name: str, parent: str) -> Folder:
        """
        Give a folder that a client has made a name and a parent.

        Raises:
            FolderExists: The parent has another folder of this name.
        """
        beside = (other for other in self.below(parent) if other.key != folder.key)
        if any(other.name.casefold() == name.casefold() for other in beside):
            raise FolderExists(name)
        self._db.run(
            "UPDATE mail_folder SET name = ?, parent = ? WHERE number = ?",
            name,
            self._place + parent,
            _number(folder.key),
        )
        return Folder(folder.key, name, parent)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove folders that clients have made; what is in them stays in the mail store."""
        self._db.run_many(
            "DELETE FROM mail_folder WHERE number = ?", ((_number(key),) for key in keys)
        )


def _number(key: str) -> int:
    return int(key.removeprefix("folder:"))
