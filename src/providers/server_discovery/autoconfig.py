"""
The configuration of mail clients that a domain publishes over https ("autoconfig").

The file is XML, parsed by expat: a document type declaration, the only place where entities can be
declared, is refused, and so is deep nesting; its size is limited before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from providers.imap.endpoints import Endpoint, Security
from providers.web_addresses import ascii_host

MAX_BYTES = 64 * 1024
_MAX_DEPTH = 16
_MAX_SERVERS = 10  # of each kind
_SECURITIES = {"SSL": Security.TLS, "STARTTLS": Security.STARTTLS}  # "plain" is left out
_SERVERS = {("incomingServer", "imap"): "imap", ("outgoingServer", "smtp"): "smtp"}
_MEMBERS = frozenset({"hostname", "port", "socketType", "username"})


@dataclass(frozen=True, slots=True)
class ConfiguredServer:
    """A server of the file; *username* "" when it does not name one."""

    endpoint: Endpoint
    username: str


def addresses(domain: str) -> tuple[str, ...]:
    """Return where a domain may publish the file; the address of the account is not sent there."""
    path = "mail/config-v1.1.xml"
    return (
        f"https://autoconfig.{domain}/{path}",
        f"https://{domain}/.well-known/autoconfig/{path}",
    )


def parse(body: bytes, email: str) -> dict[str, Sequence[ConfiguredServer]]:
    """
    Return the encrypted servers of a file by protocol, "imap" and "smtp": TLS first.

    Raises:
        ValueError: It is no such file.
    """
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        parser.Parse(body[: MAX_BYTES + 1], True)
    except (expat.ExpatError, LookupError) as failure:
        raise ValueError("The file is not XML.") from failure
    if not reader.is_configuration:
        raise ValueError("The file is not a configuration of mail clients.")
    servers: dict[str, list[ConfiguredServer]] = {"imap": [], "smtp": []}
    for protocol, members in reader.servers:
        server = _server(members, email)
        if server is not None and len(servers[protocol]) < _MAX_SERVERS:
            servers[protocol].append(server)
    for listed in servers.values():
        listed.sort(key=lambda server: server.endpoint.security is not Security.TLS)
    return dict(servers)


def _server(members: dict[str, str], email: str) -> ConfiguredServer | None:
    security = _SECURITIES.get(members.get("socketType", ""))
    port, host = members.get("port", ""), members.get("hostname", "")
    if security is None or not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        return None
    try:
        name = ascii_host(_filled(host, email)).lower()
    except UnicodeError:
        return None
    if not name or any(char in name for char in " /@:[]?#\\"):
        return None
    username = _filled(members.get("username", ""), email)
    return ConfiguredServer(
        Endpoint(name, int(port), security), "" if "%" in username else username
    )


def _filled(text: str, email: str) -> str:
    local_part, _, domain = email.rpartition("@")
    for name, value in (
        ("%EMAILADDRESS%", email),
        ("%EMAILLOCALPART%", local_part),
        ("%EMAILDOMAIN%", domain),
    ):
        text = text.replace(name, value)
    return text


@dataclass(slots=True)
class _Reader:
    """Collects the servers; the handlers of expat."""

    is_configuration: bool = False
    servers: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    _depth: int = 0
    _current: dict[str, str] | None = None
    _member: str = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("The file is nested too deeply.")
        if self._depth == 1:
            self.is_configuration = name == "clientConfig"
        protocol = _SERVERS.get((name, attributes.get("type", "")))
        if protocol is not None:
            self._current = {}
            self.servers.append((protocol, self._current))
        elif self._current is not None and name in _MEMBERS and name not in self._current:
            self._member = name
            self._current[name] = ""

    def text(self, content: str) -> None:
        if self._current is not None and self._member:
            self._current[self._member] += content

    def end(self, name: str) -> None:
        self._depth -= 1
        if name == self._member and self._current is not None:
            self._current[name] = self._current[name].strip()
            self._member = ""
        elif name in {"incomingServer", "outgoingServer"}:
            self._current = None

    def refuse(self, *_parts: object) -> None:
        raise ValueError("The file declares a document type.")
