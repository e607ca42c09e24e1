"""
Access and refresh tokens of the sandbox's upstreams; the database holds their hashes only.

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

_BY_LOWER_CASE = {upstream.lower(): upstream for upstream in UPSTREAMS}
_TABLE = """CREATE TABLE IF NOT EXISTS token (
    hash TEXT PRIMARY KEY, kind TEXT NOT NULL, upstream TEXT NOT NULL, account TEXT NOT NULL,
    scopes TEXT NOT NULL, app_only INTEGER NOT NULL, expires REAL) STRICT"""
_ENDED_TABLE = (
    "CREATE TABLE IF NOT EXISTS ended_grant (hash TEXT PRIMARY KEY, why TEXT NOT NULL) STRICT"
)


def parse_upstream(spelling: str) -> str | None:
    """Return ``provider-a`` or ``providerA`` as ``providerA``; None for an unknown upstream."""
    return _BY_LOWER_CASE.get(spelling.replace("-", "").lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """
    The permissions of a token.

    Attributes:
        account: The user's address, or an application's name if *app_only*.
        expires: Seconds since the epoch; None for never.
    """

    upstream: str
    account: str
    scopes: tuple[str, ...]
    app_only: bool = False
    expires: float | None = None


class TokenStore:
    """The tokens of every upstream."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns seconds since the epoch."""
        self._db = db
        self._clock = clock
        db.define(_TABLE)
        db.define(_ENDED_TABLE)
        self.refresh_lifetime_seconds: float | None = None  # of consents of a client in testing

    def issue(
        self,
        upstream: str,
        account: str,
        scopes: Iterable[str],
        *,
        app_only: bool = False,
        lifetime_seconds: float | None = None,
        text: str | None = None,
    ) -> str:
        """
        Issue an access token.

        *lifetime_seconds* None: it never expires. *text* is the token itself, None: a random one.
        """
        lifetime = lifetime_seconds
        grant = TokenGrant(
            upstream=upstream,
            account=account,
            scopes=tuple(scopes),
            app_only=app_only,
            expires=None if lifetime is None else self._clock() + lifetime,
        )
        return self._insert("access", grant, text)

    def issue_refresh(self, upstream: str, account: str, scopes: Iterable[str]) -> str:
        """Issue a refresh token, which lives for `refresh_lifetime_seconds`."""
        lifetime = self.refresh_lifetime_seconds
        grant = TokenGrant(
            upstream=upstream,
            account=account,
            scopes=tuple(scopes),
            expires=None if lifetime is None else self._clock() + lifetime,
        )
        return self._insert("refresh", grant)

    def seconds_left(self, grant: TokenGrant) -> int | None:
        """Return the whole seconds until a grant expires; None for never."""
        return None if grant.expires is None else max(0, int(grant.expires - self._clock()))

    def end(self, upstream: str, account: str, why: str) -> None:
        """End what an account has granted, for a reason that its server tells in its own words."""
        self._db.run(
            "INSERT OR REPLACE INTO ended_grant SELECT hash, ? FROM token"
            " WHERE kind = 'refresh' AND upstream = ? AND account = ?",
            why,
            upstream,
            account,
        )
        self.revoke_all(upstream, account)

    def why_ended(self, token: str) -> str:
        """Return why the grant of a refresh token ended; "" when it was revoked, or never was."""
        row = self._db.row("SELECT why FROM ended_grant WHERE hash = ?", _hash(token))
        return "" if row is None else str(row[0])

    def read(self, upstream: str, token: str) -> TokenGrant | None:
        """Return the grant of an access token; None if unknown, expired or another upstream's."""
        return self._find("access", upstream, token)

    def read_refresh(self, upstream: str, token: str) -> TokenGrant | None:
        """Return the grant of a refresh token; None if unknown or another upstream's."""
        return self._find("refresh", upstream, token)

    def revoke(self, token: str) -> None:
        """Delete a token of either kind."""
        self._db.run("DELETE FROM token WHERE hash = ?", _hash(token))

    def revoke_all(self, upstream: str, account: str) -> None:
        """Delete every token of an account, as if its user had withdrawn the consent."""
        self._db.run("DELETE FROM token WHERE upstream = ? AND account = ?", upstream, account)

    def _insert(self, kind: str, grant: TokenGrant, text: str | None = None) -> str:
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

    def _find(self, kind: str, upstream: str, token: str) -> TokenGrant | None:
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
