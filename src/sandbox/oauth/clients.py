"""
Clients registered with the authorization servers; the database holds hashes of their secrets only.

A registered client must show its secret and use its redirect URIs. An unregistered client may
refresh tokens (the vendors' own clients bring their own names) but cannot ask a user for consent.
"""

import hashlib
import hmac
import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sandbox.storage.database import Database

_TABLE = """CREATE TABLE IF NOT EXISTS oauth_client (
    server TEXT NOT NULL, id TEXT NOT NULL, secret TEXT, redirects TEXT NOT NULL,
    PRIMARY KEY (server, id)) STRICT"""
_EXPIRED = "expired:"  # before the hash of a secret that has expired


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredClient:
    """
    A registered client.

    Attributes:
        secret_hash: SHA-256 of the secret, in hexadecimal; None for a public client, which proves
            itself by PKCE alone.
        is_expired: Whether the secret has expired.
    """

    id: str
    secret_hash: str | None = field(repr=False)
    redirect_uris: tuple[str, ...]
    is_expired: bool = False

    def has_secret(self, secret: str) -> bool:
        """Whether *secret* is the client's; True for any secret of a public client."""
        return self.secret_hash is None or hmac.compare_digest(self.secret_hash, _hash(secret))

    def allows_redirect(self, uri: str, *, any_port_of: Container[str]) -> bool:
        """Whether *uri* is registered; the port of hosts in *any_port_of* may differ (RFC 8252)."""
        return uri in self.redirect_uris or any(
            _equal_except_port(registered, uri)
            for registered in self.redirect_uris
            if urlsplit(registered).hostname in any_port_of
        )


class ClientRegistry:
    """The registered clients of every authorization server (`provider-a`, `tasks`, …)."""

    def __init__(self, db: Database) -> None:
        self._db = db
        db.define(_TABLE)

    def register(
        self, server: str, client_id: str, secret: str | None, redirect_uris: Iterable[str]
    ) -> None:
        """Register a client, replacing an earlier registration; *secret* None: a public client."""
        self._db.run(
            "INSERT OR REPLACE INTO oauth_client (server, id, secret, redirects)"
            " VALUES (?, ?, ?, ?)",
            server,
            client_id,
            None if secret is None else _hash(secret),
            json.dumps(list(redirect_uris)),
        )

    def expire_secret(self, server: str, client_id: str) -> None:
        """Let the secret of a client expire, until the client is registered again."""
        self._db.run(
            "UPDATE oauth_client SET secret = ? || secret"
            " WHERE server = ? AND id = ? AND secret NOT LIKE ? || '%'",
            *(_EXPIRED, server, client_id, _EXPIRED),
        )

    def find(self, server: str, client_id: str) -> RegisteredClient | None:
        """Return the client of this id, None if it is not registered."""
        row = self._db.row(
            "SELECT secret, redirects FROM oauth_client WHERE server = ? AND id = ?",
            server,
            client_id,
        )
        if row is None:
            return None
        stored = None if row[0] is None else str(row[0])
        return RegisteredClient(
            id=client_id,
            secret_hash=None if stored is None else stored.removeprefix(_EXPIRED),
            redirect_uris=tuple(json.loads(str(row[1]))),
            is_expired=stored is not None and stored.startswith(_EXPIRED),
        )


def _equal_except_port(registered: str, uri: str) -> bool:
    expected, actual = urlsplit(registered), urlsplit(uri)
    if expected.scheme != "http" or actual.fragment:
        return False
    if f"{actual.hostname}" not in actual.netloc or "@" in actual.netloc:
        return False
    return (expected.scheme, expected.hostname, expected.path, expected.query) == (
        actual.scheme,
        actual.hostname,
        actual.path,
        actual.query,
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
