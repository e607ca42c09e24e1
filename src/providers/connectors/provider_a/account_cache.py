"""Data of an account, cached between requests."""

from dataclasses import dataclass, field

from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail.labels import LabelCache
from providers.connectors.provider_a.gmail.response_types import Profile, SendAsList
from providers.http.client import Upstream
from providers.http.events import shared_lookup


@dataclass(slots=True)
class AccountCache:
    """
    Labels and addresses of one account.

    Attributes:
        address: The sender of its mail; "" until it was read.
        own: All its addresses, folded; None until they were read.
    """

    labels: LabelCache = field(default_factory=LabelCache)
    address: str = ""
    own: frozenset[str] | None = None

    async def own_address(self, upstream: Upstream) -> str:
        """Return the account's address, which is read once."""
        if not self.address:
            with shared_lookup():
                response = await upstream.call("GET", *ROOT, "profile")
            self.address = response.decode(Profile).email_address
        return self.address

    async def own_addresses(self, upstream: Upstream) -> frozenset[str]:
        """Return all addresses of the account, folded, which are read once."""
        if self.own is None:
            with shared_lookup():
                addresses = await read_addresses(upstream)
            self.own = frozenset(map(str.casefold, addresses))
        return self.own


async def read_addresses(upstream: Upstream) -> tuple[str, ...]:
    """
    Return the primary address and the confirmed aliases of the account.

    Raises:
        ProviderFailure: The request failed.
    """
    response = await upstream.call("GET", *ROOT, "settings", "sendAs")
    return tuple(
        alias.send_as_email
        for alias in response.decode(SendAsList).send_as
        if alias.verification_status != "pending"
    )
