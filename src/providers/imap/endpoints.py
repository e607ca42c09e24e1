"""Addresses of IMAP and SMTP servers, and how connections to them are secured."""

import ipaddress
import ssl
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from urllib.parse import urlsplit

from providers.web_addresses import ascii_host


class Security(StrEnum):
    """Encryption of a connection. Certificates are always verified."""

    TLS = "tls"  # from the first byte
    STARTTLS = "starttls"  # a server that does not offer it is refused
    PLAIN = "plain"  # to this machine alone


_SCHEMES = {
    "imaps": (Security.TLS, 993),
    "imap": (Security.STARTTLS, 143),
    "imap+plain": (Security.PLAIN, 143),
    "smtps": (Security.TLS, 465),
    "smtp": (Security.STARTTLS, 587),
    "smtp+plain": (Security.PLAIN, 587),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """
    A server.

    Attributes:
        host: A host name in A-labels, or an IP address without brackets.
        address: An IP address of the host, which is connected to instead of looking the name up;
            "" for none.
    """

    host: str
    port: int
    security: Security
    address: str = ""

    @classmethod
    def parse(cls, url: str, protocol: str) -> "Endpoint":
        """
        Read an address such as `imaps://mail.example.org` or `smtp://mail.example.org:587`.

        `imap` and `smtp` mean STARTTLS, which is required; `imap+plain` and `smtp+plain` mean no
        encryption and are accepted for loopback addresses alone.

        Args:
            url: The address.
            protocol: "imap" or "smtp".

        Raises:
            ValueError: It is no such address; the message says what is wrong with it.
        """
        parts = urlsplit(url.strip())
        known = [scheme for scheme in _SCHEMES if scheme.startswith(protocol)]
        if parts.scheme not in known:
            raise ValueError(f"It must begin with one of {', '.join(known)}, then `://`.")
        security, port = _SCHEMES[parts.scheme]
        if not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("It must be a scheme, a host and perhaps a port.")
        if parts.path.strip("/"):
            raise ValueError("It must have no path.")
        try:
            host = ascii_host(parts.hostname).lower()
            endpoint = cls(host, parts.port or port, security)
        except (UnicodeError, ValueError) as failure:
            raise ValueError("Its host or port is not valid.") from failure
        if security is Security.PLAIN and not endpoint.is_loopback:
            raise ValueError("A connection without encryption may only lead to this machine.")
        return endpoint

    @property
    def connect_host(self) -> str:
        """The address or name that connections lead to."""
        return self.address or self.host

    def url(self, protocol: str) -> str:
        """Return the address as `parse` reads it."""
        scheme, port = next(
            (scheme, port)
            for scheme, (security, port) in _SCHEMES.items()
            if scheme.startswith(protocol) and security is self.security
        )
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}" + ("" if self.port == port else f":{self.port}")

    @property
    def is_plain(self) -> bool:
        return self.security is Security.PLAIN

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, by its name."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """
    Return the TLS settings of the process.

    OpenSSL reads SSL_CERT_FILE and SSL_CERT_DIR: docs/spec/upstream/README.md.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
