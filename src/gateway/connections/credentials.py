"""
Credentials of connections, read from their rows for the HTTP layer.

Every call reads the row, so a changed or removed credential takes effect at once; the decrypted
value is cached beside the sealed one, which differs after every change.
`providers.oauth.credentials` renews tokens; its state in memory is dropped when the stored version
is another one.
"""

import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import msgspec
import orjson

from gateway.auth.token_lookup import Row, RowReader
from gateway.connections import rows as connection_rows
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring, column_context
from gateway.store import timestamps
from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.database import Database, StorageUnavailable
from gateway.store.leases import Leases
from providers.failures import NeedsReauth
from providers.http.client import Credentials
from providers.oauth import credentials as oauth

_LEASE = "refresh:{}"
_RETRY_SECONDS = 0.25  # between attempts to store renewed tokens
LOGIN_REFUSED = "The calendar server refused the user name or the password."
_SELECT_SEALED = "SELECT credentials, provider FROM connections WHERE id = :id"
_SELECT_PROVIDER = "SELECT provider, mode FROM connections WHERE id = :id"
_SELECT_DETAIL = "SELECT status_detail FROM connections WHERE id = :id"

# (connection id, provider, stored credentials) -> token endpoint; None: tokens are not renewed.
Endpoints = Callable[[int, str, Mapping[str, Any]], oauth.TokenEndpoint | None]

log = logging.getLogger("gateway")


class CredentialRepository:
    """Reads and stores the credentials of all connections. One per process."""

    def __init__(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        lookup: RowReader,
        database: Database,
        keyring: Keyring,
        *,
        endpoints: Endpoints = lambda _connection, _provider, _stored: None,
        leases: Leases | None = None,
        links: ReconnectLinks | None = None,
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        """
        *leases* let one process at a time renew tokens; None when this is the only process.
        *on_refused* is called when a provider refuses for good to renew one.
        """
        self._on_refused = on_refused
        self._lookup = lookup
        self._database = database
        self._keyring = keyring
        self._endpoints = endpoints
        self._leases = leases
        self._links = links
        self._clients: dict[int, tuple[int, Credentials]] = {}
        # The rows that each client was last found by; they are the same until the next commit.
        self._bound: dict[int, tuple[Sequence[Row], Credentials]] = {}
        self._decrypted: dict[int, tuple[bytes, Mapping[str, Any]]] = {}
        self._unsaved: dict[int, tuple[Mapping[str, Any], int]] = {}  # tokens, version they replace

    def for_connection(
        self, connection_id: int, *, scheme: str = "Bearer"
    ) -> "ConnectionCredentials":
        """Return the credentials of one connection; nothing is read yet."""
        return ConnectionCredentials(self, connection_id, scheme)

    async def read(self, connection_id: int) -> Mapping[str, Any]:
        """
        Return the decrypted credentials, and the provider code as the member `provider`.

        Raises:
            NeedsReauth: Nothing is stored, or it cannot be decrypted.
            Overloaded: The database did not answer.
        """
        try:
            rows = await self._lookup.rows(_SELECT_SEALED, {"id": connection_id})
        except StorageUnavailable as failure:
            raise Overloaded from failure
        return self._opened(connection_id, rows)

    def _opened(self, connection_id: int, rows: Sequence[Row]) -> Mapping[str, Any]:
        if not rows or rows[0][0] is None:
            self._decrypted.pop(connection_id, None)
            raise NeedsReauth
        sealed, provider = rows[0]
        cached = self._decrypted.get(connection_id)
        if cached is None or cached[0] != sealed:
            cached = (bytes(sealed), self._decrypt(connection_id, bytes(sealed)))
            self._decrypted[connection_id] = cached
        return {**cached[1], **self._newer(connection_id, cached[1]), "provider": provider}

    async def has_api_token(self, connection_id: int) -> bool:
        """Return whether the connection has an API token instead of an owner's consent."""
        try:
            return "apiToken" in await self.read(connection_id)
        except NeedsReauth:
            return False

    def _newer(self, connection_id: int, stored: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the renewed tokens that are not stored yet, unless a person has reconnected."""
        renewed, expected = self._unsaved.get(connection_id, ({}, 0))
        return renewed if stored.get("version", 0) == expected else {}

    def _decrypt(self, connection_id: int, sealed: bytes) -> Mapping[str, Any]:
        context = column_context("connections", connection_id, "credentials")
        try:
            plain: Mapping[str, Any] = orjson.loads(self._keyring.decrypt(sealed, context=context))
        except ValueError as failure:
            log.warning("credentials cannot be opened", extra={"connection_id": connection_id})
            raise NeedsReauth from failure
        return plain

    async def client(self, connection_id: int, scheme: str) -> Credentials:
        """Return an object that applies the stored credentials; the same until they change."""
        try:
            rows = await self._lookup.rows(_SELECT_SEALED, {"id": connection_id})
        except StorageUnavailable as failure:
            raise Overloaded from failure
        bound = self._bound.get(connection_id)
        if bound is not None and bound[0] is rows and not self._unsaved:
            return bound[1]
        stored = self._opened(connection_id, rows)
        version = int(stored.get("version", 0))
        cached = self._clients.get(connection_id)
        if cached is None or cached[0] != version:
            client = self._create_client(connection_id, stored, scheme)
            cached = self._clients[connection_id] = (version, client)
        self._bound[connection_id] = rows, cached[1]
        return cached[1]

    def forget(self, connection_id: int) -> None:
        """Drop the cached state of a connection that was changed or removed."""
        self._bound.pop(connection_id, None)
        self._clients.pop(connection_id, None)
        self._decrypted.pop(connection_id, None)

    async def save(self, connection_id: int, new: oauth.StoredCredentials, expected: int) -> bool:
        """
        Store renewed tokens if the stored version is still *expected*; return whether it was.

        The provider has revoked the old tokens. While the database does not answer, the new ones
        are used from memory and stored as soon as it does; the return value is True then.
        """
        renewed = {
            "accessToken": new.access_token,
            "refreshToken": new.refresh_token,
            "expiresAt": None if new.expires_at is None else timestamps.to_ms(new.expires_at),
            "version": new.version,
        }
        try:
            saved = await self._store(connection_id, renewed, expected)
        except StorageUnavailable:
            self._unsaved[connection_id] = (renewed, expected)
            log.warning("renewed tokens are not stored yet", extra={"connection_id": connection_id})
            saved = True
        cached = self._clients.get(connection_id)
        if saved and cached is not None:
            self._clients[connection_id] = (new.version, cached[1])
        return saved

    async def _store(self, connection_id: int, renewed: Mapping[str, Any], expected: int) -> bool:
        return await connection_rows.store_credentials(
            self._database, connection_id, renewed, self._keyring, expected_version=expected
        )

    async def store_unsaved(self) -> None:
        """
        Store the renewed tokens that could not be stored when they came.

        Those of a connection that cannot be stored keep no others from being stored.

        Raises:
            StorageUnavailable: The database still does not answer; nothing is lost.
            ValueError: The stored credentials are sealed with a key that left the ring.
        """
        await for_each(list(self._unsaved), self._store_unsaved)

    async def _store_unsaved(self, connection_id: int) -> None:
        renewed, expected = self._unsaved[connection_id]
        await self._store(connection_id, renewed, expected)
        self._unsaved.pop(connection_id, None)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store renewed tokens until they are stored, and once more at the end."""
        task = PeriodicTask(
            name="renewed_tokens",
            work=self.store_unsaved,
            pause_seconds=_RETRY_SECONDS,
            failure_message="renewed tokens could not be stored yet",
        )
        try:
            async with running_tasks(task):
                yield
        finally:
            try:
                await self.store_unsaved()
            except (StorageUnavailable, ValueError):
                count = {"count": len(self._unsaved)}
                log.error("renewed tokens are lost", extra=count)  # noqa: TRY400

    async def mark_refused(self, connection_id: int, version: int) -> None:
        """Mark the connection as needing consent, unless newer credentials are stored."""
        self._on_refused()
        try:
            await connection_rows.mark_needs_reauth(
                self._database, connection_id, version, self._keyring, detail=NeedsReauth.sentence
            )
        except StorageUnavailable:
            log.warning(
                "a connection could not be marked as needing consent",
                extra={"connection_id": connection_id},
            )

    async def note_submission(self, connection_id: int, *, refused: bool) -> None:
        """Store that the server for outgoing mail refuses the login, or that it takes it again."""
        try:
            rows = await self._lookup.rows(_SELECT_DETAIL, {"id": connection_id})
            is_noted = bool(rows) and rows[0][0] == connection_rows.SENDING_REFUSED
            if is_noted != refused:
                await connection_rows.note_submission(
                    self._database, connection_id, refused=refused
                )
        except StorageUnavailable:
            log.warning(
                "the state of outgoing mail could not be stored",
                extra={"connection_id": connection_id},
            )

    async def reconnect_link(self, connection_id: int) -> str | None:
        """Return the link to reconnect the account; None when consent would not help."""
        if self._links is None:
            return None
        try:
            rows = await self._lookup.rows(_SELECT_PROVIDER, {"id": connection_id})
        except StorageUnavailable:
            return None
        if not rows:
            return None
        provider, mode = rows[0]
        return self.link_for(connection_id, provider, mode)

    def link_for(self, connection_id: int, provider: str, mode: str | None) -> str | None:
        """As `reconnect_link`, for a connection whose provider and mode are known."""
        if self._links is None:
            return None
        return self._links.link_for(
            connection_id, provider=provider, mode=mode, status="needs_reauth"
        )

    def _create_client(
        self, connection_id: int, stored: Mapping[str, Any], scheme: str
    ) -> Credentials:
        if "password" in stored:
            return _Password(self, connection_id, stored, scheme)
        endpoint = self._endpoints(connection_id, str(stored["provider"]), stored)
        if endpoint is not None and "clientId" in stored and "username" not in stored:
            return oauth.ClientCredentials(endpoint)
        if endpoint is not None and stored.get("refreshToken"):
            return oauth.RefreshingCredentials(
                _ConnectionStore(self, connection_id),
                endpoint,
                lease=partial(self._lease, connection_id),
            )
        return oauth.StaticToken(
            str(stored.get("accessToken") or stored.get("apiToken") or ""), scheme
        )

    def _lease(self, connection_id: int) -> AbstractAsyncContextManager[object]:
        if self._leases is None:
            return nullcontext()
        return self._leases.hold(_LEASE.format(connection_id))


class ConnectionCredentials:
    """Credentials of one connection; implements `providers.http.client.Credentials`."""

    def __init__(self, repository: CredentialRepository, connection_id: int, scheme: str) -> None:
        self._repository = repository
        self._connection_id = connection_id
        self.scheme = scheme

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return an access token.

        A rejected token alone does not mark the connection, or one odd response would make it
        unusable. Only the token endpoint's refusal to renew does (`_ConnectionStore`).
        """
        try:
            client = await self._repository.client(self._connection_id, self.scheme)
            return await client.token(rejected=rejected)
        except NeedsReauth as failure:
            url = await self._repository.reconnect_link(self._connection_id)
            raise NeedsReauth(failure.message, reconnect_url=url) from failure


class _Password:
    """User name and password of one connection, for the scheme Basic (RFC 7617)."""

    def __init__(
        self,
        repository: CredentialRepository,
        connection_id: int,
        stored: Mapping[str, Any],
        scheme: str,
    ) -> None:
        self.scheme = scheme
        self._repository = repository
        self._connection_id = connection_id
        self._version = int(stored.get("version", 0))
        pair = f"{stored['username']}:{stored['password']}"
        self._token = b64encode(pair.encode()).decode("ascii")

    async def token(self, *, rejected: str | None = None) -> str:
        if rejected is not None:
            await self._repository.mark_refused(self._connection_id, self._version)
            raise NeedsReauth(LOGIN_REFUSED)
        return self._token


class _ConnectionStore(msgspec.Struct):
    """The row of one connection as a `CredentialStore`; *version* is the last loaded one."""

    repository: CredentialRepository
    connection_id: int
    version: int = 0

    async def load(self) -> oauth.StoredCredentials:
        stored = await self.repository.read(self.connection_id)
        expires = stored.get("expiresAt")
        self.version = int(stored.get("version", 0))
        return oauth.StoredCredentials(
            access_token=str(stored.get("accessToken", "")),
            refresh_token=stored.get("refreshToken"),
            expires_at=None if expires is None else timestamps.from_ms(expires),
            version=int(stored.get("version", 0)),
        )

    async def save(self, new: oauth.StoredCredentials, *, expected_version: int) -> bool:
        return await self.repository.save(self.connection_id, new, expected_version)

    async def mark_needs_reauth(self) -> None:
        await self.repository.mark_refused(self.connection_id, self.version)
