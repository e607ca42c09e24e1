"""
One-time links with which the owner of an account renews its credentials, made by an operator.

A link is a row beside the pending consents, under the digest of its text. It works until it has
renewed the connection once, or it ends: docs/spec/connection-health.md#one-time-reconnect-links.
"""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import tokens
from gateway.connections import rows as connection_rows
from gateway.connections.accounts import Accounts
from gateway.connections.oauth_flow import OAuthFlow, PendingConsent
from gateway.connections.reconnect_links import DEFAULT_HOURS
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow, OAuthAttempt
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code
from providers.catalogue.tables import OWN_SERVERS

PATH = "/oauth/link"
MAX_TRIES = 5  # of passwords, so that a link is not a way to guess one
_HOUR = 60 * 60 * 1000  # milliseconds
_TEXT_LENGTH = 43  # characters of 256 bits


class LinkEnded(Exception):
    """The link was used, has ended, or never was one."""


class PasswordRefused(Exception):
    """*message*: why the password was not stored, for the person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class OneTimeLink(msgspec.Struct, frozen=True):
    """A link that was made: the URL for the person, and its end in milliseconds."""

    url: str
    expires_at: int


class OneTimeLinks:
    """Makes links, and renews connections by them. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        base_url: str,
        *,
        oauth: OAuthFlow,
        accounts: Accounts,
    ) -> None:
        self._database = database
        self._keyring = keyring
        self._base_url = base_url
        self._oauth = oauth
        self._accounts = accounts

    @retried
    async def create(self, connection_id: int, *, hours: int = DEFAULT_HOURS) -> OneTimeLink:
        """
        Make a link for the owner of a connection; *hours* from 1 to
        `reconnect_links.MAX_HOURS`.

        Raises:
            NotFound: There is no such connection.
            InvalidInput: Its owner cannot renew it: it is app-only, this deployment has no client
                for its provider, or its server takes access tokens.
        """
        text = secrets.token_urlsafe(32)
        async with self._database.writing() as session:
            row = await session.get(ConnectionRow, connection_id)
            if row is None:
                raise NotFound(
                    f"There is no connection {connection_id}.", code=Code.CONNECTION_NOT_FOUND
                )
            self._require_renewable(row)
            expires_at = timestamps.now_ms() + hours * _HOUR
            session.add(
                OAuthAttempt(
                    id=_digest(text),
                    connection_id=connection_id,
                    secret=self._sealed(_digest(text), tries=0),
                    expires_at=expires_at,
                )
            )
            note(session, "createReconnectLink", connection_id)
        return OneTimeLink(f"{self._base_url}{PATH}/{text}", expires_at)

    async def connection_of(self, text: str) -> ConnectionRow:
        """
        Return the connection that a link is for.

        Raises:
            LinkEnded: It is not valid any more.
        """
        async with self._database.reading() as session:
            link = await session.get(OAuthAttempt, _digest(text))
            return await self._row_of(session, link)

    async def start_consent(self, text: str, *, redirect_uri: str) -> PendingConsent:
        """
        Start the consent of a link, which ends when the consent has succeeded.

        Raises:
            LinkEnded: It is not valid any more, or consent has become impossible.
        """
        row = await self.connection_of(text)
        try:
            return await self._oauth.start(
                row.id or 0, redirect_uri=redirect_uri, link=_digest(text)
            )
        except (NotFound, InvalidInput) as failure:
            raise LinkEnded from failure

    async def accept_password(self, text: str, password: str) -> ConnectionRow:
        """
        Try a new password at the own server of a link's connection, and store it if it is taken.

        Raises:
            LinkEnded: The link is not valid any more, or too many passwords were tried.
            PasswordRefused: The server refuses it, or does not answer; nothing is stored.
        """
        row, stored = await self._count_try(text)
        result = await self._accounts.try_login(row, {**stored, "password": password})
        if not result.ok:
            raise PasswordRefused(result.detail)
        return await self._store(text, password)

    @retried
    async def _count_try(self, text: str) -> tuple[ConnectionRow, dict[str, Any]]:
        """Count a password that is to be tried; return the connection and its credentials."""
        async with self._database.writing() as session:
            link = await session.get(OAuthAttempt, _digest(text), with_for_update=True)
            row = await self._row_of(session, link)
            if link is None or row.provider not in OWN_SERVERS:
                raise LinkEnded
            tries = self._read(link)["tries"] + 1
            if tries > MAX_TRIES:
                raise LinkEnded
            link.secret = self._sealed(link.id, tries=tries)
            session.add(link)
            return row, self._login(row)

    @retried
    async def _store(self, text: str, password: str) -> ConnectionRow:
        async with self._database.writing() as session:
            link = await session.get(OAuthAttempt, _digest(text), with_for_update=True)
            row = await self._row_of(session, link)
            await session.delete(link)
            login = self._login(row)
            members = ("username", "submissionUrl")
            renewed: dict[str, Any] = {name: login[name] for name in members if name in login}
            connection_rows.replace(row, {**renewed, "password": password}, self._keyring)
            connection_rows.set_active(row)
            row.updated_at = row.last_ok_at = timestamps.now_ms()
            session.add(row)
            await tokens.bump_policy_rev(session, [row.resource_id])
            note(session, "reconnectConnection", row.id)
        self._accounts.forget(row.id or 0)
        return row

    def _login(self, row: ConnectionRow) -> dict[str, Any]:
        """Return the credentials of an own server; without stored ones, the address is the user."""
        try:
            stored = connection_rows.unseal(row, self._keyring)
        except ValueError:  # sealed with a key that left the ring
            raise LinkEnded from None
        return {"username": row.account_email, **stored}

    def _require_renewable(self, row: ConnectionRow) -> None:
        if row.provider not in OWN_SERVERS:
            self._oauth.require_consent(row)
            return
        try:
            has_password = "accessToken" not in self._login(row)
        except LinkEnded:
            has_password = False
        if not has_password:
            raise InvalidInput(
                "Only an operator can replace the credentials of this connection: an access token, "
                "or sealed with a key that is gone.",
                code=Code.INVALID_REQUEST,
            )

    async def _row_of(self, session: AsyncSession, link: OAuthAttempt | None) -> ConnectionRow:
        if (
            link is None
            or link.expires_at <= timestamps.now_ms()
            or "tries" not in self._read(link)
        ):
            raise LinkEnded
        row = await session.get(ConnectionRow, link.connection_id)
        if row is None:
            raise LinkEnded
        return row

    def _read(self, link: OAuthAttempt) -> Mapping[str, Any]:
        try:
            secret: Mapping[str, Any] = orjson.loads(
                self._keyring.decrypt(link.secret, context=_context(link.id))
            )
        except ValueError:  # sealed with a key that left the ring
            raise LinkEnded from None
        return secret

    def _sealed(self, digest: str, *, tries: int) -> bytes:
        content = orjson.dumps({"tries": tries})
        return self._keyring.encrypt(content, context=_context(digest))


def _digest(text: str) -> str:
    """Return the key of a link's row, which does not reveal the link."""
    if len(text) != _TEXT_LENGTH:
        raise LinkEnded
    digest = hashlib.sha256(text.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _context(digest: str) -> str:
    return f"oauth_attempts:{digest}:secret"
