"""
Service accounts of provider A, and the delegation of a domain to them (RFC 7523).

See docs/spec/upstream/oauth.md#delegation.
"""

import base64
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from sandbox.oauth.authorization_server import OAuthError
from sandbox.storage.database import Database

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TABLE = """CREATE TABLE IF NOT EXISTS service_account (
    email TEXT PRIMARY KEY, public_key TEXT NOT NULL, scopes TEXT NOT NULL) STRICT"""
_MAX_SECONDS = 3600
_SKEW_SECONDS = 300
_BAD_TIMES = (
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
    "Check your iat and exp values in the JWT claim."
)


@dataclass(frozen=True, slots=True)
class Delegated:
    """
    The content of a right assertion.

    Attributes:
        issuer: The service account.
        subject: The address of the person for whom it acts; "": it acts for itself.
    """

    issuer: str
    subject: str
    scopes: tuple[str, ...]


class ServiceAccounts:
    """The service accounts, each with the scopes that the domain delegates to it."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._db = db
        self._clock = clock
        db.define(_TABLE)

    def register(self, email: str, public_key: str, scopes: Iterable[str]) -> None:
        """Register a service account with its key (PEM); no *scopes*: nothing is delegated."""
        self._db.run(
            "INSERT OR REPLACE INTO service_account (email, public_key, scopes) VALUES (?, ?, ?)",
            email,
            public_key,
            json.dumps(list(scopes)),
        )

    def verify(self, assertion: str, *, audience: str) -> Delegated:
        """
        Return what a signed assertion asks for.

        Raises:
            OAuthError: Signature, audience, times or scopes are not right.
        """
        header, claims, signed, signature = _parts(assertion)
        row = self._db.row(
            "SELECT public_key, scopes FROM service_account WHERE email = ?",
            str(claims.get("iss", "")),
        )
        if row is None:
            raise OAuthError("invalid_grant", "Invalid grant: account not found")
        if header.get("alg") != "RS256" or not _is_signed(str(row[0]), signed, signature):
            raise OAuthError("invalid_grant", "Invalid JWT Signature.")
        if claims.get("aud") != audience:
            raise OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
        self._check_times(claims.get("iat"), claims.get("exp"))
        scopes = str(claims.get("scope", "")).split()
        if not scopes:
            raise OAuthError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        subject = str(claims.get("sub", ""))
        if subject and not set(scopes) <= set(json.loads(str(row[1]))):
            raise OAuthError(
                "unauthorized_client",
                "Client is unauthorized to retrieve access tokens using this method, or client "
                "not authorized for any of the scopes requested.",
            )
        return Delegated(str(claims["iss"]), subject, tuple(scopes))

    def _check_times(self, issued: object, expires: object) -> None:
        now = self._clock()
        if not (isinstance(issued, int) and isinstance(expires, int)):
            raise OAuthError("invalid_grant", _BAD_TIMES)
        is_short = 0 < expires - issued <= _MAX_SECONDS
        if not is_short or issued > now + _SKEW_SECONDS or expires < now - _SKEW_SECONDS:
            raise OAuthError("invalid_grant", _BAD_TIMES)


def _parts(assertion: str) -> tuple[dict[str, object], dict[str, object], bytes, bytes]:
    try:
        header, claims, signature = assertion.split(".")
        read = [dict(json.loads(_decoded(part))) for part in (header, claims)]
        return read[0], read[1], f"{header}.{claims}".encode(), _decoded(signature)
    except (TypeError, ValueError):
        raise OAuthError("invalid_grant", "Bad Request") from None


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _is_signed(public_key: str, signed: bytes, signature: bytes) -> bool:
    key = serialization.load_pem_public_key(public_key.encode())
    if not isinstance(key, rsa.RSAPublicKey):
        return False
    try:
        key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True
