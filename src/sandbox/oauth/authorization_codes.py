"""The authorization codes of the sandbox's identity servers: one use, ten minutes, hashes alone."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.storage.database import Database

LIFETIME = 600.0  # seconds; RFC 6749, 4.1.2
_TABLE = """CREATE TABLE IF NOT EXISTS oauth_code (
    hash TEXT PRIMARY KEY, server TEXT NOT NULL, client TEXT NOT NULL, account TEXT NOT NULL,
    consent TEXT NOT NULL, expires REAL NOT NULL, used INTEGER NOT NULL) STRICT"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """
    What a person agreed to.

    Attributes:
        challenge: Of PKCE, method S256; empty: the client sent none.
        offline: Whether a refresh token is to be given.
        nonce: For the identity token; empty: none.
    """

    client: str
    account: str
    scopes: tuple[str, ...]
    redirect_uri: str
    challenge: str
    offline: bool
    nonce: str = ""

    def proved_by(self, verifier: str) -> bool:
        """Whether *verifier* is the one that the challenge was made of."""
        if not self.challenge:
            return not verifier
        digest = hashlib.sha256(verifier.encode()).digest()
        made = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return secrets.compare_digest(made, self.challenge)


class AuthorizationCodes:
    """All codes of one store."""

    def __init__(self, db: Database, *, clock: Callable[[], float]) -> None:
        self._db = db
        self._clock = clock
        db.define(_TABLE)

    def issue(self, server: str, consent: Consent) -> str:
        """Make a code."""
        code = f"sandbox-code-{secrets.token_urlsafe(32)}"
        self._db.run(
            "INSERT INTO oauth_code (hash, server, client, account, consent, expires, used)"
            " VALUES (?, ?, ?, ?, ?, ?, 0)",
            _hash(code),
            server,
            consent.client,
            consent.account,
            json.dumps(
                [
                    consent.scopes,
                    consent.redirect_uri,
                    consent.challenge,
                    consent.offline,
                    consent.nonce,
                ]
            ),
            self._clock() + LIFETIME,
        )
        return code

    def take(self, server: str, code: str) -> Consent | None:
        """Use a code up; None when it is unknown, used, too old or another server's."""
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

    def consented(self, server: str, client: str, account: str) -> bool:
        """Whether a code for this account was given to the client before."""
        found = self._db.row(
            "SELECT 1 FROM oauth_code WHERE server = ? AND client = ? AND account = ?",
            server,
            client,
            account,
        )
        return found is not None


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
