"""Memory of an account between requests: its sessions, and the order of its mail."""

import asyncio
from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field

from providers.connectors.imap.folder_index import FolderIndex
from providers.imap.pool import SessionPool


@dataclass(slots=True)
class AccountMemory:
    """
    The memory of one account; one object per process.

    Attributes:
        indexes: Folder, in the server's spelling -> its messages.
        refreshing: Held while indexes change.
    """

    pool: SessionPool = field(default_factory=SessionPool)
    indexes: defaultdict[bytes, FolderIndex] = field(
        default_factory=lambda: defaultdict(FolderIndex)
    )
    refreshing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def forget_other_folders(self, names: Container[bytes]) -> None:
        """Drop the indexes of folders that are not among *names* any more."""
        for name in [name for name in self.indexes if name not in names]:
            del self.indexes[name]
