"""CalDAV servers: located without a password (RFC 6764), then signed in to."""

from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import urlsplit

from providers.connectors.caldav.account_memory import AccountMemory
from providers.connectors.caldav.dav_client import DavClient
from providers.connectors.caldav.discovery import CALENDARS, find_homes, list_calendars
from providers.connectors.caldav.failures import classify
from providers.connectors.caldav.multistatus import propfind_body
from providers.failures import NeedsReauth, Unreachable
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.http.urls import BaseUrl
from providers.oauth.credentials import StaticToken
from providers.server_discovery.dns_records import DnsResolver, read_record
from providers.server_discovery.search import Discovery, Search, Server, StepOutcome
from providers.server_discovery.trust import reporting
from providers.server_discovery.web import Web, connection_of

_REFUSED = "The calendar server refused the user name or the password."
_UNAUTHORIZED, _MULTI_STATUS = 401, 207
_PRINCIPAL = propfind_body(("DAV: current-user-principal",))


@dataclass(frozen=True, slots=True)
class CalendarSearch:
    """The search for the server of calendars."""

    search: Search
    resolver: DnsResolver
    web: Web
    result: Discovery

    async def locate(self) -> str | None:
        """Return the address of the server, which gets no password; None: none answers."""
        if not self.search.calendar:
            return None
        if self.search.calendar_url:
            return self.search.calendar_url
        # The domain's own page comes first: what it names needs no confirmation.
        server = await self._try(f"https://{self.search.domain}{CALENDARS.well_known}")
        if server is not None:
            return server
        name = f"_caldavs._tcp.{self.search.domain}"
        record = await read_record(name, self.resolver, self.result)
        if record is None or not record.is_offered:
            return None
        return await self._try(f"https://{record.host}:{record.port}{CALENDARS.well_known}")

    async def sign_in(self, server: str, origins: Origins) -> None:
        """Sign in to a server where there is a password, as the mail server's user if it has."""
        search, mail = self.search, self.result.mail
        user = mail.username if mail and mail.signed_in else search.username or search.email
        if search.password is None or search.has_token:
            self.result.calendar = Server(server=server, username=user)
            return
        with reporting(self.result, server):
            try:
                count = await _count(server, user, search.password, origins)
            except NeedsReauth:
                self.result.add(server, StepOutcome.FAILED, _REFUSED)
                self.result.calendar = Server(server=server, username=user, refused=True)
                return
            signed_in = Server(server=server, username=user, signed_in=True, calendars=count)
            self.result.calendar = signed_in
            sentence = f"The server takes the login. Calendars: {count}."
            self.result.add(server, StepOutcome.WORKS, sentence)

    async def _try(self, url: str) -> str | None:
        """Return the address of the server that a URL leads to; None when there is none."""
        headers = {"depth": "0", "content-type": "application/xml; charset=utf-8"}
        with reporting(self.result, url, StepOutcome.NOT_FOUND):
            answer = await self.web.request(
                "PROPFIND", url, content=_PRINCIPAL, headers=headers, accept=(_UNAUTHORIZED,)
            )
            offered = answer.headers.get("www-authenticate", "").lower()
            is_protected = answer.status == _UNAUTHORIZED and "basic" in offered
            if not is_protected and answer.status != _MULTI_STATUS:
                raise Unreachable("No CalDAV server answers.")
            parts = urlsplit(answer.url)
            path = parts.path.rstrip("/").removesuffix(CALENDARS.well_known)
            server = f"{parts.scheme}://{parts.netloc}{path}"
            self.result.add(url, StepOutcome.WORKS, f"A CalDAV server answers: {server}.")
            return server
        return None


async def _count(server: str, user: str, password: str, origins: Origins) -> int:
    """Return how many calendars the account has; raises as the connector."""
    base = BaseUrl.parse(server)
    pair = b64encode(f"{user}:{password}".encode()).decode("ascii")
    upstream = Upstream(
        origins,
        base.origin,
        connection=connection_of(base.origin),
        name="server-discovery",
        credentials=StaticToken(pair, "Basic"),
        classify=classify,
    )
    client, memory = DavClient(upstream, base.origin), AccountMemory()
    try:
        await find_homes(client, base.prefix, memory)
        return len(await list_calendars(client, memory.homes))
    finally:
        origins.forget(connection_of(base.origin))
