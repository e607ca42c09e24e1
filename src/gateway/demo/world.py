"""The demo's upstreams: a sandbox over the store in the data folder, seeded with its world."""

from pathlib import Path
from typing import TYPE_CHECKING

from gateway.connections.oauth_servers import CALLBACK, LOOPBACK_PORT, SANDBOX_CLIENT, loopback_uri
from gateway.errors import CommandError
from sandbox.app import Sandbox, create
from sandbox.oauth.clients import ClientRegistry
from sandbox.world import shared_mailbox
from sandbox.world.calendar import events
from sandbox.world.collab import sites
from sandbox.world.mail import mailboxes
from sandbox.world.tasks import boards, projects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.importing.report import ImportReport, Progress

READ, WRITE = "read", "write"

# (upstream, use) -> the scopes of the access token.
SCOPES: "Mapping[tuple[str, str], tuple[str, ...]]" = {
    ("providerA", WRITE): (
        "https://www.googleapis.com/auth/gmail.modify",
        "https://www.googleapis.com/auth/gmail.send",
        "https://www.googleapis.com/auth/calendar.readonly",
    ),
    ("providerA", READ): ("https://www.googleapis.com/auth/gmail.readonly",),
    ("providerB", WRITE): (
        "Mail.ReadWrite",
        "Mail.Send",
        "Calendars.Read",
        "User.Read",
        "Mail.ReadWrite.Shared",
        "Mail.Send.Shared",
        "Calendars.Read.Shared",
    ),
    ("providerB", READ): ("Mail.Read", "User.Read"),
    ("collab", WRITE): ("Files.ReadWrite.All", "Sites.ReadWrite.All", "SensitivityLabel.Read"),
    ("collab", READ): ("Files.Read.All", "Sites.Read.All", "SensitivityLabel.Read"),
    ("tasks", WRITE): (
        "me:read",
        "boards:read",
        "boards:write",
        "updates:read",
        "updates:write",
        "users:read",
    ),
    ("projects", WRITE): (
        "workspaces:read",
        "users:read",
        "projects:read",
        "custom_fields:read",
        "tasks:read",
        "tasks:write",
        "tasks:delete",
        "stories:read",
        "stories:write",
        "tags:read",
    ),
}
APP_ONLY = ("Sites.Selected",)
# Further scopes of the manifest's own upstream tokens. The connections never write to a calendar,
# but people who try the demo add events upstream and watch the gateway return them.
PLANTING: "Mapping[tuple[str, str], tuple[str, ...]]" = {
    ("providerA", WRITE): ("https://www.googleapis.com/auth/calendar",),
    ("providerB", WRITE): ("Calendars.ReadWrite",),
}


def open_sandbox(data: Path, *, public_base: str) -> Sandbox:
    """
    Open the sandbox over the store in *data*, and seed what is missing.

    Nothing is refused for quota units and resource units: docs/spec/sandbox.md#quota-units.
    """
    sandbox = create(data, public_base=public_base)
    for upstream in sandbox.upstreams.values():
        if upstream.quota is not None:
            upstream.quota.allowance = None
    state = sandbox.state
    state.content.settings.units = None
    with state.database.transaction():  # a process that opens it at the same time waits
        mailboxes.seed(state.database, state.mails)
        events.seed(state.database, state.calendars)
        boards.seed(state.database)
        projects.seed(state.database)
        sites.seed(state.database, state.content)
        shared_mailbox.seed(state)
        register_client(sandbox, public_base.removesuffix("/sandbox"))
    return sandbox


def register_client(sandbox: Sandbox, base_url: str) -> None:
    """Register the gateway at *base_url* and its commands with every authorization server."""
    clients = ClientRegistry(sandbox.state.database)
    loopbacks = {
        "provider-a": f"http://127.0.0.1{CALLBACK}",
        "provider-b": f"http://localhost{CALLBACK}",
        "tasks": loopback_uri("BOARDS", LOOPBACK_PORT),
        "projects": loopback_uri("PROJECTS", LOOPBACK_PORT),
    }
    for server, loopback in loopbacks.items():
        redirects = (f"{base_url}{CALLBACK}", loopback)
        clients.register(server, SANDBOX_CLIENT, SANDBOX_CLIENT, redirects)


def import_file(
    data: Path,
    path: Path,
    *,
    into: str,
    options: "Mapping[str, str]",
    progress: "Progress | None" = None,
) -> "ImportReport":
    """
    Import *path* into an upstream of the store in *data*.

    *progress* is called from time to time with the number of items read.

    Raises:
        CommandError: The upstream or the file cannot be used.
    """
    from sandbox.importing.dispatch import import_path  # noqa: PLC0415 - rarely used parsers
    from sandbox.importing.report import CannotImport  # noqa: PLC0415

    sandbox = create(data, public_base="http://sandbox.invalid")
    try:
        return import_path(
            sandbox.state.database, into=into, path=path, progress=progress, **options
        )
    except CannotImport as problem:
        raise CommandError(str(problem)) from None
