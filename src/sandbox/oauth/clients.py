"""
The clients that are registered with the sandbox's identity servers; hashes of secrets are kept.

A client that is registered is held to its secret and its redirect URIs; one that is not may renew
tokens (the vendors' own clients bring their own names), but cannot ask anybody for consent.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sandbox.storage.database import Database

_TABLE = """CREATE TABLE IF NOT EXISTS oauth_client (
    server TEXT NOT NULL, id TEXT NOT NULL, secret TEXT, redirects TEXT NOT NULL,
    PRIMARY KEY (server, id)) STRICT"""
_LOOPBACK = frozenset({"127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredClient:
    """
    A registration.

    Attributes:
        digest: SHA-256 of the secret; None: a public client, which proves itself by PKCE alone.
    """

    id: str
    digest: str | None = field(repr=False)
    redirects: tuple[str, ...]

    def knows(self, secret: str) -> bool:
        """Whether *secret* is the client's; a public client has none to show."""
        return self.digest is None or hmac.compare_digest(self.digest, _hash(secret))

    def returns_to(self, uri: str) -> bool:
        """Whether *uri* is registered, exactly; on a loopback address with any port (RFC 8252)."""
        return uri in self.redirects or any(
            _same_but_port(redirect, uri) for redirect in self.redirects
        )


class ClientRegistry:
    """The registrations of one store, per identity server (`provider-a`, `tasks`, …)."""

    def __init__(self, db: Database) -> None:
        self._db = db
        db.define(_TABLE)

    def register(
        self, server: str, client_id: str, secret: str | None, redirects: Iterable[str]
    ) -> None:
        """Register a client, in place of what it was registered as before."""
        self._db.run(
            "INSERT OR REPLACE INTO oauth_client (server, id, secret, redirects)"
            " VALUES (?, ?, ?, ?)",
            server,
            client_id,
            None if secret is None else _hash(secret),
            json.dumps(list(redirects)),
        )

    def find(self, server: str, client_id: str) -> RegisteredClient | None:
        """Return a registration."""
        row = self._db.row(
            "SELECT secret, redirects FROM oauth_client WHERE server = ? AND id = ?",
            server,
            client_id,
        )
        if row is None:
            return None
        return RegisteredClient(
            id=client_id,
            digest=None if row[0] is None else str(row[0]),
            redirects=tuple(json.loads(str(row[1]))),
        )


def _same_but_port(registered: str, uri: str) -> bool:
    one, other = urlsplit(registered), urlsplit(uri)
    if one.hostname not in _LOOPBACK or one.scheme != "http" or other.fragment:
        return False
    plain = f"{other.hostname}" in other.netloc and "@" not in other.netloc
    return plain and (one.scheme, one.hostname, one.path, one.query) == (
        other.scheme,
        other.hostname,
        other.path,
        other.query,
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
