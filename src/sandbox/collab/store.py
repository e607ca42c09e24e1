"""
All records of the collaboration content, in memory and in a database table.

Reads are served from memory; every change is written through. When another process (the import
command) has written to the database, `ContentStore.refresh` reloads the records.
"""

import re
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import NAMESPACE_DNS, uuid5

import msgspec

from sandbox.collab import records as r
from sandbox.collab.files.blobs import BlobStore
from sandbox.storage.database import Database

_TABLE = """CREATE TABLE IF NOT EXISTS collab (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL,
    UNIQUE (kind, key)) STRICT"""

RECORD_KEYS: Mapping[type[r.Record], tuple[str, Callable[[Any], str]]] = {
    r.Person: ("person", lambda person: person.email),
    r.Site: ("site", lambda site: site.id),
    r.Library: ("library", lambda library: library.id),
    r.SiteList: ("list", lambda site_list: site_list.id),
    r.Item: ("item", lambda item: f"{item.drive_id} {item.id}"),
    r.Row: ("row", lambda row: f"{row.list_id} {row.number}"),
    r.Share: ("share", lambda share: share.id),
    r.Label: ("label", lambda label: label.id),
    r.SiteGrant: ("grant", lambda grant: f"{grant.site_id} {grant.application}"),
    r.Upload: ("upload", lambda upload: upload.token),
}
FILES_FOLDER = "sandbox-files"  # folder of the uploaded bytes, beside the database
_SECRET = "collab:secret"  # noqa: S105 - the name of a meta key
_KINDS = {kind: cls for cls, (kind, _) in RECORD_KEYS.items()}
_WRITE = (
    "INSERT INTO collab (kind, key, body) VALUES (?, ?, ?)"
    " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body"
)
_encode = msgspec.json.Encoder().encode
_decoders = {kind: msgspec.json.Decoder(cls).decode for kind, cls in _KINDS.items()}

R = TypeVar("R", bound=r.Record)


UNITS = 6000  # resource units per minute, of a tenant with more than 50,000 licences


@dataclass(slots=True, kw_only=True)
class Settings:
    """
    Behaviour that tests vary.

    Attributes:
        threshold: List view threshold: larger lists refuse filters that match more rows.
        threshold_status: HTTP status of the refusal, 400 or 429.
        wraps_labels: Whether a file's labels are wrapped in ``value``.
        link_seconds: Lifetime of a download link.
        session_seconds: Lifetime of an upload session.
        units: Resource units per minute and account; None for no limit.
        doubles_hits: Whether search returns a file twice, as file and as list item.
        repeats_sites: Whether the search for all sites returns the first site again at the end.
        stamps_office_files: Whether an uploaded office file grows by a few bytes, as upstream
            writes document properties into it.
    """

    threshold: int = 5000
    threshold_status: int = 400
    wraps_labels: bool = False
    link_seconds: int = 3600
    session_seconds: int = 15 * 60
    units: int | None = UNITS
    doubles_hits: bool = False
    repeats_sites: bool = True
    stamps_office_files: bool = False


class ContentStore:
    """
    Store of all records.

    Attributes:
        blobs: The uploaded bytes.
        changes: Number of changes so far; the version of anything derived from all records.
        settings: In memory only: reset by a restart.
        deltas: Token -> what was returned of a library; in memory, see `files.deltas`.
        spent_units: Account -> (Unix time, resource units) of each call of the last minute.
    """

    def __init__(
        self, db: Database, folder: Path | None, *, clock: Callable[[], float] = time.time
    ) -> None:
        """*folder* holds uploaded bytes; None for a temporary folder."""
        self._db = db
        self._clock = clock
        self._seen: int | None = None
        self.changes = 0
        self.blobs = BlobStore(folder)
        self.settings = Settings()
        self.spent_units: dict[str, deque[tuple[float, int]]] = {}
        self.deltas: dict[str, Any] = {}
        self._clear()
        db.define(_TABLE)

    @classmethod
    def beside(cls, db: Database, *, clock: Callable[[], float] = time.time) -> "ContentStore":
        """Open the content of a database, with its uploads beside the database file."""
        return cls(db, None if db.folder is None else db.folder / FILES_FOLDER, clock=clock)

    def _clear(self) -> None:
        self.changes += 1
        self._all: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        self._children: dict[tuple[str, str], dict[str, r.Item]] = defaultdict(dict)
        self._rows: dict[str, dict[int, r.Row]] = defaultdict(dict)
        self._numbers: dict[tuple[str, int], str] = {}
        self._drives: dict[str, dict[str, r.Item]] = defaultdict(dict)
        self._shares: dict[tuple[str, str], dict[str, r.Share]] = defaultdict(dict)

    # -- writing

    def refresh(self) -> None:
        """Load all records at first use and after another connection has written."""
        format_time = self._db.foreign_writes()
        if format_time == self._seen:
            return
        self._clear()
        for kind, _key, body in self._db.rows("SELECT kind, key, body FROM collab ORDER BY seq"):
            if isinstance(body, bytes):
                self._index(_decoders[str(kind)](body))
        self._seen = format_time

    def put(self, *records: r.Record) -> None:
        """Insert or update records."""
        self.put_many(records)

    def put_many(self, records: Iterable[r.Record]) -> None:
        """Insert or update many records in one transaction."""
        stored = list(records)
        rows = []
        for record in stored:
            kind, key = RECORD_KEYS[type(record)]
            rows.append((kind, key(record), _encode(record)))
        self._db.run_many(_WRITE, rows)
        for record in stored:
            self._index(record)
        self.changes += 1

    def delete(self, record: r.Record) -> None:
        """Delete a record permanently."""
        kind, key = RECORD_KEYS[type(record)]
        self._db.run("DELETE FROM collab WHERE kind = ? AND key = ?", kind, key(record))
        self._all[kind].pop(key(record), None)
        self.changes += 1
        if isinstance(record, r.Row):
            self._rows[record.list_id].pop(record.number, None)
        elif isinstance(record, r.Item):
            self._unindex(record)
        elif isinstance(record, r.Share):
            self._shares[record.drive_id, record.item_id].pop(record.id, None)

    def _index(self, record: r.Record) -> None:
        kind, key = RECORD_KEYS[type(record)]
        name = key(record)
        if isinstance(record, r.Item):
            before = self._all[kind].get(name)
            if before is not None:
                self._unindex(before)
            self._drives[record.drive_id][record.id] = record
            self._numbers[record.drive_id, record.number] = record.id
            if not record.gone:
                self._children[record.drive_id, record.parent_id][record.id] = record
        elif isinstance(record, r.Row):
            self._rows[record.list_id][record.number] = record
        elif isinstance(record, r.Share):
            self._shares[record.drive_id, record.item_id][record.id] = record
        self._all[kind][name] = record

    def _unindex(self, item: r.Item) -> None:
        self._drives[item.drive_id].pop(item.id, None)
        self._numbers.pop((item.drive_id, item.number), None)
        self._children[item.drive_id, item.parent_id].pop(item.id, None)

    # -- reading

    def every(self, kind: type[R]) -> list[R]:
        """Return all records of a type, in the order of their first insertion."""
        return list(self._all[RECORD_KEYS[kind][0]].values())

    def get(self, kind: type[R], key: str) -> R | None:
        """Return the record of a type with this key (see `RECORD_KEYS`), or None."""
        record: R | None = self._all[RECORD_KEYS[kind][0]].get(key)
        return record

    def item(self, drive_id: str, item_id: str) -> r.Item | None:
        """Return an item; None when it is unknown or in the recycle bin."""
        item = self._drives.get(drive_id, {}).get(item_id)
        return None if item is None or item.gone else item

    def item_by_number(self, drive_id: str, number: int) -> r.Item | None:
        """Return an item by the number of its list item."""
        return self.item(drive_id, self._numbers.get((drive_id, number), ""))

    def items(self, drive_id: str) -> list[r.Item]:
        """Return all items of a library: with its root folder, without the recycle bin."""
        return [item for item in self._drives.get(drive_id, {}).values() if not item.gone]

    def recycled(self, drive_id: str) -> list[r.Item]:
        """Return the items in a library's recycle bin."""
        return [item for item in self._drives.get(drive_id, {}).values() if item.gone]

    def children(self, item: r.Item) -> list[r.Item]:
        """Return the direct children of a folder."""
        return list(self._children.get((item.drive_id, item.id), {}).values())

    def child(self, folder: r.Item, name: str) -> r.Item | None:
        """Return the child of this name (case-insensitive), or None."""
        folded = name.casefold()
        return next(
            (child for child in self.children(folder) if child.name.casefold() == folded), None
        )

    def below(self, item: r.Item) -> list[r.Item]:
        """Return all descendants of a folder."""
        descendants: list[r.Item] = []
        pending = [item]
        while pending:
            children = self.children(pending.pop())
            descendants += children
            pending += children
        return descendants

    def ancestors(self, item: r.Item) -> list[r.Item]:
        """Return the folders above an item, outermost first."""
        ancestors: list[r.Item] = []
        while item.parent_id:
            parent = self._drives[item.drive_id].get(item.parent_id)
            if parent is None:
                break
            ancestors.append(parent)
            item = parent
        return ancestors[::-1]

    def rows(self, list_id: str) -> list[r.Row]:
        """Return the rows of a list, oldest first."""
        return list(self._rows.get(list_id, {}).values())

    def row(self, list_id: str, number: int) -> r.Row | None:
        """Return a row of a list."""
        return self._rows.get(list_id, {}).get(number)

    def shares(self, item: r.Item) -> list[r.Share]:
        """Return the permissions on the item itself, without inherited ones."""
        return list(self._shares.get((item.drive_id, item.id), {}).values())

    def person(self, name: str) -> r.Person | None:
        """Return the person with this address or sign-in name, in any case of letters."""
        folded = name.casefold()
        return next(
            (
                person
                for person in self.every(r.Person)
                if folded in {person.email.casefold(), person.sign_in_name.casefold()}
            ),
            None,
        )

    def sign_in_name(self, email: str) -> str:
        """Return the user principal name of a person: the address when the directory has none."""
        person = self.get(r.Person, email)
        return (person.sign_in_name if person is not None else "") or email

    def display_name(self, email: str) -> str:
        """Return a person's name; derived from the address when the directory has none."""
        person = self.get(r.Person, email)
        if person is not None:
            return person.name
        return " ".join(re.split(r"[._]", email.partition("@")[0])).title()

    def used_bytes(self, drive_id: str) -> int:
        """Return the size of a library in bytes, the recycle bin included."""
        return sum(item.size for item in self._drives.get(drive_id, {}).values())

    # -- numbers, secret and time

    def next_number(self, list_id: str) -> int:
        """Allocate the number of the next item of a list."""
        return self._db.next(f"collab:{list_id}")

    def set_numbers(self, list_id: str, used: int) -> None:
        """Continue numbering after *used*."""
        self._db.set_meta(f"counter:collab:{list_id}", str(used))

    def secret(self) -> bytes:
        """Return the key that signs links; created at first use."""
        secret_hex = self._db.meta(_SECRET)
        if secret_hex is None:
            secret_hex = secrets.token_hex(32)
            self._db.set_meta(_SECRET, secret_hex)
        return bytes.fromhex(secret_hex)

    def now_seconds(self) -> float:
        """Return the current time in seconds since the epoch."""
        return self._clock()

    def now_text(self) -> str:
        """Return the current time as ISO text."""
        return format_time(self._clock())


def format_time(seconds: float) -> str:
    """Format seconds since the epoch as ``2026-01-05T08:00:00Z``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def person_id(email: str) -> str:
    """Return a person's id in the directory."""
    return str(uuid5(NAMESPACE_DNS, email.lower()))
