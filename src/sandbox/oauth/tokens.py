"""
The access and refresh tokens that the sandbox takes. Only their hashes are kept.

Upstreams are named ``providerA``, ``providerB``, ``collab``, ``tasks`` and ``projects``.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sandbox.storage.database import Database

UPSTREAMS = ("providerA", "providerB", "collab", "tasks", "projects", "oauth")

_SPELLINGS = {
    "providera": "providerA",
    "providerb": "providerB",
    "collab": "collab",
    "tasks": "tasks",
    "projects": "projects",
    "oauth": "oauth",
}
_TABLE = """CREATE TABLE IF NOT EXISTS token (
    hash TEXT PRIMARY KEY, kind TEXT NOT NULL, upstream TEXT NOT NULL, account TEXT NOT NULL,
    scopes TEXT NOT NULL, app_only INTEGER NOT NULL, expires REAL) STRICT"""


def parse_upstream(spelling: str) -> str | None:
    """Read ``provider-a`` or ``providerA`` as ``providerA``; None for what is no upstream."""
    return _SPELLINGS.get(spelling.replace("-", "").lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """
    What a token stands for.

    Attributes:
        account: Whose, as the issuer named it; an application's name when *app_only*.
        expires: Seconds since the epoch, None for never.
    """

    upstream: str
    account: str
    scopes: tuple[str, ...]
    app_only: bool = False
    expires: float | None = None


class TokenStore:
    """All tokens of one store."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._db = db
        self._clock = clock
        db.define(_TABLE)

    def issue(
        self,
        upstream: str,
        account: str,
        scopes: Iterable[str],
        *,
        app_only: bool = False,
        lifetime: float | None = None,
        text: str | None = None,
    ) -> str:
        """Make an access token that is good for *lifetime* seconds (None: for ever)."""
        expires = None if lifetime is None else self._clock() + lifetime
        grant = TokenGrant(
            upstream=upstream,
            account=account,
            scopes=tuple(scopes),
            app_only=app_only,
            expires=expires,
        )
        return self._keep("access", grant, text)

    def issue_refresh(self, upstream: str, account: str, scopes: Iterable[str]) -> str:
        """Make a refresh token."""
        grant = TokenGrant(upstream=upstream, account=account, scopes=tuple(scopes))
        return self._keep("refresh", grant)

    def read(self, upstream: str, token: str) -> TokenGrant | None:
        """Return what an access token stands for; None when unknown, expired or another's."""
        return self._read("access", upstream, token)

    def read_refresh(self, upstream: str, token: str) -> TokenGrant | None:
        """Return what a refresh token stands for; None when unknown or another's."""
        return self._read("refresh", upstream, token)

    def revoke(self, token: str) -> None:
        """Forget a token of either kind."""
        self._db.run("DELETE FROM token WHERE hash = ?", _hash(token))

    def revoke_all(self, upstream: str, account: str) -> None:
        """Forget every token of an account, as a withdrawn consent does."""
        self._db.run("DELETE FROM token WHERE upstream = ? AND account = ?", upstream, account)

    def _keep(self, kind: str, grant: TokenGrant, text: str | None = None) -> str:
        token = text or f"sandbox-{kind}-{secrets.token_urlsafe(32)}"
        self._db.run(
            "INSERT INTO token (hash, kind, upstream, account, scopes, app_only, expires)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            _hash(token),
            kind,
            grant.upstream,
            grant.account,
            json.dumps(grant.scopes),
            grant.app_only,
            grant.expires,
        )
        return token

    def _read(self, kind: str, upstream: str, token: str) -> TokenGrant | None:
        row = self._db.row(
            "SELECT account, scopes, app_only, expires FROM token"
            " WHERE hash = ? AND kind = ? AND upstream = ?",
            _hash(token),
            kind,
            upstream,
        )
        if row is None:
            return None
        account, scopes, app_only, expires = row
        if expires is not None and float(expires) <= self._clock():
            return None
        return TokenGrant(
            upstream=upstream,
            account=str(account),
            scopes=tuple(json.loads(str(scopes))),
            app_only=bool(app_only),
            expires=None if expires is None else float(expires),
        )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
