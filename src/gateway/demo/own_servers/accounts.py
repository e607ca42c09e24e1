"""The connections of the own servers, in the demo's database."""

from collections.abc import Iterator
from typing import Any

from sqlmodel import col, select

from gateway.demo.manifest import State
from gateway.demo.own_servers.contents import OWNER
from gateway.demo.own_servers.servers import OwnServers
from gateway.operations.connections import ConnectionChange, ConnectionService, NewConnection
from gateway.operations.validation import validated
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow

_RESOURCE = 1  # "main"


async def connect(database: Database, state: State, servers: OwnServers) -> None:
    """
    Connect the accounts of *servers*; those of an earlier start get new addresses and passwords.

    Connections of servers that do not run are disabled.
    """
    keyring = Keyring([state.secret_key])
    service = ConnectionService(keyring=keyring, allowed_origins=frozenset())
    for kind, provider, members in _accounts(servers):
        async with database.writing() as session:
            query = select(ConnectionRow.id).where(
                col(ConnectionRow.provider) == provider, col(ConnectionRow.account_email) == OWNER
            )
            connection_id = (await session.exec(query)).first()
            if connection_id is not None:
                status = "active" if members else "disabled"
                change = validated(ConnectionChange, {**members, "status": status})
                await service.change(session, connection_id, change)
            elif members:
                new = {
                    "resourceId": _RESOURCE,
                    "operatorId": state.operator_id,
                    "kind": kind,
                    "provider": provider,
                    "accountEmail": OWNER,
                    **members,
                }
                await service.create(session, validated(NewConnection, new))


def _accounts(servers: OwnServers) -> Iterator[tuple[str, str, dict[str, Any]]]:
    login = {"username": OWNER, "password": servers.password}
    sending = {"submissionUrl": servers.submission} if servers.submission else {}
    mail = {"baseUrl": servers.mail, "credentials": {**login, **sending}}
    yield "email", "IMAP", mail if servers.mail else {}
    calendar = {"baseUrl": servers.calendar, "credentials": login}
    yield "calendar", "CALDAV", calendar if servers.calendar else {}
