"""Logins at own servers: those in the credentials of connections, and one that is tried."""

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.connections import rows as connection_rows
from gateway.connections.credentials import CredentialRepository
from providers.failures import NeedsReauth
from providers.imap.logins import Login


class StoredLogins(msgspec.Struct, frozen=True):
    """The logins in the credentials of connections; implements `providers.imap.logins.Logins`."""

    repository: CredentialRepository

    async def read(self, connection: int) -> Login:
        stored = await self.repository.read(connection)
        if "username" not in stored:
            raise NeedsReauth
        if "password" in stored:
            return _login(stored, str(stored["password"]))
        token = await self.repository.for_connection(connection).token()
        return _login(await self.repository.read(connection), token, has_token=True)

    async def renew(self, connection: int, login: Login) -> Login | None:
        if not login.has_token:
            return None
        credentials = self.repository.for_connection(connection)
        token = await credentials.token(rejected=login.password)
        return _login(await self.repository.read(connection), token, has_token=True)

    async def mark_refused(self, connection: int, login: Login, failure: NeedsReauth) -> None:
        await self.repository.mark_refused(connection, login.version, failure)

    async def note_submission(self, connection: int, *, refused: bool) -> None:
        await self.repository.note_submission(connection, refused=refused)


class TriedLogin(msgspec.Struct, frozen=True):
    """A login that is tried, and not stored; implements `providers.imap.logins.Logins`."""

    login: Mapping[str, Any]

    async def read(self, _connection: int, /) -> Login:
        key = {"idKey": "00" * connection_rows.ID_KEY_BYTES}  # ids of messages are not read
        return _login({**key, **self.login}, str(self.login["password"]))

    async def renew(self, connection: int, login: Login) -> None:
        """Have no other login."""

    async def mark_refused(self, connection: int, login: Login, failure: NeedsReauth) -> None:
        """Leave the connection as it is."""

    async def note_submission(self, connection: int, *, refused: bool) -> None:
        """Leave the connection as it is."""


def _login(stored: Mapping[str, Any], password: str, *, has_token: bool = False) -> Login:
    return Login(
        username=str(stored["username"]),
        password=password,
        id_key=bytes.fromhex(str(stored["idKey"])),
        version=int(stored.get("version", 0)),
        submission=str(stored.get("submissionUrl", "")),
        has_token=has_token,
    )
