"""What is remembered of a provider B account between requests."""

import asyncio
from dataclasses import dataclass

from providers.connectors.provider_b.outlook_mail.response_types import Account, Folder
from providers.failures import Missing
from providers.http.client import Upstream
from providers.ids import is_provider_b_id

ROOT = ("v1.0", "me")
PREFER = {"prefer": 'IdType="ImmutableId", outlook.body-content-type="html"'}


@dataclass(slots=True)
class AccountCache:
    """
    One account's folders and address.

    Attributes:
        trash, junk: Folder ids; "" for a folder that the mailbox does not have, None until known.
        address: Empty until it is known.
    """

    trash: str | None = None
    junk: str | None = None
    address: str = ""

    async def folders(self, upstream: Upstream) -> tuple[str, str]:
        """Return the ids of the trash and junk folders, asked for the first time."""
        if self.trash is None or self.junk is None:
            trash, junk = await asyncio.gather(
                _folder(upstream, "deleteditems"), _folder(upstream, "junkemail")
            )
            self.trash, self.junk = trash, junk
        return self.trash, self.junk

    async def own_address(self, upstream: Upstream) -> str:
        """Return the account's address, asked for the first time."""
        if not self.address:
            answer = await upstream.call(
                "GET", *ROOT, params=(("$select", "mail,userPrincipalName"),)
            )
            account = answer.decode(Account)
            self.address = account.mail or account.user_principal_name or ""
        return self.address


async def _folder(upstream: Upstream, name: str) -> str:
    try:
        answer = await upstream.call(
            "GET", *ROOT, "mailFolders", name, params=(("$select", "id"),), headers=PREFER
        )
    except Missing:
        return ""
    found = answer.decode(Folder).id
    return found if is_provider_b_id(found) else ""
