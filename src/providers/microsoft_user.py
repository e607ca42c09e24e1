"""The signed-in user of Microsoft Graph, whom mail, calendars and content have in common."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from providers.http.client import Upstream
from providers.odata import CamelStruct
from providers.ports.checks import Account, Check, Observation, Outcome, own_address


class _User(CamelStruct):
    mail: str | None = None
    user_principal_name: str | None = None
    proxy_addresses: tuple[str, ...] = ()


async def read_addresses(
    upstream: Upstream,
    path: Sequence[str] = ("v1.0", "me"),
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """
    Return the primary address, the sign-in name and the aliases of the user at *path*.

    Raises:
        ProviderFailure: The request failed.
    """
    select = (("$select", "mail,userPrincipalName,proxyAddresses"),)
    response = await upstream.call("GET", *path, params=select, headers=headers)
    user = response.decode(_User)
    aliases = (
        address
        for kind, _, address in (proxy.partition(":") for proxy in user.proxy_addresses)
        if kind.lower() == "smtp"
    )
    return tuple(filter(None, (user.mail, user.user_principal_name, *aliases)))


async def _check_addresses(account: Account) -> Observation:
    if account.info.mode == "selected_sites":
        return Outcome.AS_EXPECTED, "The connection is app-only: it has no owner."
    if account.info.shared_on is not None:
        owner = account.info.shared_on
        return Outcome.AS_EXPECTED, f"The mailbox is shared with the owner of connection {owner}."
    return own_address(await read_addresses(account.upstream), account.info)


OWN_ADDRESS = Check("addresses", _check_addresses)
