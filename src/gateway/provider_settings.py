"""The settings by provider: base URLs, OAuth clients, Microsoft's clouds."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from providers.catalogue.tables import CONNECTORS, CONSENTS, SERVICES

if TYPE_CHECKING:
    from pydantic import SecretStr

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
    prefix = f"AGW_{CONSENTS[provider].client.upper()}_CLIENT"
    return f"{prefix}_ID", f"{prefix}_SECRET"


def client_of(setting: Callable[[str], Any], provider: str) -> tuple[str | None, str | None]:
    """Return id and secret of the OAuth client at *provider*, as far as they are set."""
    prefix = CONSENTS[provider].client
    secret: SecretStr | None = setting(f"{prefix}_client_secret")
    return setting(f"{prefix}_client_id"), None if secret is None else secret.get_secret_value()


def cloud_urls(cloud: object) -> Mapping[str, object]:
    """Return the settings of a national cloud; none for the worldwide one and unknown values."""
    if cloud not in _CLOUD_HOSTS:
        return {}
    graph, login = _CLOUD_HOSTS[cloud]
    return {"provider_b_url": graph, "collab_url": graph, "oauth_b_url": login}


def upstream_urls(setting: Callable[[str], Any]) -> Mapping[tuple[str, str], str]:
    """
    Return the base URL per (kind, provider); *setting* returns a setting by its name.

    Beside the kinds of connections, "people" is where a provider has people at a URL of their own.
    """
    root = f"{setting('base_url')}/sandbox"
    names = {key: service.url_setting for key, service in SERVICES.items()}
    names |= {
        ("people", key[1]): service.people_url_setting
        for key, service in SERVICES.items()
        if service.people_url_setting
    }
    return {
        key: f"{root}/{CONNECTORS[key[1]].sandbox_path}" if setting("sandbox") else setting(name)
        for key, name in names.items()
        if name
    }
