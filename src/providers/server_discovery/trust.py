"""
The rules by which a search calls servers and sends them a password.

A server that a person names or confirms may be called. So may one in the domain of the address or
named by the domain's own https pages, if its addresses are public. Any other one needs a
confirmation: DNS answers can be forged, so they alone must not choose where a password goes, and a
domain's records must not lead the gateway into its own network.
"""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from providers.failures import ProviderFailure
from providers.http.pool import is_public
from providers.server_discovery.dns_records import DnsResolver
from providers.server_discovery.search import Confirmation, Discovery, StepOutcome


class NeedsConfirmation(Exception):
    """A person must confirm a host."""

    def __init__(self, confirmation: Confirmation) -> None:
        super().__init__(confirmation.reason)
        self.confirmation = confirmation


@contextmanager
def reporting(
    result: Discovery, target: str, outcome: StepOutcome = StepOutcome.FAILED
) -> Iterator[None]:
    """Make a step of a failure of the block, which ends with it; *outcome* is that of the step."""
    try:
        yield
    except NeedsConfirmation as needed:
        result.ask(target, needed.confirmation)
    except ProviderFailure as failure:
        result.add(target, outcome, failure.message)
    except OSError:
        result.add(target, outcome, "The name is not known.")


@dataclass(frozen=True, slots=True)
class Trust:
    """The rules for one search; *domain* is that of the address, in A-labels."""

    domain: str
    confirmed: Collection[str]
    resolver: DnsResolver

    def is_confirmed(self, host: str) -> bool:
        """Return whether a person confirms a host."""
        return host in self.confirmed

    def is_in_domain(self, host: str) -> bool:
        """Return whether a host is the domain of the address or below it."""
        return host == self.domain or host.endswith(f".{self.domain}")

    async def admit(self, host: str, *, vouched: bool) -> str:
        """
        Return the IP address to connect to; "" for a confirmed host: the name is looked up then.

        Args:
            host: In A-labels.
            vouched: Whether the domain's own https pages name it.

        Raises:
            NeedsConfirmation: Nothing may be sent there before.
            OSError: The host has no address.
        """
        if self.is_confirmed(host):
            return ""
        if not vouched and not self.is_in_domain(host):
            reason = f"{host} is not in {self.domain}, and DNS alone names it."
            raise NeedsConfirmation(Confirmation(host, reason))
        async with asyncio.timeout(5):
            addresses = await self.resolver.addresses(host)
        if not all(map(is_public, addresses)):
            reason = f"{host} is in the gateway's own network, or not on the internet."
            raise NeedsConfirmation(Confirmation(host, reason))
        return addresses[0]
