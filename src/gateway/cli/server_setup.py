"""Connects accounts on own servers: their servers are searched for, tried and stored."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.cli import first_use
from gateway.cli.account_setup import connections_of, create_working, exit_on_signals
from gateway.cli.commands.connection_add import AddOptions
from gateway.cli.console import info
from gateway.cli.stores import open_services, open_store
from gateway.errors import CommandError
from gateway.operations import rows, views
from gateway.operations.connections import NewConnection
from gateway.operations.server_discovery import search as server_search
from gateway.operations.server_discovery import views as discovery_views
from gateway.operations.validation import validated
from gateway.services import Services
from gateway.store.tables import ConnectionRow
from providers.catalogue.tables import OWN_SERVERS, SERVICES
from providers.server_discovery.search import Discovery

_NOTHING_STORED = "Nothing is stored."


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """
    An account that `connection add --imap` or `--caldav` connects.

    Attributes:
        password: None with *oauth*.
        oauth: Members of `credentials` with an access token; None: a password.
        environment: The file of the first use; None: the deployment is set up.
    """

    options: AddOptions
    password: str | None = field(repr=False)
    oauth: Mapping[str, Any] | None = field(repr=False)
    environment: Path | None

    @property
    def email(self) -> str:
        return self.options.imap or self.options.caldav

    def search(self) -> server_search.ServerSearch:
        """
        Return the search for its servers.

        Raises:
            InvalidInput: A value is not valid.
        """
        options = self.options
        members = {
            "accountEmail": self.email,
            "kinds": ["email", "calendar"] if options.imap else ["calendar"],
            "username": options.username or None,
            "password": self.password,
            "baseUrl": options.server or None,
            "submissionUrl": options.submission or None,
            "calendarUrl": options.calendar_server or None,
            "confirmedHosts": options.confirm or [],
        }
        return validated(server_search.ServerSearch, members)


@dataclass(frozen=True, slots=True)
class AddedAccounts:
    """
    The result of `add`.

    Attributes:
        offered: The calendar server that takes the password too and is not connected; "": none.
    """

    connections: Sequence[views.Connection]
    discovery: discovery_views.ServerDiscovery
    offered: str = ""


async def add(account: OwnAccount) -> AddedAccounts:
    """
    Find the servers of an account, connect it, and say what was tried.

    Raises:
        CommandError: No server answers, or one refuses the login; nothing is stored.
        InvalidInput: A value is not valid.
    """
    exit_on_signals()
    async with open_services() as services:
        discovery = await _discover(services, account)
        _require(account, discovery)
        wanted = _connections(account, discovery)
        offered = ""
        calendar = discovery.calendar
        if not account.options.caldav and calendar is not None and calendar.signed_in:
            question = f"Calendars: {calendar.calendars}, at {calendar.server}. Connect them too?"
            if _ask(question):
                wanted.append(_calendar(account, discovery))
            else:
                offered = calendar.server
        async with services.database.writing() as session:
            if account.environment is None:
                owner = await first_use.only_owner(
                    session, account.options.operator, account.options.resource
                )
            else:
                owner = await first_use.first_owner(session, account.email, account.environment)
        created = [await create_working(services, _with_owner(new, owner)) for new in wanted]
        return AddedAccounts(created, discovery_views.view(discovery), offered)


async def is_own(connection_id: int) -> bool:
    """Return whether a connection is one to an own server."""
    async with open_store() as (database, _, _), database.reading() as session:
        row = await rows.get(session, ConnectionRow, connection_id)
        return row.provider in OWN_SERVERS


async def change_password(connection_id: int, password: str) -> views.Connection:
    """
    Store another password of an account, with its user and servers as they are, and test it.

    Raises:
        CommandError: The account does not answer; the password is stored all the same.
    """
    async with open_services() as services:
        async with services.database.writing() as session:
            await connections_of(services).replace_secret(session, connection_id, password)
        async with services.database.reading() as session:
            row = await rows.get(session, ConnectionRow, connection_id)
        result = await services.accounts.test(row)
        if not result.ok:
            raise CommandError(f"{result.detail} The password is stored.")
        async with services.database.reading() as session:
            return connections_of(services).view(
                await rows.get(session, ConnectionRow, connection_id)
            )


async def _discover(services: Services, account: OwnAccount) -> Discovery:
    """Search, and ask about the hosts that need a confirmation while that may help."""
    search = account.search()
    dns_server = services.settings.dns_server
    while True:
        discovery = await server_search.run(services.accounts, search, dns_server=dns_server)
        for step in discovery.steps:
            info(f"  {step.outcome.value:<18}  {step.target}  {step.detail}")
        if _is_enough(account, discovery):
            return discovery
        confirmed = [
            confirmation.host
            for confirmation in discovery.confirmations
            if _ask(f"{confirmation.reason} Send the password to {confirmation.host}?")
        ]
        if not confirmed:
            return discovery
        hosts = [*search.confirmed_hosts, *confirmed]
        search = search.model_copy(update={"confirmed_hosts": hosts})


def _is_enough(account: OwnAccount, discovery: Discovery) -> bool:
    mail, calendar = discovery.mail, discovery.calendar
    has_mail = mail is not None and (bool(mail.submission) or account.options.read_only)
    return (has_mail or not account.options.imap) and (
        calendar is not None or not account.options.caldav
    )


def _require(account: OwnAccount, discovery: Discovery) -> None:
    """Raise CommandError unless what is to be connected was found and takes the login."""
    problems, is_missing = [], False
    for wanted, result, kind, option in (
        (account.options.imap, discovery.mail, "mail", "--server imaps://HOST"),
        (account.options.caldav, discovery.calendar, "calendar", "--calendar-server https://HOST"),
    ):
        if not wanted:
            continue
        if result is None:
            is_missing = True
            problems.append(f"No {kind} server was found that answers: name it by {option}.")
        elif result.refused:
            problems.append(
                f"The {kind} server {result.server} refused the user name or the password."
            )
    if not problems:
        return
    hosts = [confirmation.host for confirmation in discovery.confirmations]
    if hosts and is_missing:
        options = " ".join(f"--confirm {host}" for host in hosts)
        problems.append(f"Hosts that must be confirmed before they get a password: {options}")
    raise CommandError("\n".join([*problems, _NOTHING_STORED]))


def _connections(account: OwnAccount, discovery: Discovery) -> list[dict[str, Any]]:
    wanted = []
    if account.options.imap and discovery.mail is not None:
        submission = "" if account.options.read_only else discovery.mail.submission
        if not submission and not account.options.read_only:
            info("No server for outgoing mail works: mail will be read and not changed.")
        login = {"username": discovery.mail.username, **_secret(account)}
        wanted.append(
            {
                "kind": "email",
                "provider": "IMAP",
                "accountEmail": account.email,
                "baseUrl": discovery.mail.server,
                "credentials": {**login, **({"submissionUrl": submission} if submission else {})},
            }
        )
    if account.options.caldav:
        wanted.append(_calendar(account, discovery))
    return wanted


def _calendar(account: OwnAccount, discovery: Discovery) -> dict[str, Any]:
    if discovery.calendar is None:
        raise LookupError("no calendar server was found")
    return {
        "kind": "calendar",
        "provider": "CALDAV",
        "accountEmail": account.email,
        "baseUrl": discovery.calendar.server,
        "grantedScopes": list(
            SERVICES["calendar", "CALDAV"].people_scopes if account.options.people else ()
        ),
        "credentials": {"username": discovery.calendar.username, **_secret(account)},
    }


def _secret(account: OwnAccount) -> Mapping[str, Any]:
    return account.oauth if account.oauth is not None else {"password": account.password}


def _with_owner(new: dict[str, Any], owner: tuple[str, int]) -> NewConnection:
    operator_id, resource_id = owner
    return validated(NewConnection, {**new, "operatorId": operator_id, "resourceId": resource_id})


def _ask(question: str) -> bool:
    """Ask on a terminal; False where there is none."""
    if not sys.stdin.isatty():
        return False
    info(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
