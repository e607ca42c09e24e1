"""Servers for IMAP and for outgoing mail: one of each is tried, once."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from providers.failures import NeedsReauth
from providers.imap.accounts import Account
from providers.imap.endpoints import Endpoint, Security
from providers.imap.session import Session
from providers.imap.submission import Submission
from providers.server_discovery import autoconfig
from providers.server_discovery.autoconfig import ConfiguredServer
from providers.server_discovery.dns_records import DnsResolver, read_record
from providers.server_discovery.search import Discovery, Search, Server, StepOutcome
from providers.server_discovery.trust import Trust, reporting
from providers.server_discovery.web import Web

SECONDS = 5.0  # to try one server for outgoing mail
_PERSON, _PAGES, _DNS, _USUAL = "a person", "the domain's autoconfig", "DNS", "the usual name"
# Protocol -> SRV services with their security, and the port of the usual name.
_SERVICES = {
    "imap": (("_imaps._tcp", Security.TLS), ("_imap._tcp", Security.STARTTLS)),
    "smtp": (("_submissions._tcp", Security.TLS), ("_submission._tcp", Security.STARTTLS)),
}
_PORTS = {"imap": 993, "smtp": 465}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The server to try, and the source that names it."""

    endpoint: Endpoint
    source: str


@dataclass(frozen=True, slots=True)
class MailSearch:
    """The search for the servers of a mailbox."""

    search: Search
    trust: Trust
    resolver: DnsResolver
    web: Web
    result: Discovery

    async def run(self) -> None:
        """
        Find the servers, if they are searched for, and sign in where there is a password.

        Raises:
            ValueError: An address that a person named is not valid.
        """
        search = self.search
        if not search.mail:
            return
        named = {"imap": search.server, "smtp": search.submission}
        configured: Mapping[str, ConfiguredServer] = {}
        if not all(named.values()):
            configured = await autoconfig.read(search, self.web, self.result)
        reading, sending = await asyncio.gather(
            *(self._choose(protocol, named[protocol], configured) for protocol in named)
        )
        listed = configured.get("imap")
        user = search.username or (listed.username if listed else "") or search.email
        is_taken = await self._try("imap", reading, user)
        # Not after a refusal, which counts against the user at both servers.
        sends = is_taken is not False and await self._try("smtp", sending, user)
        if reading is not None and is_taken is not None:
            self.result.mail = Server(
                server=reading.endpoint.url("imap"),
                username=user,
                signed_in=is_taken and search.password is not None,
                refused=not is_taken,
                submission=sending.endpoint.url("smtp") if sending and sends else "",
            )

    async def _choose(
        self, protocol: str, named: str, configured: Mapping[str, ConfiguredServer]
    ) -> _Candidate | None:
        """Return the server that the first source names; None: the domain says it has none."""
        if named:
            return _Candidate(Endpoint.parse(named, protocol), _PERSON)
        if protocol in configured:
            return _Candidate(configured[protocol].endpoint, _PAGES)
        is_declined = False
        for service, security in _SERVICES[protocol]:
            name = f"{service}.{self.search.domain}"
            record = await read_record(name, self.resolver, self.result)
            if record is not None and record.is_offered:
                return _Candidate(Endpoint(record.host, record.port, security), _DNS)
            is_declined |= record is not None
        if is_declined:
            return None
        usual = Endpoint(f"mail.{self.search.domain}", _PORTS[protocol], Security.TLS)
        return _Candidate(usual, _USUAL)

    async def _try(self, protocol: str, candidate: _Candidate | None, user: str) -> bool | None:
        """
        Open a session, and sign in where there is a password.

        Returns:
            False when the server refuses the password, None when no session is possible.
        """
        if candidate is None:
            return None
        endpoint, source = candidate.endpoint, candidate.source
        url, password = endpoint.url(protocol), self.search.password
        with reporting(self.result, url):
            if source != _PERSON:
                address = await self.trust.admit(endpoint.host, vouched=source == _PAGES)
                endpoint = replace(endpoint, address=address)
            account = Account(endpoint, user, password or "", has_token=self.search.has_token)
            try:
                await _open(protocol, account, signs_in=password is not None)
            except NeedsReauth as failure:
                self.result.add(url, StepOutcome.FAILED, failure.message)
                return False
            sentence = "answers" if password is None else "takes the login"
            secured = "without encryption" if endpoint.is_plain else "with a valid certificate"
            sentence = f"The server {sentence}, {secured}; {source} names it."
            self.result.add(url, StepOutcome.WORKS, sentence)
            return True
        return None


async def _open(protocol: str, account: Account, *, signs_in: bool) -> None:
    """Open a session, signed in or not, and close it again."""
    if protocol == "imap":
        (await (Session.connect if signs_in else Session.open)(account)).close()
    else:
        ends = time.monotonic() + SECONDS
        (await (Submission.connect if signs_in else Submission.open)(account, ends=ends)).close()
