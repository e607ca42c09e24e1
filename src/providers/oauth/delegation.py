"""
Tokens of a person, for a service account to which the person's domain delegates (RFC 7523).

The service account signs for whom it acts; no person consents. See
docs/spec/upstream/oauth.md#delegation. One that acts for nobody has tokens of its own.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from providers.catalogue.causes import Cause
from providers.failures import ClientRefused, NeedsReauth
from providers.http.origins import Origins
from providers.oauth.token_endpoint import TokenEndpoint, Tokens

NOT_DELEGATED = (
    "The domain does not delegate these scopes to the service account: an administrator of the "
    "domain must allow its client id exactly these scopes."
)
_LIFETIME_SECONDS = 600  # at most 3600; an assertion is used at once
_MIN_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccount:
    """
    The key of a service account, and whom it acts for.

    Attributes:
        email: The service account's.
        private_key: An RSA key, PEM.
        key_id: The key's id at the provider; "": unknown.
        subject: The address of the person; "": it acts for itself.
    """

    email: str
    private_key: str = field(repr=False)
    key_id: str
    subject: str


def private_key(pem: str) -> rsa.RSAPrivateKey:
    """Return the RSA key of at least 2,048 bits in *pem*; raises ValueError for anything else."""
    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (TypeError, ValueError) as failure:
        raise ValueError("not a private key") from failure
    if not isinstance(key, rsa.RSAPrivateKey) or key.key_size < _MIN_BITS:
        raise ValueError("not an RSA key of at least 2048 bits")
    return key


class DelegatedEndpoint(TokenEndpoint):
    """A token endpoint that issues tokens of a person for signed assertions."""

    def __init__(
        self,
        origins: Origins,
        url: str,
        *,
        connection: int | str,
        account: ServiceAccount,
        scopes: Sequence[str],
    ) -> None:
        """Request *scopes* for the person of *account*; the other arguments as `TokenEndpoint`."""
        super().__init__(origins, url, connection=connection, client_id="")
        self._account = account
        self._audience = url
        self._scopes = " ".join(scopes)

    async def client_credentials(self) -> Tokens:
        """
        Request a token.

        Raises:
            ClientRefused: The domain does not delegate the scopes to the service account.
            NeedsReauth: The key was deleted, or the person is unknown or disabled.
            ProviderFailure: The endpoint failed.
        """
        try:
            return await self.jwt_bearer(self._assertion())
        except ClientRefused:
            raise ClientRefused(NOT_DELEGATED) from None
        except NeedsReauth as failure:
            blocked = failure.cause is Cause.ACCOUNT_BLOCKED
            raise NeedsReauth(cause=failure.cause if blocked else Cause.TOKEN_REFUSED) from None

    def _assertion(self) -> str:
        now = int(self._clock.now())
        header = {"alg": "RS256", "typ": "JWT"}
        if self._account.key_id:
            header["kid"] = self._account.key_id
        claims = {
            "iss": self._account.email,
            **({"sub": self._account.subject} if self._account.subject else {}),
            "scope": self._scopes,
            "aud": self._audience,
            "iat": now,
            "exp": now + _LIFETIME_SECONDS,
        }
        signed = f"{_encoded(header)}.{_encoded(claims)}"
        key = private_key(self._account.private_key)
        signature = key.sign(signed.encode("ascii"), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64url(signature)}"


def _encoded(part: object) -> str:
    return _base64url(msgspec.json.encode(part))


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
