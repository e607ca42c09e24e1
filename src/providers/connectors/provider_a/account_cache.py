"""Data of an account, cached between requests."""

from dataclasses import dataclass, field

from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail.labels import LabelCache
from providers.connectors.provider_a.gmail.response_types import Profile
from providers.http.client import Upstream


@dataclass(slots=True)
class AccountCache:
    """
    Labels and address of one account.

    Attributes:
        address: "" until it was read.
    """

    labels: LabelCache = field(default_factory=LabelCache)
    address: str = ""

    async def own_address(self, upstream: Upstream) -> str:
        """Return the account's address, which is read once."""
        if not self.address:
            response = await upstream.call("GET", *ROOT, "profile")
            self.address = response.decode(Profile).email_address
        return self.address
