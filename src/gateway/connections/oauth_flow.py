"""
OAuth consent for a connection: from the authorization URL to stored tokens.

An attempt is a row with the sealed PKCE verifier; `state` is its sealed id. The callback deletes
the row, so a state is valid once, for a limited time and for one connection; expired rows are
swept. Tokens of another account than the connection's are refused. See
docs/spec/management.md#reconnecting-an-account.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlmodel import col, delete

from gateway.auth import tokens
from gateway.connections import rows as connection_rows
from gateway.connections.oauth_servers import EXTRA_PARAMS, LOGIN_HINT_PROVIDERS, scopes_of
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow, OAuthAttempt
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code
from providers.failures import NeedsReauth, ProviderFailure
from providers.oauth.credentials import Pkce, Tokens, authorize_url

CONSENT_LIFETIME_MS = 15 * 60 * 1000
_CONTEXT = b"oauth state"


class ConsentFailed(Exception):
    """The consent failed; the message is for the person who gave it."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True)
class PendingConsent:
    """A consent that was begun: the URL to open, and its expiry in milliseconds."""

    authorize_url: str
    expires_at: int


class OAuthFlow:
    """Starts and finishes consents. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        endpoints: TokenEndpoints,
        *,
        forget: Callable[[int], None] = lambda _connection: None,
        clock: timestamps.ClockMs = timestamps.now_ms,
    ) -> None:
        """*forget* drops the cached state of a connection that changed."""
        self._database = database
        self._keyring = keyring
        self._endpoints = endpoints
        self._forget = forget
        self._clock = clock

    async def start(self, connection_id: int, *, redirect_uri: str) -> PendingConsent:
        """
        Start a consent.

        Raises:
            NotFound: There is no such connection.
            InvalidInput: It is app-only, or this deployment has no client for its provider.
        """
        now = self._clock()
        pkce, attempt_id = Pkce.new(), secrets.token_urlsafe(32)
        secret = {"verifier": pkce.verifier, "redirectUri": redirect_uri}
        async with self._database.writing() as session:
            row = await session.get(ConnectionRow, connection_id)
            if row is None:
                raise NotFound("There is no such connection.", code=Code.CONNECTION_NOT_FOUND)
            server = self._endpoints.authorization_server(row.provider)
            if server is None or row.mode == "selected_sites":
                raise InvalidInput(
                    "This connection is not made by consent: it is app-only, or the deployment "
                    "has no OAuth client for its provider.",
                    code=Code.INVALID_REQUEST,
                )
            session.add(
                OAuthAttempt(
                    id=attempt_id,
                    connection_id=connection_id,
                    secret=self._keyring.encrypt(orjson.dumps(secret), place=_place(attempt_id)),
                    expires_at=now + CONSENT_LIFETIME_MS,
                )
            )
        hint = {"login_hint": row.account_email} if row.provider in LOGIN_HINT_PROVIDERS else {}
        url = authorize_url(
            server.url,
            client_id=server.client_id,
            redirect_uri=redirect_uri,
            scopes=_scopes(row),
            state=self._keyring.seal(f"{connection_id}.{attempt_id}".encode(), context=_CONTEXT),
            challenge=pkce.challenge,
            extra={**EXTRA_PARAMS.get(row.provider, {}), **hint},
        )
        return PendingConsent(url, now + CONSENT_LIFETIME_MS)

    async def finish(self, params: Mapping[str, str]) -> ConnectionRow:
        """
        Finish a consent with the query parameters of the redirect URI.

        Returns:
            The connection, active again unless an operator disabled it.

        Raises:
            ConsentFailed: The state is invalid, or the person or the provider refused.
            StorageUnavailable: Nothing was stored.
        """
        connection_id, attempt_id = self._read_state(params.get("state", ""))
        row, secret = await self._take_attempt(connection_id, attempt_id)
        if "code" not in params:
            raise ConsentFailed("Access was not granted. Nothing has changed.")
        try:
            granted = await self._endpoint(row).exchange(
                params["code"], redirect_uri=secret["redirectUri"], verifier=secret["verifier"]
            )
        except NeedsReauth:
            raise ConsentFailed(
                "The provider did not accept this consent. Please try again."
            ) from None
        except ProviderFailure as failure:
            raise ConsentFailed(failure.message, status=502) from failure
        return await self.accept(row, granted)

    async def accept(self, row: ConnectionRow, granted: Tokens) -> ConnectionRow:
        """
        Store the tokens of a consent in the connection of *row*.

        Raises:
            ConsentFailed: They belong to another account, or the connection was removed.
        """
        try:
            account = granted.account or await self._endpoints.signed_in_account(
                row.provider, granted
            )
        except ProviderFailure as failure:
            raise ConsentFailed(failure.message, status=502) from failure
        if account is None or account.casefold() != row.account_email.casefold():
            raise ConsentFailed(
                f"You signed in with another account than {row.account_email}. "
                "Nothing has changed.",
                status=403,
            )
        async with self._database.writing() as session:
            stored = await session.get(ConnectionRow, row.id, with_for_update=True)
            if stored is None:
                raise ConsentFailed("This connection was removed meanwhile.", status=404)
            connection_rows.replace(stored, _credentials(granted), self._keyring)
            stored.granted_scopes = list(granted.scopes or _scopes(row))
            stored.can_write = connection_rows.can_write(stored.granted_scopes)
            if stored.status != "disabled":
                stored.status, stored.status_detail = "active", None
            stored.updated_at = stored.last_ok_at = self._clock()
            session.add(stored)
            await tokens.bump_policy_rev(session, [stored.resource_id])
        self._forget(stored.id or 0)
        return stored

    async def sweep(self) -> int:
        """
        Delete expired attempts; return how many.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        expired = delete(OAuthAttempt).where(col(OAuthAttempt.expires_at) <= self._clock())
        async with self._database.writing() as session:
            return (await session.exec(expired)).rowcount

    def _read_state(self, state: str) -> tuple[int, str]:
        try:
            opened = self._keyring.unseal(state, context=_CONTEXT).decode()
            connection_id, _, attempt_id = opened.partition(".")
            return int(connection_id), attempt_id
        except ValueError:
            raise ConsentFailed("This address is not one of ours.") from None

    async def _take_attempt(
        self, connection_id: int, attempt_id: str
    ) -> tuple[ConnectionRow, dict[str, str]]:
        """Delete the attempt; return its connection and its decrypted secret."""
        async with self._database.writing() as session:
            attempt = await session.get(OAuthAttempt, attempt_id, with_for_update=True)
            row = await session.get(ConnectionRow, connection_id)
            if attempt is not None:
                await session.delete(attempt)
        if (
            attempt is None
            or row is None
            or attempt.connection_id != connection_id
            or attempt.expires_at <= self._clock()
        ):
            raise ConsentFailed(
                "This consent was used already, or took too long. Please start again."
            )
        secret: dict[str, str] = orjson.loads(
            self._keyring.decrypt(attempt.secret, place=_place(attempt_id))
        )
        return row, secret

    def _endpoint(self, row: ConnectionRow) -> Any:
        endpoint = self._endpoints.token_endpoint(row.id or 0, row.provider, {})
        if endpoint is None:
            raise ConsentFailed("This deployment has no OAuth client for the provider.", status=409)
        return endpoint


def _scopes(row: ConnectionRow) -> tuple[str, ...]:
    """Return the scopes to ask for: no writes if the connection had none; a new one may write."""
    writing = row.can_write or not row.granted_scopes
    return scopes_of(row.kind, row.provider, writing=writing)


def _credentials(granted: Tokens) -> dict[str, Any]:
    expires = None if granted.expires_at is None else timestamps.to_ms(granted.expires_at)
    credentials = {
        "accessToken": granted.access_token,
        "refreshToken": granted.refresh_token,
        "expiresAt": expires,
    }
    return {name: value for name, value in credentials.items() if value is not None}


def _place(attempt_id: str) -> str:
    return f"oauth_attempts:{attempt_id}:secret"
