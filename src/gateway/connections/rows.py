"""
Connected accounts: their stored rows, and their credentials, which never come back. Decisions 3.

Credentials are sealed for their row; a row's credentials opened in another row's place are refused
by the keyring.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from gateway.secrets import key_rotation
from gateway.secrets.keyring import Keyring, place
from gateway.store import timestamps
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow

if TYPE_CHECKING:
    from gateway.operations import views

KINDS: Mapping[str, tuple[str, ...]] = {
    "email": ("PROVIDER_A", "PROVIDER_B"),
    "calendar": ("PROVIDER_A", "PROVIDER_B"),
    "collab": ("COLLAB",),
    "tasks": ("BOARDS", "PROJECTS"),
}
STATUSES = ("active", "needs_reauth", "disabled", "error")
MODES = ("delegated", "selected_sites")

# A scope that has one of these words in it lets the connection change something.
_WRITES = ("write", "send", "modify", "compose", "insert", "manage", "fullcontrol")
_WRITE_SCOPES = frozenset(
    {
        "https://mail.google.com/",
        "https://www.googleapis.com/auth/calendar",
        "sites.selected",  # each site tells what it grants
    }
)


class HostNotAllowed(ValueError):
    """The base URL names a host that is not on the deployment's list."""


def can_write(granted_scopes: Sequence[str]) -> bool:
    """Derive from the scopes whether anything can be changed; without any, nothing can."""
    return any(
        scope.lower() in _WRITE_SCOPES or any(word in scope.lower() for word in _WRITES)
        for scope in granted_scopes
    )


def check_base_url(url: str, allowed: frozenset[str]) -> str:
    """
    Return *url* without a trailing slash when its host may be called.

    Raises:
        HostNotAllowed: Another host, not http(s), or with user, query or fragment.
    """
    try:
        parts = urlsplit(url)
        host = parts.netloc.lower()
    except ValueError as damage:
        raise HostNotAllowed(url) from damage
    plain = not (parts.username or parts.password or parts.query or parts.fragment)
    if parts.scheme not in {"http", "https"} or not plain or host not in allowed:
        raise HostNotAllowed(url)
    if "\\" in url or any(segment in {".", ".."} for segment in parts.path.split("/")):
        raise HostNotAllowed(url)
    return url.rstrip("/")


def replace(row: ConnectionRow, credentials: Mapping[str, Any], keyring: Keyring) -> None:
    """Put new *credentials* into *row* in place of all before, as a version of their own."""
    version = int(_opened(row, keyring).get("version", 0)) + 1
    seal(row, {**credentials, "version": version}, keyring)


def seal(row: ConnectionRow, credentials: Mapping[str, Any], keyring: Keyring) -> None:
    """Put *credentials* into *row*, which must have its id."""
    row.credentials = keyring.encrypt(orjson.dumps(dict(credentials)), place=_place(row.id))


async def store_credentials(
    database: Database,
    connection_id: int,
    renewed: Mapping[str, Any],
    keyring: Keyring,
    *,
    expected_version: int,
) -> bool:
    """
    Replace what a refresh has renewed; members that *renewed* does not name stay.

    Returns:
        Whether it was stored: not when the stored version is another than *expected_version*.
    """
    async with database.writing() as session:
        row = await session.get(ConnectionRow, connection_id, with_for_update=True)
        before = _opened(row, keyring) if row is not None else {}
        if row is None or before.get("version", 0) != expected_version:
            return False
        seal(row, {**before, **renewed}, keyring)
        session.add(row)
        return True


async def set_status(
    database: Database,
    connection_id: int,
    status: str,
    detail: str | None,
    *,
    seen: int | None = None,
) -> None:
    """
    Write down how a connection fares; an operator's `disabled` is not overruled.

    What went wrong is news of the connection as it was when it was updated at *seen*: of one that
    was changed meanwhile, reconnected perhaps, it tells nothing. None: of the connection as it is.
    """
    async with database.writing() as session:
        row = await session.get(ConnectionRow, connection_id, with_for_update=True)
        if row is None or row.status == "disabled":
            return
        if status != "active" and seen not in {None, row.updated_at}:
            return
        row.status, row.status_detail = status, detail
        if status == "active":
            row.last_ok_at = timestamps.now_ms()
        session.add(row)


async def mark_needs_reauth(
    database: Database, connection_id: int, version: int, keyring: Keyring, *, detail: str
) -> None:
    """Note that the credentials of *version* are refused; newer ones, stored meanwhile, are not."""
    async with database.writing() as session:
        row = await session.get(ConnectionRow, connection_id, with_for_update=True)
        if row is None or row.status == "disabled":
            return
        try:
            stored = _opened(row, keyring).get("version", 0)
        except ValueError:  # sealed with a key that is gone
            stored = version
        if stored == version:
            row.status, row.status_detail = "needs_reauth", detail
            session.add(row)


async def rotate(database: Database, keyring: Keyring, *, batch: int = 100) -> int:
    """Seal every connection's credentials under the first key; return how many changed."""
    done = await key_rotation.rotate_column(
        database, keyring, key_rotation.CREDENTIALS, batch=batch
    )
    return done.changed


def view(row: ConnectionRow, *, reconnect_url: str | None = None) -> "views.Connection":
    """Return the Connection object of decisions 3; credentials are not part of it."""
    return {
        "id": row.id or 0,
        "resourceId": row.resource_id,
        "operatorId": row.operator_id,
        "kind": row.kind,
        "provider": row.provider,
        "mode": row.mode,
        "accountEmail": row.account_email,
        "grantedScopes": row.granted_scopes,
        "canWrite": row.can_write,
        "status": row.status,
        "statusDetail": row.status_detail,
        "reconnectUrl": reconnect_url,
        "lastOkAt": None if row.last_ok_at is None else timestamps.to_text(row.last_ok_at),
        "selectedSiteIds": row.selected_site_ids,
        "baseUrl": row.base_url,
        "createdAt": timestamps.to_text(row.created_at),
    }


def _opened(row: ConnectionRow, keyring: Keyring) -> dict[str, Any]:
    if row.credentials is None:
        return {}
    opened: dict[str, Any] = orjson.loads(keyring.decrypt(row.credentials, place=_place(row.id)))
    return opened


def _place(connection_id: int | None) -> str:
    if connection_id is None:
        raise LookupError("a connection that is not stored yet has no id")
    return place("connections", connection_id, "credentials")
