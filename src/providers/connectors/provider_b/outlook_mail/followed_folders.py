"""
The folders of a mailbox that are followed, and a position in their history as a text.

docs/spec/upstream/outlook-mail.md#delta-queries
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import IntEnum
from typing import Self
from urllib.parse import parse_qsl, urlsplit

import msgspec

from providers.connectors.provider_b.batch import Params
from providers.connectors.provider_b.outlook_mail.response_types import DeltaPage
from providers.failures import Broken, Inaccessible
from providers.ids import is_provider_b_id
from providers.ports.changes import MAX_POSITION, PositionExpired
from providers.records.base import from_epoch_ms

MEMBERS = (("$select", "id,receivedDateTime,isDraft,parentFolderId"),)
_FOLDER_MEMBERS = (("$select", "id,parentFolderId"),)
_MAX_DECODED = 400_000  # bytes
_TOO_MANY_FOLDERS = "has more mail folders than can be followed"


class Feed(msgspec.Struct, array_like=True):
    """
    One sequence of pages.

    Attributes:
        query: Of the link to the next page; "" before the first page.
        is_open: Whether upstream has more at once.
    """

    query: str = ""
    is_open: bool = True

    def advance(self, page: DeltaPage) -> None:
        """Move behind a page."""
        link = page.next_link or page.delta_link
        self.query = urlsplit(link or "").query
        self.is_open = page.next_link is not None
        if not self.query:
            raise Broken

    def params(self, first: Params) -> Params:
        """Return the parameters of the next page; *first* are those of the first page."""
        return tuple(parse_qsl(self.query)) or first


class Stage(IntEnum):
    """The meaning of the pages of a folder."""

    IN_LISTING = 0
    LEAVING = 1  # it has left the listing; what changed in it before is read to its end
    LEFT = 2  # all that is in it, which has left with it


class Folder(msgspec.Struct, array_like=True):
    """
    A folder of any kind.

    Attributes:
        feed: None: it is not followed.
    """

    parent: str
    feed: Feed | None = None
    stage: Stage = Stage.IN_LISTING


class Position(msgspec.Struct, array_like=True):
    """
    A position in the history of a mailbox.

    Attributes:
        outside: Ids of the folders that the listing leaves out with all below them.
        drafts: Id of the folder of drafts, which is not followed.
        oldest_ms: The received time from which messages are followed.
        known_ms: What was received before is known to who reads the changes.
        round_ms: When the pages that are read now were begun.
        tree: The feed of folders.
        folders: By id.
    """

    outside: tuple[str, ...]
    drafts: str
    oldest_ms: int
    known_ms: int
    round_ms: int
    tree: Feed = msgspec.field(default_factory=Feed)
    folders: dict[str, Folder] = {}

    @classmethod
    def decode(cls, text: str) -> Self:
        """
        Read a position.

        Raises:
            PositionExpired: It is not one.
        """
        try:
            unpacker = zlib.decompressobj()
            packed = unpacker.decompress(base64.b85decode(text), _MAX_DECODED)
            return msgspec.msgpack.decode(packed, type=cls)
        except (ValueError, zlib.error, msgspec.DecodeError):
            raise PositionExpired from None

    def encode(self) -> str:
        """
        Return the position as a text.

        Raises:
            Inaccessible: The mailbox has too many folders.
        """
        text = base64.b85encode(zlib.compress(msgspec.msgpack.encode(self), 9)).decode()
        if len(text) > MAX_POSITION:
            raise Inaccessible(_TOO_MANY_FOLDERS, status=200)
        return text

    @property
    def is_open(self) -> bool:
        """Whether upstream has more at once."""
        return any(feed.is_open for feed in (self.tree, *self.followed().values()))

    def asked(self) -> Sequence[str]:
        """Return the folders whose pages are next, "" among them for the tree."""
        feeds = {"": self.tree, **self.followed()}
        names = [name for name, feed in feeds.items() if feed.is_open]
        return names or list(feeds)

    def followed(self) -> Mapping[str, Feed]:
        """Return the feeds of messages by the id of their folder."""
        return {name: folder.feed for name, folder in self.folders.items() if folder.feed}

    def params(self, folder: str) -> Params:
        """Return the parameters of the next page of a folder; "" is the tree of folders."""
        if not folder:
            return self.tree.params(_FOLDER_MEMBERS)
        stored = self.folders[folder]
        first = (
            MEMBERS if stored.stage is Stage.LEFT else (*MEMBERS, *_newest_first(self.oldest_ms))
        )
        return (stored.feed or self.tree).params(first)

    def grow(self, page: DeltaPage) -> None:
        """
        Apply a page of folders: begin with new ones, and leave those that are outside now.

        Raises:
            PositionExpired: A followed folder is gone, and nothing tells what was in it; or one
                came back before all that had left with it was read.
        """
        self.tree.advance(page)
        for entry in page.value:
            if not is_provider_b_id(entry.id):
                raise Broken
            if entry.removed is None:
                parent = entry.parent_folder_id or ""
                self.folders.setdefault(entry.id, Folder(parent)).parent = parent
            elif (folder := self.folders.pop(entry.id, None)) and folder.feed:
                raise PositionExpired
        hidden = self.hidden()
        for name, folder in self.folders.items():
            is_listed = name not in hidden and name != self.drafts
            if is_listed and folder.feed is None:
                folder.feed = Feed()
            elif is_listed and folder.stage is not Stage.IN_LISTING:
                raise PositionExpired  # what left with it is not known yet, and part of it is back
            elif folder.feed and not is_listed and folder.stage is Stage.IN_LISTING:
                folder.feed.is_open, folder.stage = True, Stage.LEAVING

    def advance(self, folder: str, page: DeltaPage) -> None:
        """Move a folder behind a page."""
        stored = self.folders[folder]
        if stored.feed is None:
            return
        stored.feed.advance(page)
        if stored.feed.is_open or stored.stage is Stage.IN_LISTING:
            return
        is_over = stored.stage is Stage.LEFT
        stored.feed = None if is_over else Feed()
        stored.stage = Stage.IN_LISTING if is_over else Stage.LEFT

    def hidden(self) -> AbstractSet[str]:
        """Return the ids of all folders whose messages the listing leaves out."""
        hidden = set(self.outside)
        children: dict[str, list[str]] = {}
        for name, folder in self.folders.items():
            children.setdefault(folder.parent, []).append(name)
        above: Sequence[str] = list(hidden)
        while above:
            above = [child for name in above for child in children.get(name, ())]
            above = [name for name in above if name not in hidden]
            hidden.update(above)
        return hidden


def _newest_first(oldest_ms: int) -> Params:
    moment = from_epoch_ms(oldest_ms // 1000 * 1000).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (("$filter", f"receivedDateTime ge {moment}"), ("$orderby", "receivedDateTime desc"))
