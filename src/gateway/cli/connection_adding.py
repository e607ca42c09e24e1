"""`connection add`: checks the options, reads the secret, connects, and reports."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gateway.cli.connection_options import AddOptions
from gateway.cli.console import failures_as_sentences, info, report, run_async
from gateway.cli.options import refuse
from providers.catalogue.tables import OWN_SERVERS

if TYPE_CHECKING:
    from gateway.cli.server_setup import AddedAccounts
    from gateway.operations.views import Connection


def add(options: AddOptions) -> None:
    """Connect an account by consent or with a secret."""
    by_address = (options.calendar_server, options.password_file, options.oauth, options.confirm)
    refuse(
        (any(by_address) or options.init, "such options go with --imap or --caldav"),
        (
            not (options.kind and options.provider and options.account),
            "name KIND, PROVIDER and ACCOUNT, or give --imap or --caldav with an address",
        ),
        (options.api_token and options.client_id, "give --api-token or --client-id, not both"),
        (bool(options.client_id) != bool(options.tenant), "--client-id and --tenant go together"),
        (options.site and not options.client_id, "--site goes with --client-id and --tenant"),
        (options.client_id and options.kind != "collab", "--client-id is for collab alone"),
        *_contradictions_of_servers(options),
        *_contradictions_of_secrets(options),
    )
    from gateway.cli import account_setup

    secret = _read_secret() if _has_secret(options) else None
    connection = run_async(lambda: account_setup.add(options, secret))
    report_connection(connection, as_json=options.as_json)


def add_by_address(options: AddOptions) -> None:
    """Connect an account on own servers, which are searched for."""
    imap, caldav = options.imap, options.caldav
    others = (options.kind, options.api_token, options.client_id, options.tenant, options.site)
    refuse(
        (
            any(others) or options.untested or options.device,
            "--imap and --caldav need no such option",
        ),
        (imap and caldav and imap != caldav, "--imap and --caldav need the same address"),
        (options.oauth and (caldav or options.password_file), "--oauth goes with --imap alone"),
        (options.calendar_server and not caldav, "--calendar-server goes with --caldav"),
        (
            (options.server or options.submission) and not imap,
            "--server and --submission go with --imap",
        ),
    )
    from gateway.cli import first_use, server_setup

    email = imap or caldav
    grant = None if options.oauth is None else _read_grant(options.oauth)
    password = read_password(email, options.password_file) if grant is None else None
    with failures_as_sentences():
        environment = first_use.prepare_environment() if options.init else None
    account = server_setup.OwnAccount(options, password, grant, environment)
    added = run_async(lambda: server_setup.add(account))
    result = {"connections": added.connections, "discovery": added.discovery}
    report(result, lambda: _report_added(added, email, environment), as_json=options.as_json)


def report_connection(connection: "Connection", *, as_json: bool) -> None:
    """Report a connection that was added or changed."""
    sentence = f"Connection {connection.id} ({connection.account_email}) is {connection.status}."
    report(connection, sentence, as_json=as_json)


def _report_added(added: "AddedAccounts", email: str, environment: Path | None) -> None:
    for connection in added.connections:
        writes = "reads and writes" if connection.can_write else "reads"
        target = f"{connection.kind} at {connection.base_url}"
        info(f"Connection {connection.id} ({target}) is {connection.status}: it {writes}.")
    if added.offered:
        info(f"Calendars answer too, at {added.offered}: `connection add --caldav {email}`.")
    if environment is not None:
        info(f"Next: `. {environment}`, then `./run serve`. $TOKEN is the access token.")


def _contradictions_of_servers(options: AddOptions) -> Iterator[tuple[object, str]]:
    provider, server = options.provider or "", options.server
    own = provider if provider in OWN_SERVERS else "IMAP"
    is_own = provider in OWN_SERVERS
    yield bool(server) != is_own, f"--server and the provider {own} go together"
    is_other = options.api_token or options.client_id
    yield server and is_other, "--server goes with a password alone"
    companion = options.username or options.submission
    yield companion and not server, "--username and --submission go with --server"


def _contradictions_of_secrets(options: AddOptions) -> Iterator[tuple[object, str]]:
    secrets, has_secret = "--api-token, --client-id", _has_secret(options)
    device, untested = options.device, options.untested
    yield has_secret and device, f"--device is for consent: leave out {secrets}, --server"
    yield untested and not has_secret, f"--untested goes with {secrets} or --server"


def _has_secret(options: AddOptions) -> bool:
    return bool(options.api_token or options.client_id or options.server)


def read_password(account: str, file: Path | None) -> str:
    """Read a password from a file, without echo from a terminal, or from standard input."""
    from getpass import getpass

    if file is not None:
        password = file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    elif sys.stdin.isatty():
        password = getpass(f"Password of {account}: ", stream=sys.stderr)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise typer.BadParameter("the password is empty")
    return password


def _read_grant(file: Path) -> dict[str, Any]:
    try:
        grant = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise typer.BadParameter("the file of --oauth is not JSON") from None
    if not isinstance(grant, dict) or "accessToken" not in grant:
        raise typer.BadParameter("the file of --oauth has no accessToken")
    return grant


def _read_secret() -> str:
    secret = sys.stdin.readline().strip()
    if not secret:
        raise typer.BadParameter("the secret is read from standard input: put `< FILE` behind it")
    return secret
