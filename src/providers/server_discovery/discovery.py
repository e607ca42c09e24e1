"""The search for the servers of an address, within a time limit."""

import asyncio

from providers.http.origins import Origins
from providers.server_discovery.calendar_servers import CalendarSearch
from providers.server_discovery.dns_records import DnsResolver
from providers.server_discovery.mail_servers import MailSearch
from providers.server_discovery.search import Discovery, Search, StepOutcome
from providers.server_discovery.trust import Trust
from providers.server_discovery.web import Web

SECONDS = 15.0  # for everything


async def discover(
    search: Search, *, resolver: DnsResolver, origins: Origins, seconds: float = SECONDS
) -> Discovery:
    """
    Find the servers of an address, try them, and sign in where there is a password.

    A password is sent only to servers that a person names or confirms, or that are the domain's
    own, and whose certificate is valid: `trust`.

    Raises:
        ValueError: The address, or a server that a person names, is not valid.
    """
    trust, result = Trust(search.domain, search.confirmed, resolver), Discovery()
    web = Web(origins, trust)
    try:
        async with asyncio.timeout(seconds) as limit:
            calendars = CalendarSearch(search, resolver, web, result)
            located, _ = await asyncio.gather(
                calendars.locate(), MailSearch(search, trust, resolver, web, result).run()
            )
            if located is not None:
                await calendars.sign_in(located, origins)
    except TimeoutError:
        if not limit.expired():
            raise
        result.is_complete = False
        sentence = f"The search ended after {seconds:.0f} seconds."
        result.add(trust.domain, StepOutcome.FAILED, sentence)
    return result
