"""Tables of the settings by provider: sandbox paths, OAuth clients, Microsoft's clouds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # it imports this module
    from gateway.settings import Settings

# Provider -> the path of its sandbox upstream and of its sandbox authorization server.
SANDBOX_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "PROVIDER_A": "provider-a",
        "PROVIDER_B": "provider-b",
        "COLLAB": "collab",
        "BOARDS": "tasks",
        "PROJECTS": "projects",
    }
)

# Provider -> the beginning of the names of its client's settings.
CLIENT_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "PROVIDER_A": "provider_a",
        "PROVIDER_B": "provider_b",
        "COLLAB": "provider_b",
        "BOARDS": "tasks",
        "PROJECTS": "projects",
    }
)

Cloud = Literal["worldwide", "us_government", "us_defense", "china"]

# Cloud -> Graph, login service: docs/spec/upstream/README.md#national-clouds.
_CLOUD_HOSTS: Mapping[object, tuple[str, str]] = MappingProxyType(
    {
        "us_government": ("https://graph.microsoft.us", "https://login.microsoftonline.us"),
        "us_defense": ("https://dod-graph.microsoft.us", "https://login.microsoftonline.us"),
        "china": ("https://microsoftgraph.chinacloudapi.cn", "https://login.chinacloudapi.cn"),
    }
)


def client_variables(provider: str) -> tuple[str, str]:
    """Return the variables that hold id and secret of the OAuth client at *provider*."""
    prefix = f"AGW_{CLIENT_SETTINGS[provider].upper()}_CLIENT"
    return f"{prefix}_ID", f"{prefix}_SECRET"


def cloud_urls(cloud: object) -> Mapping[str, object]:
    """Return the settings of a national cloud; none for the worldwide one and unknown values."""
    if cloud not in _CLOUD_HOSTS:
        return {}
    graph, login = _CLOUD_HOSTS[cloud]
    return {"provider_b_url": graph, "collab_url": graph, "oauth_b_url": login}


def upstream_urls(settings: "Settings") -> Mapping[tuple[str, str], str]:
    """Return the base URL per (kind, provider)."""
    urls = {
        ("email", "PROVIDER_A"): settings.provider_a_url,
        ("calendar", "PROVIDER_A"): settings.provider_a_calendar_url,
        ("email", "PROVIDER_B"): settings.provider_b_url,
        ("calendar", "PROVIDER_B"): settings.provider_b_url,
        ("collab", "COLLAB"): settings.collab_url,
        ("tasks", "BOARDS"): settings.tasks_url,
        ("tasks", "PROJECTS"): settings.projects_url,
    }
    if not settings.sandbox:
        return urls
    root = f"{settings.base_url}/sandbox"
    return {(kind, provider): f"{root}/{SANDBOX_PATHS[provider]}" for kind, provider in urls}
