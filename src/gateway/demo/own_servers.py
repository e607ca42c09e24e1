"""The own servers of the demo (`sandbox.own_servers`), and their connections in its database."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlmodel import col, select

from gateway.demo.manifest import State
from gateway.errors import CommandError
from gateway.operations.connections import ConnectionChange, ConnectionService, NewConnection
from gateway.operations.validation import validated
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow
from sandbox.own_servers import servers as own_servers
from sandbox.own_servers.contents import OWNER
from sandbox.own_servers.processes import CannotStart
from sandbox.own_servers.servers import NONE, OwnServers

MARKER = "own-servers"  # a file of the demo's folder, since there are connections to own servers
_RESOURCE = 1  # "main"


@contextmanager
def running() -> Iterator[OwnServers]:
    """
    Run the servers that are installed.

    Raises:
        CommandError: None is installed, or one does not start.
    """
    with ExitStack() as stack:
        try:
            servers = stack.enter_context(own_servers.running())
        except CannotStart as problem:
            raise CommandError(str(problem)) from problem
        yield servers


async def connect(database: Database, state: State, servers: OwnServers | None) -> None:
    """
    Connect the accounts of *servers*; those of an earlier start get new addresses and passwords.

    Connections of servers that do not run are disabled.
    """
    servers = servers or NONE
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
