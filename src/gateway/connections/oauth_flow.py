"""
Connecting an account by consent: from an authorize URL to stored tokens. Decisions 3.

An attempt is a row with the proof key, sealed; `state` is its sealed name. Coming back takes the
row out, so a state is good once, until its time is up, and for its own connection alone; the rows
of those who never came back are swept. Tokens of another account than the connection's are refused.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlmodel import col, delete

from gateway.auth import tokens
from gateway.connections import rows as connection_rows
from gateway.connections.oauth_servers import EXTRA, HINTED, scopes_of
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow, OAuthAttempt
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code
from providers.failures import NeedsReauth, ProviderFailure
from providers.oauth.credentials import Pkce, Tokens, authorize_url

CONSENT_LIFETIME_MS = 15 * 60 * 1000  # milliseconds that a person has
_CONTEXT = b"oauth state"

Identify = Callable[[ConnectionRow, Tokens], Any]


class ConsentFailed(Exception):
    """The consent led to nothing; the message is for the person who gave it."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True)
class PendingConsent:
    """Where to send the person, and until when (milliseconds)."""

    authorize_url: str
    expires_at: int


class OAuthFlow:
    """Starts and ends consents. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        endpoints: TokenEndpoints,
        *,
        forget: Callable[[int], None] = lambda _connection: None,
        clock: Callable[[], int] = timestamps.now_ms,
    ) -> None:
        """*forget* drops what the process remembers of a connection that changed."""
        self._database = database
        self._keyring = keyring
        self._endpoints = endpoints
        self._forget = forget
        self._clock = clock

    async def start(self, connection_id: int, *, redirect_uri: str) -> PendingConsent:
        """
        Begin a consent.

        Raises:
            NotFound: No such connection.
            InvalidInput: It is app-only, or this deployment has no client for its provider.
        """
        now = self._clock()
        proof, name = Pkce.new(), secrets.token_urlsafe(32)
        secret = {"verifier": proof.verifier, "redirectUri": redirect_uri}
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
                    id=name,
                    connection_id=connection_id,
                    secret=self._keyring.encrypt(orjson.dumps(secret), place=_place(name)),
                    expires_at=now + CONSENT_LIFETIME_MS,
                )
            )
        hint = {"login_hint": row.account_email} if row.provider in HINTED else {}
        url = authorize_url(
            server.url,
            client_id=server.client_id,
            redirect_uri=redirect_uri,
            scopes=_wanted(row),
            state=self._keyring.seal(f"{connection_id}.{name}".encode(), context=_CONTEXT),
            challenge=proof.challenge,
            extra={**EXTRA.get(row.provider, {}), **hint},
        )
        return PendingConsent(url, now + CONSENT_LIFETIME_MS)

    async def finish(self, told: Mapping[str, str]) -> ConnectionRow:
        """
        End a consent with what the provider said to the redirect URI.

        Returns:
            The connection, active again unless an operator switched it off.

        Raises:
            FlowFailed: The state is not good, the person said no, or the provider did.
            StorageUnavailable: Nothing was stored.
        """
        connection_id, name = self._named(told.get("state", ""))
        row, secret = await self._taken(connection_id, name)
        if "code" not in told:
            raise ConsentFailed("Access was not granted. Nothing has changed.")
        try:
            got = await self._endpoint(row).exchange(
                told["code"], redirect_uri=secret["redirectUri"], verifier=secret["verifier"]
            )
        except NeedsReauth:
            raise ConsentFailed(
                "The provider did not accept this consent. Please try again."
            ) from None
        except ProviderFailure as failure:
            raise ConsentFailed(failure.message, status=502) from failure
        return await self.accept(row, got)

    async def accept(self, row: ConnectionRow, got: Tokens) -> ConnectionRow:
        """
        Store what a consent gave for the connection of *row*.

        Raises:
            FlowFailed: They are another account's, or the connection is gone.
        """
        try:
            account = got.account or await self._endpoints.signed_in_account(row.provider, got)
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
            connection_rows.replace(stored, _credentials(got), self._keyring)
            stored.granted_scopes = list(got.scopes or _wanted(row))
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
        Take out the attempts that nobody came back from in time; return how many.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        over = delete(OAuthAttempt).where(col(OAuthAttempt.expires_at) <= self._clock())
        async with self._database.writing() as session:
            return (await session.exec(over)).rowcount

    def _named(self, state: str) -> tuple[int, str]:
        try:
            number, _, name = self._keyring.unseal(state, context=_CONTEXT).decode().partition(".")
            return int(number), name
        except ValueError:
            raise ConsentFailed("This address is not one of ours.") from None

    async def _taken(self, connection_id: int, name: str) -> tuple[ConnectionRow, dict[str, str]]:
        async with self._database.writing() as session:
            attempt = await session.get(OAuthAttempt, name, with_for_update=True)
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
        opened: dict[str, str] = orjson.loads(
            self._keyring.decrypt(attempt.secret, place=_place(name))
        )
        return row, opened

    def _endpoint(self, row: ConnectionRow) -> Any:
        endpoint = self._endpoints.token_endpoint(row.id or 0, row.provider, {})
        if endpoint is None:
            raise ConsentFailed("This deployment has no OAuth client for the provider.", status=409)
        return endpoint


def _wanted(row: ConnectionRow) -> tuple[str, ...]:
    """Ask for no more than the connection had; a new one may write."""
    writing = row.can_write or not row.granted_scopes
    return scopes_of(row.kind, row.provider, writing=writing)


def _credentials(got: Tokens) -> dict[str, Any]:
    expires = None if got.expires_at is None else timestamps.to_ms(got.expires_at)
    given = {
        "accessToken": got.access_token,
        "refreshToken": got.refresh_token,
        "expiresAt": expires,
    }
    return {name: value for name, value in given.items() if value is not None}


def _place(name: str) -> str:
    return f"oauth_attempts:{name}:secret"
