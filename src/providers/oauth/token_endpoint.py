"""
OAuth on the wire: authorize URLs with PKCE, and the token endpoint in both body styles.

Source: reference, wire protocols, 3.
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

from providers.failures import Broken, NeedsReauth, ProviderFailure, Refused
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.http.response import Response

# What the provider says when only a person can help.
_FINAL = frozenset(
    {
        "invalid_grant",
        "interaction_required",
        "consent_required",
        "login_required",
        "access_denied",
        "authorization_declined",
        "expired_token",
    }
)

# What an authorize URL says besides the standard, by the connection's provider.
OFFLINE_BY_ACCESS_TYPE: Mapping[str, str] = MappingProxyType(
    {"access_type": "offline", "prompt": "consent", "include_granted_scopes": "true"}
)
OFFLINE_BY_SCOPE: Mapping[str, str] = MappingProxyType({"response_mode": "query"})


class BodyStyle(StrEnum):
    """How a token endpoint wants to be asked."""

    FORM = "form"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Pkce:
    """A proof key: *verifier* stays with us, *challenge* goes with the user (method S256)."""

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
    What a token endpoint gave.

    Attributes:
        refresh_token: None: the one we have stays valid.
        expires_at: UTC; None: not said.
        scopes: What was granted; empty: not said.
        account: The address of who signed in; None: not said.
    """

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None
    scopes: tuple[str, ...] = ()
    account: str | None = None


class _Person(msgspec.Struct):
    email: str | None = None


class _Granted(msgspec.Struct):
    access_token: str
    refresh_token: str | None = None
    expires_in: float | str | None = None
    scope: str | None = None
    id_token: str | None = None
    data: _Person | None = None


class _Denied(msgspec.Struct):
    error: str = ""


class _Claims(msgspec.Struct):
    exp: float | None = None
    preferred_username: str | None = None
    email: str | None = None
    email_verified: bool | None = None


class TokenEndpoint:
    """One client's door to a token endpoint."""

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
            connection: Calls under one identity share limits.
            client_id: Ours.
            client_secret: None: a public client.
            scope: Sent with refreshes where the provider wants it; empty: not sent.
            style: Of the request body.

        Raises:
            ValueError: *url* is not an http(s) URL.
        """
        self._clock = origins.clock
        self._upstream = Upstream(
            origins, url, connection=f"token:{connection}", name="tokens", concurrency=2
        )
        self._client = {"client_id": client_id}
        if client_secret is not None:
            self._client["client_secret"] = client_secret
        self._scope = {"scope": scope} if scope else {}
        self._style = style

    async def refresh(self, refresh_token: str) -> Tokens:
        """
        Trade a refresh token for an access token.

        Raises:
            NeedsReauth: The refresh token is no longer good.
            ProviderFailure: The endpoint did not answer as it should.
        """
        grant = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await self._ask({**grant, **self._scope})

    async def exchange(self, code: str, *, redirect_uri: str, verifier: str) -> Tokens:
        """Trade the code of a consent for tokens; raises as `refresh` does."""
        grant = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        return await self._ask({**grant, **self._scope})

    async def device(self, device_code: str) -> Tokens | None:
        """Trade a device code for tokens; None while the person has not answered."""
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        try:
            return await self._ask({"grant_type": grant, "device_code": device_code})
        except Refused as refused:
            if refused.word not in {"authorization_pending", "slow_down"}:
                raise
            return None

    async def client_credentials(self) -> Tokens:
        """Ask in our own name; raises as `refresh` does."""
        return await self._ask({"grant_type": "client_credentials", **self._scope})

    async def _ask(self, grant: Mapping[str, str]) -> Tokens:
        body = {**grant, **self._client}
        if self._style is BodyStyle.JSON:
            kind, content = "application/json", msgspec.json.encode(body)
        else:
            kind, content = "application/x-www-form-urlencoded", urlencode(body).encode("ascii")
        answer = await self._upstream.call(
            "POST",
            content=content,
            headers={"content-type": kind},
            changes=False,  # of the account's content: a token is renewed for reads as well
            accept=(400, 401, 403),
        )
        if answer.status != 200:
            raise _denied(answer)
        granted = answer.decode(_Granted)
        if not granted.access_token:
            raise Broken
        return Tokens(
            access_token=granted.access_token,
            refresh_token=granted.refresh_token or None,
            expires_at=self._expiry(granted),
            scopes=tuple((granted.scope or "").split()),
            account=_account(granted),
        )

    def _expiry(self, granted: _Granted) -> datetime | None:
        """Read the lifetime where it is said, or the token itself where it is a JWT."""
        try:
            if granted.expires_in is not None:
                now = datetime.fromtimestamp(self._clock.now(), UTC)
                return now + timedelta(seconds=float(granted.expires_in))
            seconds = _claimed_expiry(granted.access_token)
            return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        except (ValueError, OverflowError, OSError):
            raise Broken from None


def _denied(answer: Response) -> ProviderFailure:
    try:
        word = answer.decode(_Denied).error
    except Broken:
        word = ""
    if word in _FINAL:
        return NeedsReauth()
    return Refused(status=answer.status, word=word)


def _claimed_expiry(token: str) -> float | None:
    claims = _claims(token)
    return None if claims is None else claims.exp


def _account(granted: _Granted) -> str | None:
    """
    Read who signed in.

    An address in `email` counts when the provider vouches for it alone: elsewhere its owner may
    have written there what they like.
    """
    if granted.data is not None:
        return granted.data.email
    claims = None if granted.id_token is None else _claims(granted.id_token)
    if claims is None:
        return None
    return claims.preferred_username or (claims.email if claims.email_verified else None)


def _claims(token: str) -> _Claims | None:
    """Read a JWT, unverified: it comes straight from who made it, or upstream checks it."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(claims, type=_Claims)
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
