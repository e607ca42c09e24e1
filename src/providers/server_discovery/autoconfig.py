"""
The configuration of mail clients that a domain publishes over https ("autoconfig").

The file is XML of at most `web.MAX_BYTES`. A document type declaration, the only place where
entities can be declared, is refused.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser, fromstring

from providers.imap.endpoints import Endpoint, Security
from providers.server_discovery.search import Discovery, Search, StepOutcome
from providers.server_discovery.trust import reporting
from providers.server_discovery.web import Web
from providers.web_addresses import ascii_host

_FILE = "mail/config-v1.1.xml"
_SERVERS = {"imap": "incomingServer", "smtp": "outgoingServer"}
_SECURITIES = {"SSL": Security.TLS, "STARTTLS": Security.STARTTLS}  # "plain" is left out


@dataclass(frozen=True, slots=True)
class ConfiguredServer:
    """A server of the file; *username* "" when it does not name one."""

    endpoint: Endpoint
    username: str


async def read(search: Search, web: Web, result: Discovery) -> Mapping[str, ConfiguredServer]:
    """
    Return the servers of the domain's file by protocol, "imap" and "smtp".

    Of two files that of the first address; the address of the account is not sent there.
    """
    urls = (
        f"https://autoconfig.{search.domain}/{_FILE}",
        f"https://{search.domain}/.well-known/autoconfig/{_FILE}",
    )
    files = await asyncio.gather(*(_read(url, search, web, result) for url in urls))
    return next((servers for servers in files if servers is not None), {})


async def _read(
    url: str, search: Search, web: Web, result: Discovery
) -> Mapping[str, ConfiguredServer] | None:
    with reporting(result, url, StepOutcome.NOT_FOUND):
        answer = await web.request("GET", url)
        try:
            servers = parse(answer.body, search.email)
        except ValueError as failure:
            result.add(url, StepOutcome.FAILED, str(failure))
            return None
        sentence = f"The domain's autoconfig names {len(servers)} servers."
        result.add(url, StepOutcome.FOUND, sentence)
        return servers
    return None


class _WithoutDocumentType(TreeBuilder):
    def doctype(self, *_parts: object) -> None:
        raise ValueError("The file declares a document type.")


def parse(body: bytes, email: str) -> dict[str, ConfiguredServer]:
    """
    Return the first encrypted server of each protocol in a file; one with TLS if there is one.

    Raises:
        ValueError: It is no such file.
    """
    try:
        root = fromstring(body, XMLParser(target=_WithoutDocumentType()))  # noqa: S314 - see above
    except (ParseError, LookupError) as failure:
        raise ValueError("The file is not XML.") from failure
    if root.tag != "clientConfig":
        raise ValueError("The file is not a configuration of mail clients.")
    servers: dict[str, ConfiguredServer] = {}
    for protocol, tag in _SERVERS.items():
        listed = (
            _server(element, email) for element in root.iter(tag) if element.get("type") == protocol
        )
        encrypted = [server for server in listed if server is not None]
        if encrypted:
            servers[protocol] = min(encrypted, key=_is_starttls)
    return servers


def _is_starttls(server: ConfiguredServer) -> bool:
    return server.endpoint.security is Security.STARTTLS


def _server(element: Element, email: str) -> ConfiguredServer | None:
    def member(name: str) -> str:
        text = (element.findtext(name) or "").strip()
        return (
            text.replace("%EMAILADDRESS%", email)
            .replace("%EMAILLOCALPART%", email.rpartition("@")[0])
            .replace("%EMAILDOMAIN%", email.rpartition("@")[2])
        )

    security, port, username = (member(name) for name in ("socketType", "port", "username"))
    try:
        host = ascii_host(member("hostname")).lower()
    except UnicodeError:
        return None
    is_port = port.isascii() and port.isdecimal() and len(port) < 6 and 0 < int(port) < 65536
    if security not in _SECURITIES or not is_port:
        return None
    if not host or any(char in host for char in " /@:[]?#\\"):
        return None
    endpoint = Endpoint(host, int(port), _SECURITIES[security])
    return ConfiguredServer(endpoint, "" if "%" in username else username)
