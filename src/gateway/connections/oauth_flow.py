"""
OAuth consent for a connection: from the authorization URL to stored tokens.

An attempt is a row with the sealed PKCE verifier; `state` is its sealed id. The callback deletes
the row, so a state is valid once, for a limited time and for one connection; expired rows are
swept. Tokens of another account than the connection's are refused. See
docs/spec/management.md#reconnecting-an-account.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import orjson
from sqlalchemy import select
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import tokens
from gateway.connections import rows as connection_rows
from gateway.connections import shared
from gateway.connections.oauth_servers import AuthorizationServer, missing_scopes, scopes_of
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.provider_settings import client_variables
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.cleanup import delete_in_slices
from gateway.store.clock import StatementClock, as_column
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow, OAuthAttempt
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code
from providers.catalogue.causes import Cause
from providers.catalogue.tables import CONSENTS
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


class PendingConsent(msgspec.Struct, frozen=True):
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
        clock: StatementClock | None = None,
    ) -> None:
        """
        Keep what a consent needs.

        *forget* drops the cached state of a connection that changed. *clock* is the database's;
        tests have their own.
        """
        self._database = database
        self._keyring = keyring
        self._endpoints = endpoints
        self._forget = forget
        self._now = clock or database.clock.now

    @retried
    async def start(
        self, connection_id: int, *, redirect_uri: str, link: str | None = None
    ) -> PendingConsent:
        """
        Start a consent.

        *link* is the id of the one-time link that asks for it and ends with it. Its holder is not
        told the account's address: `login_hint` would.

        Raises:
            NotFound: There is no such connection.
            InvalidInput: It is app-only, or this deployment has no client for its provider.
        """
        pkce, attempt_id = Pkce.new(), secrets.token_urlsafe(32)
        secret = {"verifier": pkce.verifier, "redirectUri": redirect_uri, "link": link}
        async with self._database.writing() as session:
            row = await session.get(ConnectionRow, connection_id)
            if row is None:
                raise NotFound("There is no such connection.", code=Code.CONNECTION_NOT_FOUND)
            server = self.require_consent(row)
            expires_at = await self._read_time(session) + CONSENT_LIFETIME_MS
            scopes = scopes_to_ask(row, has_shared=await shared.are_on(session, row.id))
            session.add(
                OAuthAttempt(
                    id=attempt_id,
                    connection_id=connection_id,
                    secret=self._keyring.encrypt(
                        orjson.dumps(secret), context=_context(attempt_id)
                    ),
                    expires_at=expires_at,
                )
            )
        consent = CONSENTS[row.provider]
        hint = {"login_hint": row.account_email} if consent.login_hint and link is None else {}
        url = authorize_url(
            server.url,
            client_id=server.client_id,
            redirect_uri=redirect_uri,
            scopes=scopes,
            state=self._keyring.seal(f"{connection_id}.{attempt_id}".encode(), context=_CONTEXT),
            challenge=pkce.challenge,
            extra={**consent.parameters, **hint},
        )
        return PendingConsent(url, expires_at)

    def require_consent(self, row: ConnectionRow) -> AuthorizationServer:
        """
        Return the authorization server where the owner of a connection consents.

        Raises:
            InvalidInput: It is app-only or uses another connection's consent, or this deployment
                has no client for its provider.
        """
        if row.shared_on is not None:
            raise InvalidInput(
                f"This connection uses the consent of connection {row.shared_on}: reconnect that "
                "one.",
                code=Code.INVALID_REQUEST,
            )
        server = self._endpoints.authorization_server(row.provider)
        if row.mode == "selected_sites":
            raise InvalidInput(
                "This connection is app-only: it has no owner who could consent.",
                code=Code.INVALID_REQUEST,
            )
        if server is None:
            raise InvalidInput(no_client_message(row.provider), code=Code.INVALID_REQUEST)
        return server

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
        return await self.accept(row, granted, link=secret.get("link"))

    @retried
    async def accept(
        self, row: ConnectionRow, granted: Tokens, *, link: str | None = None
    ) -> ConnectionRow:
        """
        Store the tokens of a consent in the connection of *row*; a one-time *link* ends with that.

        Raises:
            ConsentFailed: They belong to another account, lack a scope that the connection needs,
                the connection was removed, or the link was used meanwhile.
        """
        account_id = await self._check_account(row, granted, is_named=link is None)
        scopes = _granted_scopes(row, granted)
        if _missing(row, granted, writing=connection_rows.can_write(scopes)):
            missing = _missing(row, granted, writing=connection_rows.can_write(scopes_to_ask(row)))
            raise await self._lacks_scopes(row, missing)
        async with self._database.writing() as session:
            stored = await session.get(ConnectionRow, row.id, with_for_update=True)
            if stored is None:
                raise ConsentFailed("This connection was removed meanwhile.", status=404)
            if link is not None:
                await _use_up(session, link)
                note(session, "reconnectConnection", row.id)
            credentials = _credentials(granted)
            if account_id is not None:
                credentials["account"] = {"id": account_id, "email": row.account_email}
            connection_rows.replace(stored, credentials, self._keyring)
            stored.granted_scopes = list(scopes)
            stored.can_write = connection_rows.can_write(scopes)
            connection_rows.set_active(stored)
            stored.updated_at = stored.last_ok_at = timestamps.now_ms()
            session.add(stored)
            await shared.revive(session, stored.id)
            resources = await shared.resources_on(session, stored.id)
            await tokens.bump_policy_rev(session, [stored.resource_id, *resources])
        self._forget(stored.id or 0)
        return stored

    async def _check_account(
        self, row: ConnectionRow, granted: Tokens, *, is_named: bool
    ) -> str | None:
        """
        Check that the connection's account signed in; return its id if the provider names one.

        After a first consent the id decides: addresses and sign-in names change owners. At a first
        consent `accountEmail` must be the primary address, the sign-in name or an alias.

        Raises:
            ConsentFailed: It is another account, or the provider did not answer.
        """
        account_id, addresses = granted.account_id, {(granted.account or "").casefold()}
        email, bound_id = row.account_email.casefold(), self._bound_account(row)
        if account_id is None or (bound_id is None and email not in addresses):
            try:
                account = await self._endpoints.signed_in_account(row.kind, row.provider, granted)
            except ProviderFailure as failure:
                raise ConsentFailed(failure.message, status=502) from failure
            account_id = account.account_id
            addresses |= {address.casefold() for address in account.addresses}
        if email in addresses if bound_id is None else account_id == bound_id:
            return account_id
        expected = row.account_email if is_named else "the one that this link is for"
        raise ConsentFailed(
            f"You signed in with another account than {expected}. Nothing has changed.", status=403
        )

    def _bound_account(self, row: ConnectionRow) -> str | None:
        """Return the id stored at an earlier consent under the present `accountEmail`."""
        account = connection_rows.unseal(row, self._keyring).get("account", {})
        return account.get("id") if account.get("email") == row.account_email else None

    async def _lacks_scopes(self, row: ConnectionRow, missing: Sequence[str]) -> ConsentFailed:
        """Return the failure; a connection that has no credentials says in its status why."""
        detail = f"The consent does not include {', '.join(missing)}."
        if row.credentials is None:
            await connection_rows.set_status(
                self._database,
                row.id or 0,
                "needs_reauth",
                detail,
                cause=Cause.SCOPE_MISSING,
                seen=row.updated_at,
            )
            self._forget(row.id or 0)
        return ConsentFailed(
            f"{detail} Please try again and allow everything that is asked for.", status=403
        )

    @retried
    async def sweep(self) -> int:
        """
        Delete expired attempts; return how many. None while the clock is not trusted.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if not self._database.clock.is_trusted:
            return 0
        ends = col(OAuthAttempt.expires_at)
        return await delete_in_slices(self._database, OAuthAttempt, ends <= self._now(), by=ends)

    async def _read_time(self, session: AsyncSession) -> int:
        return int(await session.scalar(select(as_column(self._now()))) or 0)

    def _read_state(self, state: str) -> tuple[int, str]:
        try:
            opened = self._keyring.unseal(state, context=_CONTEXT).decode()
            connection_id, _, attempt_id = opened.partition(".")
            return int(connection_id), attempt_id
        except ValueError:
            raise ConsentFailed("This redirect was not started by this gateway.") from None

    @retried
    async def _take_attempt(
        self, connection_id: int, attempt_id: str
    ) -> tuple[ConnectionRow, dict[str, Any]]:
        """Delete the attempt; return its connection and its decrypted secret."""
        async with self._database.writing() as session:
            attempt = await session.get(OAuthAttempt, attempt_id, with_for_update=True)
            row = await session.get(ConnectionRow, connection_id)
            if attempt is not None:
                await session.delete(attempt)
            now = await self._read_time(session)
        if (
            attempt is None
            or row is None
            or attempt.connection_id != connection_id
            or attempt.expires_at <= now
        ):
            raise ConsentFailed(
                "This consent was used already, or took too long. Please start again."
            )
        secret: dict[str, Any] = orjson.loads(
            self._keyring.decrypt(attempt.secret, context=_context(attempt_id))
        )
        return row, secret

    def _endpoint(self, row: ConnectionRow) -> Any:
        endpoint = self._endpoints.token_endpoint(row.id or 0, row.provider, {})
        if endpoint is None:
            raise ConsentFailed(no_client_message(row.provider), status=409)
        return endpoint


async def _use_up(session: AsyncSession, link: str) -> None:
    row = await session.get(OAuthAttempt, link, with_for_update=True)
    if row is None:
        raise ConsentFailed("This link was used already, or has ended.", status=410)
    await session.delete(row)


def no_client_message(provider: str) -> str:
    """Return the message for a deployment without an OAuth client; it names the variables."""
    if provider not in CONSENTS:
        return "An own server has no consent page: change the credentials of the connection."
    client_id, secret = client_variables(provider)
    return f"This deployment has no OAuth client for {provider}: set {client_id} and {secret}."


def scopes_to_ask(row: ConnectionRow, *, has_shared: bool = False) -> tuple[str, ...]:
    """Return the scopes to ask for: no writes if the connection had none; a new one may write."""
    return scopes_of(
        row.kind,
        row.provider,
        writing=row.can_write or not row.granted_scopes,
        granted=row.granted_scopes,
        has_shared=has_shared,
    )


def _granted_scopes(row: ConnectionRow, granted: Tokens) -> tuple[str, ...]:
    """
    Return the scopes to store: those of the response, or the requested ones if it has none.

    A provider may add scopes of earlier consents. They do not make a connection write that was
    read-only when it asked.
    """
    requested = scopes_to_ask(row)
    if not granted.scopes:
        return requested
    if connection_rows.can_write(requested) or not connection_rows.can_write(granted.scopes):
        return granted.scopes
    reading = tuple(scope for scope in granted.scopes if not connection_rows.can_write((scope,)))
    return (*reading, *(scope for scope in requested if scope not in reading))


def _missing(row: ConnectionRow, granted: Tokens, *, writing: bool) -> tuple[str, ...]:
    """Return the scopes that the connection needs and did not get."""
    scopes = granted.scopes or scopes_to_ask(row)
    return missing_scopes(row.kind, row.provider, scopes, writing=writing)


def _credentials(granted: Tokens) -> dict[str, Any]:
    ends, refresh_ends = (
        None if moment is None else timestamps.to_ms(moment)
        for moment in (granted.expires_at, granted.refresh_expires_at)
    )
    credentials = {
        "accessToken": granted.access_token,
        "refreshToken": granted.refresh_token,
        "expiresAt": ends,
        "refreshExpiresAt": refresh_ends,
    }
    return {name: value for name, value in credentials.items() if value is not None}


def _context(attempt_id: str) -> str:
    return f"oauth_attempts:{attempt_id}:secret"
