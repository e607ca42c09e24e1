"""
Authorization URLs with PKCE, and the client of token endpoints.

The protocol of each provider: docs/spec/upstream/oauth.md.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import quote, urlencode

import msgspec

from providers.failures import Broken, Refused
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.oauth import refused_grants

REVOKE_SECONDS = 5.0  # an operator waits for it
MAX_BYTES = 256 * 1024  # of a response, which holds a few tokens


class BodyStyle(StrEnum):
    """Encoding of a token endpoint's requests."""

    FORM = "form"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Pkce:
    """Proof key (method S256): *verifier* stays here, *challenge* is sent with the user."""

    verifier: str = field(repr=False)

    @classmethod
    def new(cls) -> "Pkce":
        return cls(secrets.token_urlsafe(64))

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def authorize_url(  # noqa: PLR0913 - keyword-only, each a parameter of the URL
    endpoint: str,
    *,
    client_id: str,
    redirect_uri: str,
    scopes: tuple[str, ...],
    state: str,
    challenge: str,
    extra: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Build the URL a person opens to give consent; *extra* wins over the standard parameters."""
    parameters = {
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "response_type": "code",
        "scope": " ".join(scopes),
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        **extra,
    }
    sign = "&" if "?" in endpoint else "?"
    return endpoint + sign + urlencode(parameters, quote_via=quote)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """
    Result of a token request.

    Attributes:
        refresh_token: None: the present one stays valid.
        expires_at: UTC; None: unknown.
        refresh_expires_at: The end of the refresh token, UTC; None: unknown.
        scopes: The granted scopes; empty: unknown.
        account: Address or sign-in name of the person who signed in; None: unknown.
        account_id: What identifies this account at the provider for good; None: unknown.
    """

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None
    refresh_expires_at: datetime | None = None
    scopes: tuple[str, ...] = ()
    account: str | None = None
    account_id: str | None = None


class _Person(msgspec.Struct):
    email: str | None = None
    gid: str | None = None


class _TokenResponse(msgspec.Struct):
    access_token: str
    refresh_token: str | None = None
    expires_in: float | str | None = None
    refresh_token_expires_in: float | str | None = None
    scope: str | None = None
    id_token: str | None = None
    data: _Person | None = None


class _Claims(msgspec.Struct):
    exp: float | None = None
    preferred_username: str | None = None
    email: str | None = None
    email_verified: bool | None = None
    sub: str | None = None
    oid: str | None = None
    tid: str | None = None


class TokenEndpoint:
    """Client of a token endpoint."""

    def __init__(  # noqa: PLR0913 - keyword-only, one per fact of the registration
        self,
        origins: Origins,
        url: str,
        *,
        connection: int | str,
        client_id: str,
        client_secret: str | None = None,
        scope: str = "",
        style: BodyStyle = BodyStyle.FORM,
    ) -> None:
        """
        Bind to *url*.

        Args:
            origins: The process's clients.
            url: Of the token endpoint.
            connection: Key of the limits: calls with the same key share them.
            client_id: Our id at the provider; "": an assertion says it.
            client_secret: None: a public client.
            scope: Sent with every token request; empty: not sent.
            style: Encoding of the requests.

        Raises:
            ValueError: *url* is not an http(s) URL.
        """
        self._origins = origins
        self._clock = origins.clock
        self._upstream = Upstream(
            origins, url, connection=f"token:{connection}", name="tokens", concurrency=2
        )
        self._client = {"client_id": client_id} if client_id else {}
        if client_secret is not None:
            self._client["client_secret"] = client_secret
        self._scope = {"scope": scope} if scope else {}
        self._style = style

    async def refresh(self, refresh_token: str) -> Tokens:
        """
        Exchange a refresh token for an access token.

        Raises:
            NeedsReauth: The refresh token is no longer good.
            ClientRefused: Our id or secret is refused.
            ProviderFailure: The endpoint failed.
        """
        grant = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await self._request({**grant, **self._scope})

    async def exchange(self, code: str, *, redirect_uri: str, verifier: str) -> Tokens:
        """Exchange an authorization code for tokens; raises as `refresh`."""
        grant = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        return await self._request({**grant, **self._scope})

    async def device(self, device_code: str) -> Tokens | None:
        """Exchange a device code for tokens; None while the person has not signed in."""
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        try:
            return await self._request({"grant_type": grant, "device_code": device_code})
        except Refused as refused:
            if refused.word not in {"authorization_pending", "slow_down"}:
                raise
            return None

    async def client_credentials(self) -> Tokens:
        """Request a token of the client itself; raises as `refresh`."""
        return await self._request({"grant_type": "client_credentials", **self._scope})

    async def jwt_bearer(self, assertion: str) -> Tokens:
        """Exchange a signed assertion (RFC 7523) for a token; raises as `refresh`."""
        grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        return await self._request({"grant_type": grant, "assertion": assertion})

    async def revoke(self, url: str, token: str) -> None:
        """
        Revoke *token* at *url*, the revocation endpoint (RFC 7009).

        Raises:
            ProviderFailure: The endpoint failed or refused; not for a token that is revoked
                already.
        """
        upstream = Upstream(self._origins, url, connection="revoke", name="tokens")
        response = await upstream.call(
            "POST",
            content=urlencode({"token": token, **self._client}).encode("ascii"),
            headers={"content-type": "application/x-www-form-urlencoded"},
            deadline=REVOKE_SECONDS,
            max_bytes=MAX_BYTES,
            accept=(400,),
        )
        if response.status == 400 and refused_grants.read(response).error != "invalid_token":
            upstream.collect(response)
            raise Refused(status=400)

    async def _request(self, grant: Mapping[str, str]) -> Tokens:
        body = {**grant, **self._client}
        if self._style is BodyStyle.JSON:
            kind, content = "application/json", msgspec.json.encode(body)
        else:
            kind, content = "application/x-www-form-urlencoded", urlencode(body).encode("ascii")
        response = await self._upstream.call(
            "POST",
            content=content,
            headers={"content-type": kind},
            max_bytes=MAX_BYTES,
            changes=False,  # dry runs renew tokens too: no content of the account changes
            accept=(400, 401, 403),
        )
        if response.status != 200:
            self._upstream.collect(response)
            raise refused_grants.failure_of(response)
        granted = response.decode(_TokenResponse)
        if not granted.access_token:
            raise Broken
        return Tokens(
            access_token=granted.access_token,
            refresh_token=granted.refresh_token or None,
            expires_at=self._expiry(granted),
            refresh_expires_at=self._moment_in(granted.refresh_token_expires_in),
            scopes=tuple((granted.scope or "").replace(",", " ").split()),
            account=_account(granted),
            account_id=_account_id(granted),
        )

    def _expiry(self, granted: _TokenResponse) -> datetime | None:
        """Return the expiry that the response names, or else the claim of a JWT access token."""
        try:
            if granted.expires_in is not None:
                return self._moment_in(granted.expires_in)
            seconds = _claimed_expiry(granted.access_token)
            return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        except (ValueError, OverflowError, OSError):
            raise Broken from None

    def _moment_in(self, seconds: float | str | None) -> datetime | None:
        """Return the time after *seconds*; None for None."""
        if seconds is None:
            return None
        try:
            now = datetime.fromtimestamp(self._clock.now(), UTC)
            return now + timedelta(seconds=float(seconds))
        except (ValueError, OverflowError):
            raise Broken from None


def _claimed_expiry(token: str) -> float | None:
    claims = _claims(token)
    return None if claims is None else claims.exp


def _account(granted: _TokenResponse) -> str | None:
    """
    Return the address of the person who signed in.

    A JWT's `email` counts only when it is verified: its owner may have entered any address.
    """
    if granted.data is not None:
        return granted.data.email
    claims = None if granted.id_token is None else _claims(granted.id_token)
    if claims is None:
        return None
    return claims.preferred_username or (claims.email if claims.email_verified else None)


def _account_id(granted: _TokenResponse) -> str | None:
    """Return the id of the account: Microsoft's tenant and object id, else the subject."""
    if granted.data is not None:
        return granted.data.gid
    claims = None if granted.id_token is None else _claims(granted.id_token)
    if claims is None:
        return None
    return f"{claims.tid}/{claims.oid}" if claims.tid and claims.oid else claims.sub


def _claims(token: str) -> _Claims | None:
    """Decode the claims of a JWT without verifying it: it comes from its issuer itself."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(claims, type=_Claims)
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
