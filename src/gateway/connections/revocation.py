"""
Revocation of a removed connection's credentials at its provider, best effort.

Providers revoke whatever an account has granted to our client. So a grant that another connection
of the same account still uses is kept. See docs/spec/management.md#removing-a-connection.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.connections import rows as connection_rows
from gateway.connections import shared
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.secrets.keyring import Keyring
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.event_ids import delete_events_of
from gateway.store.tables import ConnectionRow
from providers.failures import ProviderFailure

T = TypeVar("T")


class Revocation(StrEnum):
    """Result of a revocation."""

    REVOKED = "revoked"
    SHARED = "shared"
    UNSUPPORTED = "unsupported"
    NOT_CONSENTED = "not-consented"
    FAILED = "failed"

    @property
    def sentence(self) -> str:
        """The result for an operator."""
        return _SENTENCES[self]


_SENTENCES: Mapping[Revocation, str] = MappingProxyType(
    {
        Revocation.REVOKED: "Its consent is revoked at the provider.",
        Revocation.SHARED: "Its consent is kept at the provider: another connection of the "
        "account uses it.",
        Revocation.UNSUPPORTED: "The provider has no revocation: the account's owner can remove "
        "the application in the account's settings.",
        Revocation.NOT_CONSENTED: "It had no consent to revoke: an API token or a client secret "
        "stays valid until it is deleted at the provider.",
        Revocation.FAILED: "Its consent could not be revoked at the provider: the account's owner "
        "can remove the application in the account's settings.",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRevocation:
    """
    A revocation to be made once the connection is removed.

    Attributes:
        stored: The credentials.
        known: The result that is known already; None: the refresh token is to be revoked.
    """

    connection_id: int
    provider: str
    stored: Mapping[str, Any] = field(repr=False)
    known: Revocation | None = None


class ConsentRevoker(msgspec.Struct, frozen=True):
    """Revokes consents of removed connections."""

    keyring: Keyring
    endpoints: TokenEndpoints

    async def remove(
        self,
        database: Database,
        removed: ColumnElement[bool],
        remove_rows: Callable[[AsyncSession], Awaitable[T]],
    ) -> tuple[T, dict[int, Revocation]]:
        """
        Remove connections by *remove_rows*, and then revoke their consents.

        *removed* selects these connections. The result is that of *remove_rows*, and those of the
        revocations by connection id.
        """

        @retried
        async def delete() -> tuple[T, list[PendingRevocation]]:
            async with database.writing() as session:
                pending = await self._prepare_all(session, removed)
                return await remove_rows(session), pending

        await delete_events_of(database, shared.with_shared(removed))
        result, pending = await delete()
        results = await asyncio.gather(*map(self._revoke, pending))  # never fails
        ids = (revocation.connection_id for revocation in pending)
        return result, dict(sorted(zip(ids, results, strict=True)))

    async def _prepare_all(
        self, session: AsyncSession, condition: ColumnElement[bool]
    ) -> list[PendingRevocation]:
        """Read what is needed to revoke the consents of connections that will be removed."""
        removed = (await session.exec(select(ConnectionRow).where(condition))).all()
        ids = [row.id for row in removed]
        return [
            await self._prepare(session, row, removed_ids=ids)
            for row in removed
            if row.shared_on not in ids  # the result of the base tells it of both
        ]

    async def _prepare(
        self, session: AsyncSession, row: ConnectionRow, *, removed_ids: Sequence[int | None]
    ) -> PendingRevocation:
        known: Revocation | None
        try:
            stored = connection_rows.unseal(row, self.keyring)
        except ValueError:  # sealed with a key that left the ring
            stored, known = {}, Revocation.FAILED
        else:
            known = self._result_without_call(row, stored)
        if known is None and await _is_shared(session, row, removed_ids):
            known = Revocation.SHARED
        return PendingRevocation(
            connection_id=row.id or 0, provider=row.provider, stored=stored, known=known
        )

    def _result_without_call(
        self, row: ConnectionRow, stored: Mapping[str, Any]
    ) -> Revocation | None:
        if row.shared_on is not None:
            return Revocation.SHARED
        if not stored.get("refreshToken"):
            return Revocation.NOT_CONSENTED
        if self.endpoints.revocation_url(row.provider) is None:
            return Revocation.UNSUPPORTED
        return None

    async def _revoke(self, pending: PendingRevocation) -> Revocation:
        if pending.known is not None:
            return pending.known
        url = self.endpoints.revocation_url(pending.provider)
        endpoint = self.endpoints.token_endpoint(
            pending.connection_id, pending.provider, pending.stored
        )
        if endpoint is None or url is None:
            return Revocation.FAILED
        try:
            await endpoint.revoke(url, str(pending.stored["refreshToken"]))
        except ProviderFailure:
            return Revocation.FAILED
        return Revocation.REVOKED


async def _is_shared(
    session: AsyncSession, row: ConnectionRow, removed_ids: Sequence[int | None]
) -> bool:
    """Return whether a connection that stays has credentials of the same account."""
    others = (
        select(ConnectionRow.id)
        .where(
            col(ConnectionRow.provider) == row.provider,
            func.lower(col(ConnectionRow.account_email)) == row.account_email.lower(),
            col(ConnectionRow.id).not_in(removed_ids),
            col(ConnectionRow.credentials).is_not(None),
        )
        .limit(1)
    )
    return (await session.exec(others)).first() is not None
