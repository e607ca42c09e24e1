"""`connection add`: collects options and secret, has the account connected, and reports."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import failures_as_sentences, info, report, run_async
from gateway.cli.options import AsJson, argument, refuse, taking
from providers.catalogue.tables import OWN_SERVERS

if TYPE_CHECKING:
    from gateway.cli.server_setup import AddedAccounts
    from gateway.operations.views import Connection

Device = Annotated[
    bool,
    typer.Option(
        "--device", help="Consent on another device, with a code; not every provider supports it."
    ),
]
CallbackPort = Annotated[
    int | None,
    typer.Option(
        "--callback-port",
        min=0,
        max=65535,
        help="Port of this machine that the provider redirects to after the consent. Default: "
        "8765, for providers that compare the port with the registered one; 0: any free port.",
    ),
]
Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the address in a browser.")
]


_OPTIONS_OF_SHARED = frozenset(
    {"shared", "on", "operator", "resource", "read_only", "untested", "as_json", "browser"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """The options of `connection add`, in the order of its help; `imap` or `caldav`: an address."""

    kind: Annotated[
        str | None, argument("email, calendar, tasks or collab.", "policy.vocabulary:Surface")
    ] = None
    provider: Annotated[
        str | None, argument("Its code, such as PROVIDER_A.", "providers.catalogue.tables:CODES")
    ] = None
    account: Annotated[str | None, typer.Argument(help="The account's address.")] = None
    imap: Annotated[
        str,
        typer.Option(
            "--imap",
            metavar="ADDRESS",
            help="Connect a mailbox on an own server: its servers are searched for and tried.",
        ),
    ] = ""
    caldav: Annotated[
        str,
        typer.Option(
            "--caldav",
            metavar="ADDRESS",
            help="Connect calendars on an own server, which is searched for and tried.",
        ),
    ] = ""
    operator: Annotated[
        str, typer.Option(help="The operator's id; may be left out while there is one.")
    ] = ""
    resource: Annotated[
        int | None, typer.Option(help="The resource's id; may be left out while there is one.")
    ] = None
    read_only: Annotated[bool, typer.Option("--read-only", help="Request read access.")] = False
    people: Annotated[
        bool,
        typer.Option(
            "--people",
            help="Also request the scopes of contacts and directory (Gmail, Outlook); with the "
            "provider CALDAV or --caldav: also search the address books of the server.",
        ),
    ] = False
    shared_scopes: Annotated[
        bool,
        typer.Option(
            "--shared-scopes",
            help="Mail, calendars: also request the scopes of what others share with the owner.",
        ),
    ] = False
    shared: Annotated[
        str,
        typer.Option(
            "--shared",
            metavar="ADDRESS",
            help="Connect a mailbox, or calendars, that the owner of --on may open.",
        ),
    ] = ""
    on: Annotated[
        int | None,
        typer.Option(
            "--on",
            metavar="CONNECTION",
            help="With --shared: the id of the connection whose credentials are used.",
        ),
    ] = None
    google_delegation: Annotated[
        Path | None,
        typer.Option(
            "--google-delegation",
            exists=True,
            dir_okay=False,
            metavar="KEY.JSON",
            help="Google Workspace: the key file of a service account to which the domain "
            "delegates; it can act for everybody in the domain.",
        ),
    ] = None
    subject: Annotated[
        str, typer.Option(metavar="ADDRESS", help="With --google-delegation: the person.")
    ] = ""
    api_token: Annotated[
        bool, typer.Option("--api-token", help="Read an API token from standard input.")
    ] = False
    site: Annotated[
        list[str] | None,
        typer.Option(help="App-only: a site's id, repeatable. The secret is read from stdin."),
    ] = None
    tenant: Annotated[str, typer.Option(help="App-only: the tenant.")] = ""
    client_id: Annotated[str, typer.Option(help="App-only: the client's id.")] = ""
    server: Annotated[
        str,
        typer.Option(
            help="Own server: its address, such as imaps://mail.example.org (IMAP) or "
            "https://calendar.example.org (CALDAV). The password is read from stdin."
        ),
    ] = ""
    submission: Annotated[
        str,
        typer.Option(
            help="Own mail server: the server for outgoing mail, such as smtps://mail.example.org. "
            "Without it mail is read and not changed."
        ),
    ] = ""
    calendar_server: Annotated[
        str, typer.Option(help="With --caldav: the server, such as https://calendar.example.org.")
    ] = ""
    username: Annotated[
        str, typer.Option(help="Own server: the user, if not the account's address.")
    ] = ""
    password_file: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="With --imap, --caldav: read the password from this file. Default: it is asked "
            "for without echo on a terminal, else read from standard input.",
        ),
    ] = None
    oauth: Annotated[
        Path | None,
        typer.Option(
            "--oauth",
            exists=True,
            dir_okay=False,
            help="With --imap: a JSON file with accessToken, and refreshToken, tokenUrl, clientId "
            "and clientSecret, instead of a password.",
        ),
    ] = None
    confirm: Annotated[
        list[str] | None,
        typer.Option(
            help="With --imap, --caldav: a host that may get the password although DNS alone names "
            "it, or although it is in this network; repeatable."
        ),
    ] = None
    init: Annotated[
        bool,
        typer.Option(
            "--init",
            help="With --imap, --caldav: first make what a new deployment needs, secrets, an "
            "operator, a resource and a token, and write it to the file `environment` of the data "
            "folder.",
        ),
    ] = False
    untested: Annotated[
        bool, typer.Option("--untested", help="Store the secret without testing it.")
    ] = False
    device: Device = False
    browser: Browser = True
    callback_port: CallbackPort = None
    as_json: AsJson = False


@taking(AddOptions)
def add(options: AddOptions) -> None:
    """
    Connect an account: by its address, by consent, or with the secret that an option asks for.

    With --imap or --caldav the servers are searched for and tried; the password goes only to a
    server with a valid certificate that the domain or you name. If the account does not answer,
    or its owner does not agree, nothing is stored, and the exit code is 1.
    """
    if options.shared or options.on is not None:
        _add_shared(options)
    elif options.imap or options.caldav:
        _add_by_address(options)
    else:
        _add_named(options)


def _add_named(options: AddOptions) -> None:
    """Connect an account by consent or with a secret."""
    delegation = options.google_delegation
    if delegation is not None and not options.account:
        options = replace(options, account=options.subject)
    by_address = (options.calendar_server, options.password_file, options.oauth, options.confirm)
    refuse(
        (any(by_address) or options.init, "such options go with --imap or --caldav"),
        (
            not (options.kind and options.provider and options.account),
            "name KIND, PROVIDER and ACCOUNT, or give --imap or --caldav with an address",
        ),
        ((delegation is None) != (not options.subject), "--google-delegation takes --subject"),
        (
            delegation is not None and (options.api_token or options.client_id or options.server),
            "--google-delegation goes with no other secret",
        ),
        (options.api_token and options.client_id, "give --api-token or --client-id, not both"),
        (bool(options.client_id) != bool(options.tenant), "--client-id and --tenant go together"),
        (options.site and not options.client_id, "--site goes with --client-id and --tenant"),
        (options.client_id and options.kind != "collab", "--client-id is for collab alone"),
        *_contradictions_of_servers(options),
        *_contradictions_of_secrets(options),
    )
    from gateway.cli import account_setup

    if delegation is not None:
        secret: str | None = delegation.read_text("utf-8", "replace")
    else:
        secret = _read_secret() if _has_secret(options) else None
    connection = run_async(lambda: account_setup.add(options, secret))
    report_connection(connection, as_json=options.as_json)


def _add_shared(options: AddOptions) -> None:
    """Connect a mailbox that is shared with the owner of another connection."""
    of_accounts = {name: value for name, value in asdict(options).items() if value}
    others = of_accounts.keys() - _OPTIONS_OF_SHARED
    refuse(
        (not options.shared or options.on is None, "--shared and --on go together"),
        (others, "--shared takes kind, provider and credentials of --on"),
    )
    from gateway.cli import account_setup

    connection = run_async(lambda: account_setup.share(options, options.on or 0))
    report_connection(connection, as_json=options.as_json)


def _add_by_address(options: AddOptions) -> None:
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
        (options.people and not caldav, "--people goes with --caldav"),
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
    secrets = (options.api_token, options.client_id, options.server, options.google_delegation)
    return any(secrets)


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
