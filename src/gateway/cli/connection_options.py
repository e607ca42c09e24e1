"""The options of `connection add`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.options import argument

Kind = Annotated[
    str | None, argument("email, calendar, tasks or collab.", "policy.vocabulary:Surface")
]
Provider = Annotated[
    str | None, argument("Its code, such as PROVIDER_A.", "providers.catalogue.tables:CODES")
]
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

ApiToken = Annotated[
    bool, typer.Option("--api-token", help="Read an API token from standard input.")
]
Sites = Annotated[
    list[str] | None,
    typer.Option(help="App-only: a site's id, repeatable. The secret is read from stdin."),
]
Server = Annotated[
    str,
    typer.Option(
        help="Own server: its address, such as imaps://mail.example.org (IMAP) or "
        "https://calendar.example.org (CALDAV). The password is read from stdin."
    ),
]
Submission = Annotated[
    str,
    typer.Option(
        help="Own mail server: the server for outgoing mail, such as smtps://mail.example.org. "
        "Without it mail is read and not changed."
    ),
]
Username = Annotated[str, typer.Option(help="Own server: the user, if not the account's address.")]
Imap = Annotated[
    str,
    typer.Option(
        "--imap",
        metavar="ADDRESS",
        help="Connect a mailbox on an own server: its servers are searched for and tried.",
    ),
]
Caldav = Annotated[
    str,
    typer.Option(
        "--caldav",
        metavar="ADDRESS",
        help="Connect calendars on an own server, which is searched for and tried.",
    ),
]
CalendarServer = Annotated[
    str, typer.Option(help="With --caldav: the server, such as https://calendar.example.org.")
]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="With --imap, --caldav: read the password from this file. Default: it is asked for "
        "without echo on a terminal, else read from standard input.",
    ),
]
OAuth = Annotated[
    Path | None,
    typer.Option(
        "--oauth",
        exists=True,
        dir_okay=False,
        help="With --imap: a JSON file with accessToken, and refreshToken, tokenUrl, clientId and "
        "clientSecret, instead of a password.",
    ),
]
Confirm = Annotated[
    list[str] | None,
    typer.Option(
        help="With --imap, --caldav: a host that may get the password although DNS alone names "
        "it, or although it is in this network; repeatable."
    ),
]
Init = Annotated[
    bool,
    typer.Option(
        "--init",
        help="With --imap, --caldav: first make what a new deployment needs, secrets, an "
        "operator, a resource and a token, and write it to the file `environment` of the data "
        "folder.",
    ),
]
Untested = Annotated[bool, typer.Option("--untested", help="Store the secret without testing it.")]
Account = Annotated[str | None, typer.Argument(help="The account's address.")]
Operator = Annotated[
    str, typer.Option(help="The operator's id; may be left out while there is one.")
]
Resource = Annotated[
    int | None, typer.Option(help="The resource's id; may be left out while there is one.")
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Request read access.")]
Tenant = Annotated[str, typer.Option(help="App-only: the tenant.")]
ClientId = Annotated[str, typer.Option(help="App-only: the client's id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """The options as they were given."""

    kind: str | None
    provider: str | None
    account: str | None
    imap: str
    caldav: str
    operator: str
    resource: int | None
    read_only: bool
    api_token: bool
    site: list[str] | None
    tenant: str
    client_id: str
    server: str
    submission: str
    calendar_server: str
    username: str
    password_file: Path | None
    oauth: Path | None
    confirm: list[str] | None
    init: bool
    untested: bool
    device: bool
    browser: bool
    callback_port: int | None
    as_json: bool
