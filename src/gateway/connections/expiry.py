"""
Ends of the credentials of connections, for those who look after a deployment.

Requests are warned of ends that their use does not move: `connections.expires_at`. A consent that
ends for want of use is moved by every use, so its end is told here alone.
See docs/spec/connection-health.md#ends.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlmodel import and_, col, func, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.connections import rows as connection_rows
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.tables import ConnectionRow
from providers.catalogue.causes import WARNED_MS, Cause
from providers.catalogue.tables import CONSENTS

# The refresh token is used when an access token ends: within a day (Microsoft: at most 28 hours).
_LATE_DAYS = 2
_EARLY_MS = 60_000  # clocks differ
_DAY_MS = 24 * 60 * 60 * 1000
_SHORTEST_MS = _DAY_MS * min(
    consent.unused_days - _LATE_DAYS for consent in CONSENTS.values() if consent.unused_days
)


class EndingConnection(msgspec.Struct, frozen=True):
    """A connection whose credentials end soon; *for_want_of_use*: a use of it moves the end."""

    id: int
    provider: str
    expires_at: int
    for_want_of_use: bool


def unused_end(row: ConnectionRow, keyring: Keyring) -> int | None:
    """Return when the consent of an active connection ends if nobody uses it, in milliseconds."""
    consent = CONSENTS.get(row.provider)
    if (
        consent is None
        or consent.unused_days is None
        or row.status != "active"
        or not _is_renewed(row, keyring)
    ):
        return None
    last_used = row.created_at if row.last_ok_at is None else row.last_ok_at
    return last_used + (consent.unused_days - _LATE_DAYS) * _DAY_MS


def cause_by_time(stored: Mapping[str, Any], now: int) -> Cause | None:
    """Return why a grant has ended if its times tell: not every provider tells causes apart."""
    if (ends := stored.get("refreshExpiresAt")) is not None and now >= ends - _EARLY_MS:
        return Cause.CONSENT_EXPIRED
    consent = CONSENTS.get(str(stored["provider"]))
    last_renewed = stored.get("expiresAt")  # or an hour later
    if consent is None or consent.unused_days is None or last_renewed is None:
        return None
    is_unused = now >= last_renewed + consent.unused_days * _DAY_MS
    return Cause.CONSENT_UNUSED if is_unused else None


def _is_renewed(row: ConnectionRow, keyring: Keyring) -> bool:
    try:
        return "refreshToken" in connection_rows.unseal(row, keyring)
    except ValueError:  # sealed with a key that left the ring
        return False


async def ending(session: AsyncSession, keyring: Keyring) -> Sequence[EndingConnection]:
    """Return the active connections whose credentials end soon, or have ended, by id."""
    soon, row = timestamps.now_ms() + WARNED_MS, ConnectionRow
    last_used = func.coalesce(col(row.last_ok_at), col(row.created_at))
    query = select(row).where(
        col(row.status) == "active",
        or_(
            col(row.expires_at) <= soon,
            and_(col(row.expires_at).is_(None), last_used <= soon - _SHORTEST_MS),
        ),
    )
    result = []
    for connection in await session.exec(query.order_by(col(ConnectionRow.id))):
        unused = connection.expires_at is None
        ends = unused_end(connection, keyring) if unused else connection.expires_at
        if ends is not None and ends <= soon:
            known = (connection.id or 0, connection.provider)
            result.append(EndingConnection(*known, ends, unused))
    return result
