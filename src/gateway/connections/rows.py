"""
Rows of connections, and the credentials in them, which the API never returns.

Credentials are sealed for their row: the keyring does not open them in another row.
See docs/spec/management.md#connections.
"""

import secrets
from collections.abc import Container, Mapping, Sequence
from typing import Any

import orjson
from sqlmodel import select

from gateway.secrets.keyring import Keyring, column_context
from gateway.store import timestamps
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow
from providers.catalogue import tables as catalogue
from providers.catalogue.causes import Cause
from providers.failures import NeedsReauth

ID_KEY_BYTES = 32  # of ids of messages on IMAP servers
# The detail of an active mailbox that can only be read.
SENDING_REFUSED = "Mail can be read, but not sent: the server for outgoing mail refuses the login."
STATUSES = ("active", "needs_reauth", "disabled", "error")
MODES = ("delegated", "selected_sites")

# A scope that contains one of these words allows writes.
_WRITE_WORDS = ("write", "send", "modify", "compose", "insert", "manage", "fullcontrol")
_WRITE_SCOPES = frozenset().union(
    *(consent.writing_scopes for consent in catalogue.CONSENTS.values())
)


class OriginNotAllowed(ValueError):
    """The scheme, host and port of a base URL are not on the deployment's list."""


def can_write(granted_scopes: Sequence[str]) -> bool:
    """Return whether any of the scopes allows writes."""
    return any(
        scope.lower() in _WRITE_SCOPES or any(word in scope.lower() for word in _WRITE_WORDS)
        for scope in granted_scopes
    )


def check_base_url(url: str, allowed: Container[str]) -> str:
    """
    Return *url* without a trailing slash, if its origin is allowed.

    Args:
        url: As an administrator wrote it.
        allowed: Origins, `scheme://host:port`.

    Raises:
        OriginNotAllowed: The origin is not among *allowed*, or *url* is not an http(s) URL, or has
            a user, a query, a fragment or dot segments.
    """
    from providers.http.urls import BaseUrl  # noqa: PLC0415 - httpx is heavy for a command

    try:
        origin = BaseUrl.parse(url).origin
    except ValueError as failure:
        raise OriginNotAllowed(url) from failure
    # The parser resolves plain dot segments instead of refusing them.
    if origin not in allowed or not {".", ".."}.isdisjoint(url.split("/")):
        raise OriginNotAllowed(url)
    return url.rstrip("/")


async def kinds_and_providers(database: Database) -> Sequence[tuple[str, str]]:
    """Return each kind and provider of which there is a connection."""
    query = select(ConnectionRow.kind, ConnectionRow.provider).distinct()
    async with database.reading() as session:
        return (await session.exec(query)).all()


def replace(row: ConnectionRow, credentials: Mapping[str, Any], keyring: Keyring) -> None:
    """
    Replace the credentials of *row* and increment their version.

    The key of the connection's ids stays as it was made with the first credentials.
    """
    stored = unseal(row, keyring)
    version = int(stored.get("version", 0)) + 1
    id_key = {}
    if "username" in credentials:
        id_key["idKey"] = stored.get("idKey") or secrets.token_hex(ID_KEY_BYTES)
    seal(row, {**credentials, **id_key, "version": version}, keyring)


def seal(row: ConnectionRow, credentials: Mapping[str, Any], keyring: Keyring) -> None:
    """Seal *credentials* into *row*, which must have its id, and note their end."""
    row.expires_at = end_of(credentials)
    row.credentials = keyring.encrypt(orjson.dumps(dict(credentials)), context=_context(row.id))


def end_of(credentials: Mapping[str, Any]) -> int | None:
    """
    Return when a person must renew *credentials*, in milliseconds; None: nothing tells.

    A refresh token whose end moves with every use has none that a person must know of.
    """
    if "refreshToken" not in credentials:
        return credentials.get("expiresAt")
    return None if credentials.get("refreshSlides") else credentials.get("refreshExpiresAt")


def set_active(row: ConnectionRow) -> None:
    """Make a connection usable, unless an operator disabled it."""
    if row.status != "disabled":
        row.status, row.status_detail, row.status_cause = "active", None, None


@retried
async def store_credentials(
    database: Database,
    connection_id: int,
    renewed: Mapping[str, Any],
    keyring: Keyring,
    *,
    expected_version: int,
) -> bool:
    """
    Update the stored credentials with the members of *renewed*.

    Returns:
        False, with nothing stored, when the stored version is not *expected_version*.
    """
    async with database.writing() as session:
        row = await session.get(ConnectionRow, connection_id, with_for_update=True)
        stored = unseal(row, keyring) if row is not None else {}
        if row is None or stored.get("version", 0) != expected_version:
            return False
        seal(row, {**stored, **renewed}, keyring)
        if row.status == "needs_reauth":  # marked by a process that had the older tokens
            set_active(row)
        session.add(row)
        return True


@retried
async def set_status(  # noqa: PLR0913 - two of them keyword-only
    database: Database,
    connection_id: int,
    status: str,
    detail: str | None,
    *,
    cause: Cause | None = None,
    seen: int | None = None,
) -> None:
    """
    Store the status of a connection, unless an operator disabled it.

    A failure counts only if the connection was not changed (reconnected, for example) since it was
    read with `updated_at` *seen*; None skips this check.
    """
    async with database.writing() as session:
        row = await session.get(ConnectionRow, connection_id, with_for_update=True)
        if row is None or row.status == "disabled":
            return
        if status != "active" and seen not in {None, row.updated_at}:
            return
        row.status, row.status_detail, row.status_cause = status, detail, cause
        if status == "active":
            row.last_ok_at = timestamps.now_ms()
        session.add(row)


@retried
async def note_submission(database: Database, connection_id: int, *, refused: bool) -> None:
    """Store whether an active mailbox can send, as the detail of its status."""
    async with database.writing() as session:
        row = await session.get(ConnectionRow, connection_id, with_for_update=True)
        if row is None or row.status != "active":
            return
        if refused:
            row.status_detail = SENDING_REFUSED
        elif row.status_detail == SENDING_REFUSED:
            row.status_detail = None
        session.add(row)


@retried
async def mark_needs_reauth(
    database: Database, connection_id: int, version: int, keyring: Keyring, failure: NeedsReauth
) -> None:
    """Mark the connection as dead by *failure*, if its credentials still have *version*."""
    async with database.writing() as session:
        row = await session.get(ConnectionRow, connection_id, with_for_update=True)
        if row is None or row.status == "disabled":
            return
        try:
            stored = unseal(row, keyring).get("version", 0)
        except ValueError:  # sealed with a key that left the ring
            stored = version
        if stored == version:
            row.status, row.status_detail = "needs_reauth", failure.message
            row.status_cause = failure.cause
            session.add(row)


def unseal(row: ConnectionRow, keyring: Keyring) -> dict[str, Any]:
    """
    Return the decrypted credentials of *row*; empty when there are none.

    Raises:
        ValueError: They are sealed with a key that left the ring.
    """
    if row.credentials is None:
        return {}
    credentials: dict[str, Any] = orjson.loads(
        keyring.decrypt(row.credentials, context=_context(row.id))
    )
    return credentials


def _context(connection_id: int | None) -> str:
    if connection_id is None:
        raise LookupError("a connection that is not stored yet has no id")
    return column_context("connections", connection_id, "credentials")
