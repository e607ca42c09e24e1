"""
A stored connection's credentials as the HTTP layer asks for them
(`providers.http.client.Credentials`).

They are read when a call needs them, so a changed or removed credential counts at once; what was
opened is kept beside what it was opened from, which is another text after every change. Renewal is
`providers.oauth.credentials`'s; what it keeps in memory is dropped when the stored version differs
from the one it knows.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from gateway.auth.token_lookup import RowReader
from gateway.connections import rows as connection_rows
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring, place
from gateway.store import timestamps
from gateway.store.database import Database, StorageUnavailable
from gateway.store.leases import Leases
from providers.failures import NeedsReauth
from providers.http.client import Credentials
from providers.oauth.credentials import (
    ClientCredentials,
    RefreshingCredentials,
    StaticToken,
    StoredCredentials,
    TokenEndpoint,
)

_LEASE = "refresh:{}"
_STORE_AGAIN = (0.1, 0.3, 1.0, 3.0, 5.0, 10.0)  # seconds between tries; a lease lasts 30
_SEALED = "SELECT credentials, provider FROM connections WHERE id = :id"

_OWNER = "SELECT provider, mode FROM connections WHERE id = :id"

# (connection id, provider, stored credentials) -> where its tokens are renewed; None: nowhere.
Endpoints = Callable[[int, str, Mapping[str, Any]], TokenEndpoint | None]

log = logging.getLogger("gateway")


class CredentialRepository:
    """Opens the credentials of connections. One per process."""

    def __init__(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        lookup: RowReader,
        database: Database,
        keyring: Keyring,
        *,
        endpoints: Endpoints = lambda _connection, _provider, _stored: None,
        leases: Leases | None = None,
        links: ReconnectLinks | None = None,
    ) -> None:
        """
        Wire it up.

        Args:
            lookup: Where sealed credentials are read.
            database: Where renewed ones are stored.
            keyring: Opens and seals them.
            endpoints: Where tokens are renewed.
            leases: Lets one process at a time renew a connection's tokens; None: this is the only
                process.
            links: Where a person reconnects an account.
        """
        self._lookup = lookup
        self._database = database
        self._keyring = keyring
        self._endpoints = endpoints
        self._leases = leases
        self._links = links
        self._kept: dict[int, tuple[int, Credentials]] = {}
        self._opened: dict[int, tuple[bytes, Mapping[str, Any]]] = {}

    def for_connection(
        self, connection_id: int, *, scheme: str = "Bearer"
    ) -> "ConnectionCredentials":
        """Return the credentials of one connection; nothing is read yet."""
        return ConnectionCredentials(self, connection_id, scheme)

    async def read(self, connection_id: int) -> Mapping[str, Any]:
        """
        Read and open; the member `provider` is the connection's own.

        Raises:
            NeedsReauth: Nothing is stored, or it cannot be opened.
            Overloaded: The database did not answer; the provider is not to blame.
        """
        try:
            rows = await self._lookup.rows(_SEALED, {"id": connection_id})
        except StorageUnavailable as failure:
            raise Overloaded from failure
        if not rows or rows[0][0] is None:
            self._opened.pop(connection_id, None)
            raise NeedsReauth
        sealed, provider = rows[0]
        known = self._opened.get(connection_id)
        if known is not None and known[0] == sealed:
            return {**known[1], "provider": provider}
        opened = self._open(connection_id, bytes(sealed))
        self._opened[connection_id] = (bytes(sealed), opened)
        return {**opened, "provider": provider}

    def _open(self, connection_id: int, sealed: bytes) -> Mapping[str, Any]:
        where = place("connections", connection_id, "credentials")
        try:
            opened: Mapping[str, Any] = orjson.loads(self._keyring.decrypt(sealed, place=where))
        except ValueError as damage:
            log.warning("credentials cannot be opened", extra={"connection_id": connection_id})
            raise NeedsReauth from damage
        return opened

    async def fitting(self, connection_id: int, scheme: str) -> Credentials:
        """Return what knows how to use the stored credentials, the same until they change."""
        stored = await self.read(connection_id)
        version = int(stored.get("version", 0))
        kept = self._kept.get(connection_id)
        if kept is not None and kept[0] == version:
            return kept[1]
        made = self._make(connection_id, stored, scheme)
        self._kept[connection_id] = (version, made)
        return made

    def forget(self, connection_id: int) -> None:
        """Drop what is kept of a connection that was changed or removed."""
        self._kept.pop(connection_id, None)
        self._opened.pop(connection_id, None)

    async def save(self, connection_id: int, new: StoredCredentials, expected: int) -> bool:
        """
        Store renewed tokens when the stored version is still *expected*.

        Raises:
            Overloaded: The database did not answer, and again and again: the tokens are lost.
        """
        renewed = {
            "accessToken": new.access_token,
            "refreshToken": new.refresh_token,
            "expiresAt": None if new.expires_at is None else timestamps.to_ms(new.expires_at),
            "version": new.version,
        }
        saved = await self._store(connection_id, renewed, expected)
        kept = self._kept.get(connection_id)
        if saved and kept is not None:
            self._kept[connection_id] = (new.version, kept[1])
        return saved

    async def _store(self, connection_id: int, renewed: Mapping[str, Any], expected: int) -> bool:
        """Store them, and do not give up soon: the provider has taken the old ones back."""
        left = list(_STORE_AGAIN)
        while True:
            try:
                return await connection_rows.store_credentials(
                    self._database, connection_id, renewed, self._keyring, expected_version=expected
                )
            except StorageUnavailable as failure:
                if not left:
                    raise Overloaded from failure
            await asyncio.sleep(left.pop(0))

    async def refused(self, connection_id: int, version: int) -> None:
        """Note that a person must reconnect the account, unless newer credentials are stored."""
        try:
            await connection_rows.mark_needs_reauth(
                self._database,
                connection_id,
                version,
                self._keyring,
                detail=NeedsReauth.sentence,
            )
        except StorageUnavailable:
            log.warning("a dead connection is not marked", extra={"connection_id": connection_id})

    async def link(self, connection_id: int) -> str | None:
        """Return where a person reconnects the account; None when consent cannot mend it."""
        if self._links is None:
            return None
        try:
            found = await self._lookup.rows(_OWNER, {"id": connection_id})
        except StorageUnavailable:
            return None
        if not found:
            return None
        provider, mode = found[0]
        return self._links.link_for(
            connection_id, provider=provider, mode=mode, status="needs_reauth"
        )

    def _make(self, connection_id: int, stored: Mapping[str, Any], scheme: str) -> Credentials:
        endpoint = self._endpoints(connection_id, str(stored["provider"]), stored)
        if endpoint is not None and "clientId" in stored:
            return ClientCredentials(endpoint)
        if endpoint is not None and stored.get("refreshToken"):
            return RefreshingCredentials(
                _Store(self, connection_id), endpoint, lease=partial(self._lease, connection_id)
            )
        return StaticToken(str(stored.get("accessToken") or stored.get("apiToken") or ""), scheme)

    def _lease(self, connection_id: int) -> AbstractAsyncContextManager[object]:
        if self._leases is None:
            return nullcontext()
        return self._leases.hold(_LEASE.format(connection_id))


class ConnectionCredentials:
    """See `providers.http.client.Credentials`."""

    def __init__(self, vault: CredentialRepository, connection_id: int, scheme: str) -> None:
        self._vault = vault
        self._connection_id = connection_id
        self.scheme = scheme

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return a token to call with.

        A rejected token alone does not mark the connection: it would stay unusable after one odd
        answer. Only the token endpoint's word that nothing can be renewed does (`_Store`).
        """
        try:
            fitting = await self._vault.fitting(self._connection_id, self.scheme)
            return await fitting.token(rejected=rejected)
        except NeedsReauth as failure:
            url = await self._vault.link(self._connection_id)
            raise NeedsReauth(reconnect_url=url) from failure


@dataclass(slots=True)
class _Store:
    """One connection's row as an OAuth `CredentialStore`; *version* is the version last loaded."""

    vault: CredentialRepository
    connection_id: int
    version: int = 0

    async def load(self) -> StoredCredentials:
        stored = await self.vault.read(self.connection_id)
        expires = stored.get("expiresAt")
        self.version = int(stored.get("version", 0))
        return StoredCredentials(
            access_token=str(stored.get("accessToken", "")),
            refresh_token=stored.get("refreshToken"),
            expires_at=None if expires is None else timestamps.from_ms(expires),
            version=int(stored.get("version", 0)),
        )

    async def save(self, new: StoredCredentials, *, expected_version: int) -> bool:
        return await self.vault.save(self.connection_id, new, expected_version)

    async def mark_needs_reauth(self) -> None:
        await self.vault.refused(self.connection_id, self.version)
