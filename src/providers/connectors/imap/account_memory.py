"""Memory of an account between requests: its sessions, and the order of its mail."""

import asyncio
import math
from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field

from providers.bounded_map import BoundedMap
from providers.connectors.imap.folder_index import FolderIndex
from providers.connectors.imap.message_ids import Location
from providers.imap.idling import IdleSession
from providers.imap.pool import SessionPool

_MAX_LINKS = 10_000
_MAX_CLAIMS = 1_000
# Gateways on the way forget a silent connection after 240 seconds or later.
_FEED_IDLE_SECONDS = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadLink:
    """
    A step from a message towards the root of its thread.

    Attributes:
        target: The Message-ID of the root, or of the parent.
        until: When the link is looked up again, by the monotonic clock.
    """

    target: bytes
    is_root: bool
    until: float = math.inf


@dataclass(slots=True)
class AccountMemory:
    """
    The memory of one account; one object per process.

    Attributes:
        feed: A session of its own for what has changed: it opens folders when they have changed
            alone, and what it enables (RFC 5161) holds for no other request.
        idle: A session that waits for changes of the inbox.
        indexes: Folder, in the server's spelling -> its messages.
        thread_links: Message-ID -> link, of parents that were looked for.
        claims: Drafts that another call sends -> when it was first seen, by the monotonic clock.
        refreshing: Held while indexes change.
    """

    pool: SessionPool = field(default_factory=SessionPool)
    feed: SessionPool = field(
        default_factory=lambda: SessionPool(1, idle_check_seconds=_FEED_IDLE_SECONDS)
    )
    idle: SessionPool = field(
        default_factory=lambda: SessionPool(
            1, idle_check_seconds=_FEED_IDLE_SECONDS, kind=IdleSession
        )
    )
    indexes: defaultdict[bytes, FolderIndex] = field(
        default_factory=lambda: defaultdict(FolderIndex)
    )
    thread_links: BoundedMap[bytes, ThreadLink] = field(
        default_factory=lambda: BoundedMap(_MAX_LINKS)
    )
    claims: BoundedMap[Location, float] = field(default_factory=lambda: BoundedMap(_MAX_CLAIMS))
    refreshing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def close(self) -> None:
        """End the connections to the server that are kept open."""
        self.pool.close()
        self.feed.close()
        self.idle.close()

    def forget_other_folders(self, names: Container[bytes]) -> None:
        """Drop the indexes of folders that are not among *names* any more."""
        for name in [name for name in self.indexes if name not in names]:
            del self.indexes[name]
