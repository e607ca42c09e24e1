"""Opens a caller's connections: from stored rows to the ports that the graph asks."""

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gateway import connections
from gateway.credentials import Vault
from gateway.database import Database
from gateway.tables import ConnectionRow
from policy.caller import Caller
from policy.vocabulary import Surface
from providers.failures import NeedsReauth, ProviderFailure
from providers.mailbox import Mailbox
from providers.origins import Origins
from providers.ports import ConnectionInfo, MailPort
from providers.registry import MailRegistry, upstream

# Providers that take the bare token, without a scheme before it.
_SCHEMES: Mapping[str, str] = MappingProxyType({"BOARDS": ""})
_MAX_PORTS = 4096


class Mailboxes:
    """Opens connections. One per process."""

    def __init__(
        self,
        origins: Origins,
        vault: Vault,
        database: Database,
        upstreams: Mapping[tuple[str, str], str],
    ) -> None:
        """
        Wire it up.

        Args:
            origins: The HTTP clients.
            vault: Where credentials come from.
            database: Where a tested connection's health is written.
            upstreams: Base URL per (kind, provider), for connections without their own.
        """
        self._registry = MailRegistry()
        self._ports: dict[ConnectionInfo, MailPort] = {}
        self._origins = origins
        self._vault = vault
        self._database = database
        self._upstreams = upstreams

    def of(self, caller: Caller) -> Mailbox:
        """Return the mailboxes that *caller* may use, as one; none may be left."""
        return Mailbox(
            [
                (connection, self._open(connection))
                for connection in caller.connections
                if isinstance(connection, ConnectionInfo)
                and connection.kind == Surface.EMAIL
                and connection.status == "active"
                and not caller.excludes(connection)
            ]
        )

    def forget(self, connection_id: int) -> None:
        """Drop what is remembered of a connection that was changed or removed."""
        for connection in [one for one in self._ports if one.id == connection_id]:
            del self._ports[connection]
        self._registry.forget(connection_id)
        self._origins.forget(connection_id)
        self._vault.forget(connection_id)

    async def test(self, row: ConnectionRow) -> Mapping[str, Any]:
        """Make one harmless read; return `ok`, `status`, `detail` and `latencyMs`."""
        connection = self._info(row)
        if row.kind != Surface.EMAIL:
            return _result(row.status, "This kind of connection cannot be tested yet.", 0)
        started = time.monotonic()
        status, detail = "active", "The account answers."
        try:
            await self._open(connection).probe()
        except NeedsReauth as failure:
            status, detail = "needs_reauth", failure.message
        except ProviderFailure as failure:
            status, detail = "error", failure.message
        elapsed = round((time.monotonic() - started) * 1000)
        await connections.set_status(
            self._database, connection.id, status, None if status == "active" else detail
        )
        return _result(status, detail, elapsed)

    def _open(self, connection: ConnectionInfo) -> MailPort:
        """Return the port of *connection*, the same one while nothing about it changes."""
        known = self._ports.get(connection)
        if known is not None:
            return known
        if len(self._ports) >= _MAX_PORTS:
            self._ports.clear()
        self._ports[connection] = made = self._make(connection)
        return made

    def _make(self, connection: ConnectionInfo) -> MailPort:
        scheme = _SCHEMES.get(connection.provider, "Bearer")
        credentials = self._vault.of(connection.id, scheme=scheme)
        return self._registry.open(connection, upstream(self._origins, connection, credentials))

    def _info(self, row: ConnectionRow) -> ConnectionInfo:
        return ConnectionInfo(
            id=row.id or 0,
            resource_id=row.resource_id,
            kind=row.kind,
            provider=row.provider,
            mode=row.mode,
            account_email=row.account_email,
            can_write=row.can_write,
            status=row.status,
            base_url=row.base_url or self._upstreams[row.kind, row.provider],
            selected_site_ids=tuple(row.selected_site_ids),
            granted_scopes=tuple(row.granted_scopes),
        )


def _result(status: str, detail: str, latency: int) -> Mapping[str, Any]:
    return {"ok": status == "active", "status": status, "detail": detail, "latencyMs": latency}
