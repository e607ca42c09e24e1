"""
Reasons why a server cannot be reached, as sentences that name no host.

Callers of the API see these sentences; the commands add a remedy (`REMEDIES`).
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from types import MappingProxyType

NO_SUCH_NAME = "The name of the server is not known."
NOT_LISTENING = "The server refuses the connection: nothing listens there."
NO_ROUTE = "No network leads to the server."
WRONG_NAME = "The server's certificate is valid for other names."
EXPIRED = "The server's certificate has expired."
UNKNOWN_AUTHORITY = "The server's certificate is not from an authority that is trusted here."
INVALID_CERTIFICATE = "The server's certificate is not valid."
NO_TLS = "The server does not speak TLS there."
NO_STARTTLS = "The server offers no encryption."
CLOSED = "The server closed the connection."
NOT_THE_PROTOCOL = "The server does not speak the protocol that is expected there."

# Sentence -> what a person can do.
REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        NO_SUCH_NAME: "Correct the host in the address of the server.",
        NOT_LISTENING: "Correct the port, or let the firewall pass it.",
        NO_ROUTE: "Check the network of this machine.",
        WRONG_NAME: "Use a name that the certificate has, or renew it for this name.",
        EXPIRED: "Renew the certificate of the server, and let the server read it.",
        UNKNOWN_AUTHORITY: "Name the file of your own authority in SSL_CERT_FILE.",
        INVALID_CERTIFICATE: "`openssl s_client -connect HOST:PORT` shows what is wrong.",
        NO_TLS: "Use the port for TLS (993, 465), or STARTTLS: imap://HOST, smtp://HOST.",
        NO_STARTTLS: "Switch TLS on at the server, or use its port for TLS (993, 465).",
        CLOSED: "The server's log says why.",
        NOT_THE_PROTOCOL: "Correct host and port.",
    }
)


def remedy_of(sentence: str) -> str | None:
    """Return what a person can do about a sentence of this module, of either server."""
    return REMEDIES.get(sentence.replace("he submission server", "he server", 1))


def of_submission(sentence: str | None) -> str | None:
    """Return a sentence of this module as one about the server for outgoing mail."""
    return None if sentence is None else sentence.replace("he server", "he submission server", 1)


# Codes of OpenSSL: X509_V_ERR_…
_EXPIRED = 10
_WRONG_NAMES = frozenset({62, 64})  # HOSTNAME_MISMATCH, IP_ADDRESS_MISMATCH
_UNKNOWN_AUTHORITIES = frozenset({18, 19, 20, 21})


def reason_of(failure: BaseException) -> str | None:
    """Return the sentence for a failure of a connection; None for one that has none."""
    sentence: str | None = None
    match failure:
        case ssl.SSLCertVerificationError():
            sentence = _of_certificate(failure.verify_code)
        case ssl.SSLError():
            sentence = NO_TLS
        case socket.gaierror():
            sentence = NO_SUCH_NAME
        case ConnectionRefusedError():
            sentence = NOT_LISTENING
        case ConnectionError() | EOFError():  # IncompleteReadError is an EOFError
            sentence = CLOSED
        case OSError():
            sentence = NO_ROUTE
        case ValueError():
            sentence = NOT_THE_PROTOCOL
    return sentence


def _of_certificate(code: int) -> str:
    if code == _EXPIRED:
        return EXPIRED
    if code in _WRONG_NAMES:
        return WRONG_NAME
    if code in _UNKNOWN_AUTHORITIES:
        return UNKNOWN_AUTHORITY
    return INVALID_CERTIFICATE


def has_buffered(reader: asyncio.StreamReader) -> bool:
    """Return whether something was received that is not read yet."""
    reading = reader.read(1)
    try:
        reading.send(None)
    except StopIteration:
        return True
    reading.close()
    return False
