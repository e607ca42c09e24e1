"""Data of an account, cached between requests."""

import asyncio
import time
from collections import deque
from collections.abc import Iterable

import msgspec

from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail.response_types import Folder, FolderPage
from providers.failures import Missing, NeedsReauth
from providers.http.events import shared_lookup
from providers.ids import is_provider_b_id
from providers.microsoft_user import read_addresses

FOLDER_SECONDS = 3600.0  # until the folders below trash and junk are read again
UNCOUNTED_SECONDS = 3600.0  # after a count took too long
MAX_FOLDER_LISTINGS = 20  # calls per tree; folders beyond them count as ordinary ones
_MAX_CHILDREN = 250
PREFER = {"prefer": 'IdType="ImmutableId", outlook.body-content-type="html"'}


class AccountCache(msgspec.Struct):
    """
    Folders and addresses of one account.

    Attributes:
        trash, junk: Ids of these folders and of all below them, the folder itself first; empty
            when the mailbox has no such folder.
        folders_until: Monotonic time, in seconds, until which the two are used.
        uncounted_until: Monotonic time, in seconds, until which messages are not counted.
        address: The connection's address, for accounts whose addresses may not be read.
        own: All addresses of the account, folded; None until they were read.
    """

    trash: tuple[str, ...] = ()
    junk: tuple[str, ...] = ()
    folders_until: float = 0.0
    uncounted_until: float = 0.0
    address: str = ""
    own: frozenset[str] | None = None

    @property
    def has_folders(self) -> bool:
        """Whether `trash` and `junk` are known; they are read again after an hour."""
        return time.monotonic() < self.folders_until

    async def read_folders(self, user: GraphUser) -> None:
        """Read `trash` and `junk`."""
        with shared_lookup():
            self.trash, self.junk = await asyncio.gather(
                _tree(user, "deleteditems"), _tree(user, "junkemail")
            )
        self.folders_until = time.monotonic() + FOLDER_SECONDS

    @property
    def may_count(self) -> bool:
        return time.monotonic() >= self.uncounted_until

    def stop_counting(self) -> None:
        """Do not count messages for an hour: the mailbox is too large for it."""
        self.uncounted_until = time.monotonic() + UNCOUNTED_SECONDS

    async def own_addresses(self, user: GraphUser) -> frozenset[str]:
        """Return all addresses of the account, folded, which are read once."""
        if self.own is None:
            try:
                with shared_lookup():
                    addresses = await read_addresses(user.upstream, user.root, headers=PREFER)
            except NeedsReauth:  # a token without User.Read
                if not self.address:
                    raise
                addresses = (self.address,)
            self.own = frozenset(map(str.casefold, addresses))
        return self.own


async def _tree(user: GraphUser, name: str) -> tuple[str, ...]:
    """Return the ids of a folder and of those below it, level by level."""
    select = ("$select", "id,childFolderCount")
    path = (*user.root, "mailFolders")
    try:
        response = await user.upstream.call("GET", *path, name, params=(select,), headers=PREFER)
    except Missing:
        return ()
    folders = _valid([response.decode(Folder)])
    parents = deque(folder for folder in folders if folder.child_folder_count)
    for _ in range(MAX_FOLDER_LISTINGS):
        if not parents:
            break
        params = (select, ("$top", str(_MAX_CHILDREN)))
        response = await user.upstream.call(
            "GET", *path, parents.popleft().id, "childFolders", params=params, headers=PREFER
        )
        children = _valid(response.decode(FolderPage).value)
        folders += children
        parents.extend(folder for folder in children if folder.child_folder_count)
    return tuple(folder.id for folder in folders)


def _valid(folders: Iterable[Folder]) -> list[Folder]:
    return [folder for folder in folders if is_provider_b_id(folder.id)]
