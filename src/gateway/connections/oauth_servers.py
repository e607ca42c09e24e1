"""Scopes and parameters of the providers' consent pages."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import msgspec

from providers.oauth.token_endpoint import OFFLINE_BY_ACCESS_TYPE, OFFLINE_BY_SCOPE

CALLBACK = "/oauth/callback"
# Redirect URIs of commands: the host that a provider's registration accepts with plain http.
LOOPBACK_HOST = "127.0.0.1"
_LOOPBACK_BY_NAME = frozenset({"PROVIDER_B", "COLLAB", "BOARDS", "PROJECTS"})
LOOPBACK_PORT = 8765  # a fixed one, because some providers compare it with the registered URI
SANDBOX_CLIENT = "access-gateway"  # id and secret at the sandbox

_A = "https://www.googleapis.com/auth"
_IDENTITY = frozenset({"openid", "email", "profile", "offline_access"})
_IDENTITY_A = ("openid", "email")
_IDENTITY_B = ("openid", "profile", "offline_access")
_BOARDS = (
    *("me:read", "boards:read", "updates:read", "users:read", "account:read"),
    *("workspaces:read", "assets:read"),
)
_PROJECTS = (
    *("openid", "email", "workspaces:read", "users:read", "projects:read", "custom_fields:read"),
    *("tasks:read", "stories:read", "tags:read", "attachments:read", "teams:read"),
)

# (kind, provider) -> scopes to read, and scopes to read and write.
READ_SCOPES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("email", "PROVIDER_A"): (*_IDENTITY_A, f"{_A}/gmail.readonly"),
        ("calendar", "PROVIDER_A"): (*_IDENTITY_A, f"{_A}/calendar.readonly"),
        ("email", "PROVIDER_B"): (*_IDENTITY_B, "Mail.Read", "User.Read"),
        ("calendar", "PROVIDER_B"): (*_IDENTITY_B, "Calendars.Read", "User.Read"),
        ("collab", "COLLAB"): (
            *(*_IDENTITY_B, "Files.Read.All", "Sites.Read.All"),
            *("SensitivityLabel.Read", "User.Read"),
        ),
        ("tasks", "BOARDS"): _BOARDS,
        ("tasks", "PROJECTS"): _PROJECTS,
    }
)
WRITE_SCOPES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        **READ_SCOPES,
        ("email", "PROVIDER_A"): (*_IDENTITY_A, f"{_A}/gmail.modify"),
        ("email", "PROVIDER_B"): (*_IDENTITY_B, "Mail.ReadWrite", "Mail.Send", "User.Read"),
        ("collab", "COLLAB"): (
            *(*_IDENTITY_B, "Files.ReadWrite.All", "Sites.ReadWrite.All"),
            *("SensitivityLabel.Read", "User.Read"),
        ),
        ("tasks", "BOARDS"): (*_BOARDS, "boards:write", "updates:write"),
        ("tasks", "PROJECTS"): (*_PROJECTS, "tasks:write", "tasks:delete", "stories:write"),
    }
)

# Provider -> additional parameters of its authorization URL.
EXTRA_PARAMS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "PROVIDER_A": OFFLINE_BY_ACCESS_TYPE,
        "PROVIDER_B": OFFLINE_BY_SCOPE,
        "COLLAB": OFFLINE_BY_SCOPE,
    }
)
LOGIN_HINT_PROVIDERS = frozenset({"PROVIDER_A", "PROVIDER_B", "COLLAB"})

# Requested scopes that a connection works without: docs/spec/upstream/oauth.md#required-scopes.
_OPTIONAL = frozenset({"sensitivitylabel.read", "user.read", "teams:read"})
# Scope -> wider scopes that include it, all by their comparable names.
_WIDER: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "gmail.readonly": frozenset({"gmail.modify", "mail.google.com"}),
        "gmail.modify": frozenset({"mail.google.com"}),
        "calendar.readonly": frozenset({"calendar"}),
        "mail.read": frozenset({"mail.readwrite"}),
        "calendars.read": frozenset({"calendars.readwrite"}),
        "user.read": frozenset({"user.readwrite", "user.read.all", "user.readwrite.all"}),
        "files.read.all": frozenset({"files.readwrite.all"}),
        "sites.read.all": frozenset(
            {"sites.readwrite.all", "sites.manage.all", "sites.fullcontrol.all"}
        ),
        "sites.readwrite.all": frozenset({"sites.manage.all", "sites.fullcontrol.all"}),
    }
)
_ALL_OF_PROJECTS = "default"  # Asana's scope for whatever the user may do


class AuthorizationServer(msgspec.Struct, frozen=True, kw_only=True):
    """
    The authorization endpoint of a provider, and the client to use there.

    Attributes:
        device_url: The device authorization endpoint; None when the device flow is not supported.
    """

    url: str
    client_id: str
    client_secret: str | None
    device_url: str | None = None


def loopback_uri(provider: str, port: int) -> str:
    """Return the redirect URI of commands that listen on *port* of this machine."""
    host = "localhost" if provider in _LOOPBACK_BY_NAME else LOOPBACK_HOST
    return f"http://{host}:{port}{CALLBACK}"


def scopes_of(kind: str, provider: str, *, writing: bool) -> tuple[str, ...]:
    """Return the scopes to ask for; empty for an unknown pair."""
    return (WRITE_SCOPES if writing else READ_SCOPES).get((kind, provider), ())


def missing_scopes(
    kind: str, provider: str, granted: Collection[str], *, writing: bool
) -> tuple[str, ...]:
    """
    Return the scopes without which a connection does not work and which are not among *granted*.

    A wider scope counts for the narrower one. Identity scopes and optional ones are not required.
    """
    names = {_comparable(scope) for scope in granted}
    if provider == "PROJECTS" and _ALL_OF_PROJECTS in names:
        return ()
    return tuple(
        scope
        for scope in scopes_of(kind, provider, writing=writing)
        if (name := _comparable(scope)) not in _IDENTITY | _OPTIONAL
        and not names & {name, *_WIDER.get(name, ())}
    )


def short_name(scope: str) -> str:
    """Return the last path segment of a scope: providers add their own prefixes."""
    return scope.rstrip("/").rsplit("/", 1)[-1]


def _comparable(scope: str) -> str:
    return short_name(scope).lower()
