"""
Credentials of connections, read from their rows for the HTTP layer.

A changed or removed credential takes effect at the next request: the read that begins a request
tells whether what is kept here is stored still (`token_lookup.is_still_stored`); if not, and
outside requests, each call reads the row. The decrypted value is kept beside the sealed one, which
differs after every change.
`providers.oauth.credentials` renews tokens; its state in memory is dropped when the stored version
is another one.
"""

import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
import orjson

from gateway.auth.token_lookup import RowReader, is_still_stored
from gateway.connections import expiry
from gateway.connections import rows as connection_rows
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring, column_context
from gateway.store import timestamps
from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.database import Database, StorageUnavailable
from gateway.store.leases import Leases
from providers.bounded_map import BoundedMap
from providers.catalogue.causes import Cause
from providers.failures import NeedsReauth
from providers.http.client import Credentials
from providers.oauth import credentials as oauth

_LEASE = "refresh:{}"
_MAX_KEPT = 10_000  # about 40 MB
_RETRY_SECONDS = 0.25  # between attempts to store renewed tokens
LOGIN_REFUSED = "The calendar server refused the user name or the password."
_SELECT_SEALED = "SELECT credentials, provider FROM connections WHERE id = :id"
_SELECT_PROVIDER = "SELECT provider, mode FROM connections WHERE id = :id"
_SELECT_DETAIL = "SELECT status_detail FROM connections WHERE id = :id"

# (connection id, provider, stored credentials) -> token endpoint; None: tokens are not renewed.
Endpoints = Callable[[int, str, Mapping[str, Any]], oauth.TokenEndpoint | None]

log = logging.getLogger("gateway")


class _Kept(msgspec.Struct):
    """The credentials of a connection as they are stored, and what applies those of *version*."""

    sealed: bytes
    stored: Mapping[str, Any]
    version: int
    client: Credentials | None = None


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
        self._kept: BoundedMap[int, _Kept] = BoundedMap(_MAX_KEPT)
        self._unsaved: dict[int, tuple[Mapping[str, Any], int]] = {}  # tokens, version they replace

    def for_connection(
        self, connection_id: int, *, scheme: str = "Bearer"
    ) -> "ConnectionCredentials":
        """Return the credentials of one connection; nothing is read yet."""
        return ConnectionCredentials(self, connection_id, scheme)

    async def read(self, connection_id: int) -> Mapping[str, Any]:
        """
        Return the decrypted credentials as they are stored now; the provider code as `provider`.

        Raises:
            NeedsReauth: Nothing is stored, or it cannot be decrypted.
            Overloaded: The database did not answer.
        """
        return self._with_newer(connection_id, await self._read(connection_id))

    async def _read(self, connection_id: int) -> _Kept:
        try:
            rows = await self._lookup.rows(_SELECT_SEALED, {"id": connection_id})
        except StorageUnavailable as failure:
            raise Overloaded from failure
        if not rows or rows[0][0] is None:
            self.forget(connection_id)
            raise NeedsReauth
        sealed, provider = rows[0]
        former = self._kept.get(connection_id)
        if former is not None and former.sealed == sealed:
            return former
        stored = {**self._decrypt(connection_id, bytes(sealed)), "provider": provider}
        entry = _Kept(bytes(sealed), stored, int(stored.get("version", 0)))
        is_renewed = connection_id not in self._unsaved  # by this process
        if is_renewed and former is not None and former.version == entry.version:
            entry.client = former.client
        self._kept[connection_id] = entry
        return entry

    async def _current(self, connection_id: int) -> _Kept:
        """Return the credentials that were stored when the request began, or later."""
        entry = self._kept.get(connection_id)
        if entry is None or not is_still_stored(connection_id, entry.sealed):
            return await self._read(connection_id)
        self._kept.move_to_end(connection_id)
        return entry

    async def has_api_token(self, connection_id: int) -> bool:
        """Return whether the connection has an API token instead of an owner's consent."""
        try:
            return "apiToken" in await self.read(connection_id)
        except NeedsReauth:
            return False

    def _with_newer(self, connection_id: int, entry: _Kept) -> Mapping[str, Any]:
        """Add the renewed tokens that are not stored yet, unless a person has reconnected."""
        renewed, expected = self._unsaved.get(connection_id, ({}, 0))
        stored = entry.stored
        return {**stored, **renewed} if stored.get("version", 0) == expected else stored

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
        entry = await self._current(connection_id)
        if entry.client is None:
            stored = self._with_newer(connection_id, entry)
            entry.version = int(stored.get("version", 0))
            entry.client = self._create_client(connection_id, stored, scheme)
        return entry.client

    def forget(self, connection_id: int) -> None:
        """Drop the cached state of a connection that was changed or removed."""
        self._kept.pop(connection_id, None)

    async def save(self, connection_id: int, new: oauth.StoredCredentials, expected: int) -> bool:
        """
        Store renewed tokens if the stored version is still *expected*; return whether it was.

        The provider has revoked the old tokens. While the database does not answer, the new ones
        are used from memory and stored as soon as it does; the return value is True then.
        """
        renewed = {
            "accessToken": new.access_token,
            "refreshToken": new.refresh_token,
            "expiresAt": _milliseconds(new.expires_at),
            "refreshExpiresAt": _milliseconds(new.refresh_expires_at),
            "refreshSlides": new.refresh_slides,
            "version": new.version,
        }
        try:
            saved = await self._store(connection_id, renewed, expected)
        except StorageUnavailable:
            self._unsaved[connection_id] = (renewed, expected)
            log.warning("renewed tokens are not stored yet", extra={"connection_id": connection_id})
            saved = True
        entry = self._kept.get(connection_id)
        if saved and entry is not None:
            entry.version = new.version
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

    async def mark_refused(self, connection_id: int, version: int, failure: NeedsReauth) -> None:
        """Mark the connection as dead by *failure*, unless newer credentials are stored."""
        self._on_refused()
        try:
            await connection_rows.mark_needs_reauth(
                self._database, connection_id, version, self._keyring, failure
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
        return self._links.link_for(connection_id, provider=provider, mode=mode)

    def _create_client(
        self, connection_id: int, stored: Mapping[str, Any], scheme: str
    ) -> Credentials:
        if "password" in stored:
            return _Password(self, connection_id, stored, scheme)
        endpoint = self._endpoints(connection_id, str(stored["provider"]), stored)
        is_client = "subject" in stored or ("clientId" in stored and "username" not in stored)
        if endpoint is not None and is_client:
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
            raise NeedsReauth(failure.message, reconnect_url=url, cause=failure.cause) from failure


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
            failure = NeedsReauth(LOGIN_REFUSED, cause=Cause.LOGIN_REFUSED)
            await self._repository.mark_refused(self._connection_id, self._version, failure)
            raise failure
        return self._token


class _ConnectionStore(msgspec.Struct):
    """The row of one connection as a `CredentialStore`; *version* is the last loaded one."""

    repository: CredentialRepository
    connection_id: int
    version: int = 0

    async def load(self) -> oauth.StoredCredentials:
        stored = await self.repository.read(self.connection_id)
        self.version = int(stored.get("version", 0))
        return oauth.StoredCredentials(
            access_token=str(stored.get("accessToken", "")),
            refresh_token=stored.get("refreshToken"),
            expires_at=_moment(stored.get("expiresAt")),
            refresh_expires_at=_moment(stored.get("refreshExpiresAt")),
            refresh_slides=bool(stored.get("refreshSlides")),
            version=int(stored.get("version", 0)),
        )

    async def save(self, new: oauth.StoredCredentials, *, expected_version: int) -> bool:
        return await self.repository.save(self.connection_id, new, expected_version)

    async def mark_needs_reauth(self, cause: Cause | None) -> Cause | None:
        if cause is Cause.CONSENT_WITHDRAWN:
            stored = await self.repository.read(self.connection_id)
            cause = expiry.cause_by_time(stored, timestamps.now_ms()) or cause
        await self.repository.mark_refused(
            self.connection_id, self.version, NeedsReauth(cause=cause)
        )
        return cause


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else timestamps.to_ms(moment)


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else timestamps.from_ms(milliseconds)
