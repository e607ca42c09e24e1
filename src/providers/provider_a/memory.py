"""What is remembered of a provider A account between requests."""

from dataclasses import dataclass, field

from providers.http import Upstream
from providers.provider_a.batch import ROOT
from providers.provider_a.labels import LabelBook
from providers.provider_a.message import Profile


@dataclass(slots=True)
class Memory:
    """
    One account's labels and address.

    Attributes:
        address: Empty until it is known.
    """

    labels: LabelBook = field(default_factory=LabelBook)
    address: str = ""

    async def own_address(self, upstream: Upstream) -> str:
        """Return the account's address, asked for the first time."""
        if not self.address:
            answer = await upstream.call("GET", *ROOT, "profile")
            self.address = answer.decode(Profile).email_address
        return self.address
