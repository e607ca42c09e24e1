"""Scopes and parameters of the providers' consent pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from providers.oauth.token_endpoint import OFFLINE_BY_ACCESS_TYPE, OFFLINE_BY_SCOPE

CALLBACK = "/oauth/callback"
SANDBOX_CLIENT = "access-gateway"  # id and secret at the sandbox

_A = "https://www.googleapis.com/auth"
_IDENTITY_A = ("openid", "email")
_IDENTITY_B = ("openid", "profile", "offline_access")
_BOARDS = (
    *("me:read", "boards:read", "updates:read", "users:read", "account:read"),
    *("workspaces:read", "assets:read"),
)
_PROJECTS = (
    *("openid", "email", "workspaces:read", "users:read", "projects:read", "custom_fields:read"),
    *("tasks:read", "stories:read", "tags:read", "attachments:read"),
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
            "InformationProtectionPolicy.Read",
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
            "InformationProtectionPolicy.Read",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationServer:
    """
    The authorization endpoint of a provider, and the client to use there.

    Attributes:
        device_url: The device authorization endpoint; None when the device flow is not supported.
    """

    url: str
    client_id: str
    client_secret: str | None
    device_url: str | None = None


def scopes_of(kind: str, provider: str, *, writing: bool) -> tuple[str, ...]:
    """Return the scopes to ask for; empty for an unknown pair."""
    return (WRITE_SCOPES if writing else READ_SCOPES).get((kind, provider), ())
