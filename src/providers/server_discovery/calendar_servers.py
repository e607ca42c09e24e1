"""CalDAV servers: located without a password (RFC 6764), then signed in to."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from providers.connectors.caldav.account_memory import AccountMemory
from providers.connectors.caldav.dav_client import DavClient
from providers.connectors.caldav.discovery import WELL_KNOWN, find_homes, list_calendars
from providers.connectors.caldav.failures import classify
from providers.connectors.caldav.multistatus import propfind_body
from providers.failures import NeedsReauth, ProviderFailure
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.http.urls import BaseUrl
from providers.oauth.credentials import StaticToken
from providers.server_discovery.dns_records import Resolver
from providers.server_discovery.search import CalendarServer, Report, Search, StepOutcome
from providers.server_discovery.trust import NeedsConfirmation
from providers.server_discovery.web import Web, connection_of, sentence_of

_SERVICE = "_caldavs._tcp"
_MAX_BYTES = 256 * 1024
_REFUSED = "The calendar server refused the user name or the password."
_UNAUTHORIZED = 401
_PRINCIPAL = propfind_body(("DAV: current-user-principal",))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A URL that may lead to the calendars; *server* is stored when it does, "": its target."""

    url: str
    server: str = ""


async def locate_calendars(
    search: Search, resolver: Resolver, web: Web, report: Report
) -> Sequence[str]:
    """Return the addresses of CalDAV servers that answer, best first; none gets a password."""
    if search.calendar_url:
        return [search.calendar_url]
    candidates = [*await _recorded(search.domain, resolver, report), *_usual(search.domain)]
    located = await asyncio.gather(*(_locate(candidate, web, report) for candidate in candidates))
    return list(dict.fromkeys(server for server in located if server is not None))


async def sign_in_to_calendars(
    search: Search, servers: Sequence[str], users: Sequence[str], origins: Origins, report: Report
) -> CalendarServer | None:
    """
    Sign in to the first server whose calendars can be listed.

    Returns:
        None when none has calendars. Without a password the first one, not signed in to.
    """
    if search.password is None or search.has_token:
        for server in servers[:1]:
            return CalendarServer(server=server, username=users[0], signed_in=False)
        return None
    refusing: CalendarServer | None = None
    for server in servers:
        for user in users:
            try:
                count = await _count(server, user, search.password, origins)
            except NeedsReauth:
                report.add(server, StepOutcome.FAILED, _REFUSED)
                refusing = refusing or CalendarServer(
                    server=server, username=user, signed_in=False, refused=True
                )
            except (ProviderFailure, ValueError) as failure:
                report.add(server, StepOutcome.FAILED, sentence_of(failure))
                break
            else:
                sentence = f"The server takes the login. Calendars: {count}."
                report.add(server, StepOutcome.WORKS, sentence)
                return CalendarServer(server=server, username=user, signed_in=True, calendars=count)
    return refusing


async def _recorded(domain: str, resolver: Resolver, report: Report) -> list[_Candidate]:
    name = f"{_SERVICE}.{domain}"
    try:
        records, texts = await asyncio.gather(resolver.services(name), resolver.texts(name))
    except OSError:
        report.add(name, StepOutcome.FAILED, "DNS did not answer.")
        return []
    hosts = [record for record in records if record.host and record.port]
    if not hosts:
        report.add(name, StepOutcome.NOT_FOUND, "There is no SRV record.")
        return []
    path = next((text[len("path=") :] for text in texts if text.startswith("path=/")), WELL_KNOWN)
    listed = ", ".join(f"{record.host}:{record.port}" for record in hosts)
    report.add(name, StepOutcome.FOUND, f"DNS names {listed}.")
    return [_Candidate(f"https://{record.host}:{record.port}{path}") for record in hosts[:2]]


def _usual(domain: str) -> Iterator[_Candidate]:
    for host in (domain, f"caldav.{domain}", f"calendar.{domain}"):
        yield _Candidate(f"https://{host}{WELL_KNOWN}", f"https://{host}")
    yield _Candidate(f"https://{domain}/remote.php/dav/")


async def _locate(candidate: _Candidate, web: Web, report: Report) -> str | None:
    """Return the address of the server that a candidate leads to; None when there is none."""
    headers = {"depth": "0", "content-type": "application/xml; charset=utf-8"}
    try:
        answer = await web.request(
            "PROPFIND",
            candidate.url,
            content=_PRINCIPAL,
            headers=headers,
            max_bytes=_MAX_BYTES,
            accept=(_UNAUTHORIZED,),
        )
    except NeedsConfirmation as needed:
        report.ask(candidate.url, needed.confirmation)
        return None
    except (ProviderFailure, OSError) as failure:
        report.add(candidate.url, StepOutcome.NOT_FOUND, sentence_of(failure))
        return None
    is_protected = (
        answer.status == _UNAUTHORIZED
        and "basic" in answer.headers.get("www-authenticate", "").lower()
    )
    if not is_protected and answer.status != 207:
        report.add(candidate.url, StepOutcome.NOT_FOUND, "No CalDAV server answers.")
        return None
    parts = urlsplit(answer.url)
    origin = f"{parts.scheme}://{parts.netloc}"
    server = origin if candidate.server == origin else f"{origin}{parts.path.rstrip('/')}"
    report.add(candidate.url, StepOutcome.WORKS, f"A CalDAV server answers: {server}.")
    return server


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
