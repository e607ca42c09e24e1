"""What is remembered of a provider A account between requests."""

from dataclasses import dataclass, field

from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail.labels import LabelCache
from providers.connectors.provider_a.gmail.response_types import Profile
from providers.http.client import Upstream


@dataclass(slots=True)
class AccountCache:
    """
    One account's labels and address.

    Attributes:
        address: Empty until it is known.
    """

    labels: LabelCache = field(default_factory=LabelCache)
    address: str = ""

    async def own_address(self, upstream: Upstream) -> str:
        """Return the account's address, asked for the first time."""
        if not self.address:
            answer = await upstream.call("GET", *ROOT, "profile")
            self.address = answer.decode(Profile).email_address
        return self.address
