"""Data of an account, cached between requests."""

import asyncio
from dataclasses import dataclass

from providers.connectors.provider_b.outlook_mail.response_types import Account, Folder
from providers.failures import Missing
from providers.http.client import Upstream
from providers.ids import is_provider_b_id

ROOT = ("v1.0", "me")
MESSAGES = (*ROOT, "messages")
PREFER = {"prefer": 'IdType="ImmutableId", outlook.body-content-type="html"'}


@dataclass(slots=True)
class AccountCache:
    """
    Folders and address of one account.

    Attributes:
        trash, junk: Folder ids; None until they were read, "" when the mailbox has no such folder.
        address: "" until it was read.
    """

    trash: str | None = None
    junk: str | None = None
    address: str = ""

    async def folders(self, upstream: Upstream) -> tuple[str, str]:
        """Return the ids of the trash and junk folders, which are read once."""
        if self.trash is None or self.junk is None:
            trash, junk = await asyncio.gather(
                _folder(upstream, "deleteditems"), _folder(upstream, "junkemail")
            )
            self.trash, self.junk = trash, junk
        return self.trash, self.junk

    async def own_address(self, upstream: Upstream) -> str:
        """Return the account's address, which is read once."""
        if not self.address:
            response = await upstream.call(
                "GET", *ROOT, params=(("$select", "mail,userPrincipalName"),)
            )
            account = response.decode(Account)
            self.address = account.mail or account.user_principal_name or ""
        return self.address


async def _folder(upstream: Upstream, name: str) -> str:
    try:
        response = await upstream.call(
            "GET", *ROOT, "mailFolders", name, params=(("$select", "id"),), headers=PREFER
        )
    except Missing:
        return ""
    folder_id = response.decode(Folder).id
    return folder_id if is_provider_b_id(folder_id) else ""
