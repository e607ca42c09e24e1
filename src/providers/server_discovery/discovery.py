"""The search for the servers of an address, within a time limit."""

import asyncio
from collections.abc import Sequence

from providers.http.origins import Origins
from providers.server_discovery.calendar_servers import locate_calendars, sign_in_to_calendars
from providers.server_discovery.dns_records import Resolver
from providers.server_discovery.mail_servers import find_mail_servers
from providers.server_discovery.search import (
    CalendarServer,
    Discovery,
    MailServers,
    Report,
    Search,
    StepOutcome,
)
from providers.server_discovery.trust import Trust
from providers.server_discovery.web import Web

SECONDS = 15.0  # for everything


async def discover(
    search: Search, *, resolver: Resolver, origins: Origins, seconds: float = SECONDS
) -> Discovery:
    """
    Find the servers of an address, try them, and sign in where there is a password.

    A password is sent only to servers that a person names or confirms, or that are the domain's
    own, and whose certificate is valid: `trust`.

    Raises:
        ValueError: The address, or a server that a person names, is not valid.
    """
    domain, report = search.domain, Report()
    trust = Trust(domain, search.confirmed, resolver)
    running = _Running(search, trust, resolver, Web(origins, trust), origins, report)
    is_complete = True
    try:
        async with asyncio.timeout(seconds) as limit:
            await running.run()
    except TimeoutError:
        if not limit.expired():
            raise
        is_complete = False
        report.add(domain, StepOutcome.FAILED, f"The search ended after {seconds:.0f} seconds.")
    return Discovery(
        mail=running.mail,
        calendar=running.calendar,
        steps=tuple(report.steps),
        confirmations=tuple(report.confirmations),
        is_complete=is_complete,
    )


class _Running:
    """One search; what it has found so far remains when the time is over."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a search needs
        self,
        search: Search,
        trust: Trust,
        resolver: Resolver,
        web: Web,
        origins: Origins,
        report: Report,
    ) -> None:
        self._search = search
        self._trust = trust
        self._resolver = resolver
        self._web = web
        self._origins = origins
        self._report = report
        self.mail: MailServers | None = None
        self.calendar: CalendarServer | None = None

    async def run(self) -> None:
        """Search; mail first, because its server tells which user the account has."""
        located, _ = await asyncio.gather(self._locate(), self._find_mail())
        if self._search.calendar:
            self.calendar = await sign_in_to_calendars(
                self._search, located, self._users(), self._origins, self._report
            )

    async def _locate(self) -> Sequence[str]:
        if not self._search.calendar:
            return ()
        return await locate_calendars(self._search, self._resolver, self._web, self._report)

    async def _find_mail(self) -> None:
        if self._search.mail:
            self.mail = await find_mail_servers(
                self._search, self._trust, self._resolver, self._web, self._report
            )

    def _users(self) -> Sequence[str]:
        if self.mail is not None and self.mail.signed_in:
            return (self.mail.username,)
        return self._search.usernames("")
