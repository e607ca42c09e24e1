"""Authorization codes: valid once and for ten minutes; the database holds their hashes only."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.storage.database import Database

LIFETIME_SECONDS = 600.0  # RFC 6749, 4.1.2
_TABLE = """CREATE TABLE IF NOT EXISTS oauth_code (
    hash TEXT PRIMARY KEY, server TEXT NOT NULL, client TEXT NOT NULL, account TEXT NOT NULL,
    consent TEXT NOT NULL, expires REAL NOT NULL, used INTEGER NOT NULL) STRICT"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """
    A user's consent to a client's request.

    Attributes:
        client: The client's id.
        account: The user's mail address.
        challenge: PKCE challenge of method S256; "" if the client sent none.
        offline: Whether the client gets a refresh token.
        nonce: For the identity token; "" for none.
    """

    client: str
    account: str
    scopes: tuple[str, ...]
    redirect_uri: str
    challenge: str
    offline: bool
    nonce: str = ""

    def matches_verifier(self, verifier: str) -> bool:
        """Whether the challenge is the hash of *verifier*; without a challenge it must be ""."""
        if not self.challenge:
            return not verifier
        digest = hashlib.sha256(verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return secrets.compare_digest(challenge, self.challenge)


class AuthorizationCodes:
    """The authorization codes of every server."""

    def __init__(self, db: Database, *, clock: Callable[[], float]) -> None:
        """*clock* returns seconds since the epoch."""
        self._db = db
        self._clock = clock
        db.define(_TABLE)

    def issue(self, server: str, consent: Consent) -> str:
        """Create a code for *consent*."""
        code = f"sandbox-code-{secrets.token_urlsafe(32)}"
        details = (
            consent.scopes,
            consent.redirect_uri,
            consent.challenge,
            consent.offline,
            consent.nonce,
        )
        self._db.run(
            "INSERT INTO oauth_code (hash, server, client, account, consent, expires, used)"
            " VALUES (?, ?, ?, ?, ?, ?, 0)",
            _hash(code),
            server,
            consent.client,
            consent.account,
            json.dumps(details),
            self._clock() + LIFETIME_SECONDS,
        )
        return code

    def redeem(self, server: str, code: str) -> Consent | None:
        """Use up a code; None if it is unknown, used, expired or another server's."""
        with self._db.transaction():
            row = self._db.row(
                "SELECT client, account, consent FROM oauth_code"
                " WHERE hash = ? AND server = ? AND used = 0 AND expires > ?",
                _hash(code),
                server,
                self._clock(),
            )
            self._db.run("UPDATE oauth_code SET used = 1 WHERE hash = ?", _hash(code))
        if row is None:
            return None
        scopes, redirect_uri, challenge, offline, nonce = json.loads(str(row[2]))
        return Consent(
            client=str(row[0]),
            account=str(row[1]),
            scopes=tuple(scopes),
            redirect_uri=redirect_uri,
            challenge=challenge,
            offline=offline,
            nonce=nonce,
        )

    def has_consented(self, server: str, client: str, account: str) -> bool:
        """Whether the client got a code for this account before."""
        return bool(self._consents(server, client, account))

    def earlier_scopes(self, server: str, client: str, account: str) -> tuple[str, ...]:
        """Return every scope that the account granted the client before, oldest first."""
        consents = self._consents(server, client, account)
        return tuple(dict.fromkeys(scope for consent in consents for scope in consent))

    def _consents(self, server: str, client: str, account: str) -> list[list[str]]:
        rows = self._db.rows(
            "SELECT consent FROM oauth_code WHERE server = ? AND client = ? AND account = ?"
            " ORDER BY rowid",
            server,
            client,
            account,
        )
        return [json.loads(str(row[0]))[0] for row in rows]


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
