"""OAuth endpoints and clients of the providers, by deployment settings."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from gateway.connections.oauth_servers import SANDBOX_CLIENT, AuthorizationServer
from gateway.settings import Settings
from providers.connectors.boards.account import read_account_email
from providers.http.origins import Origins
from providers.oauth.credentials import BodyStyle, TokenEndpoint, Tokens
from providers.oauth.device_flow import DeviceEndpoint


class TokenEndpoints:
    """Finds the OAuth endpoints of connections. One per process."""

    def __init__(self, origins: Origins, settings: Settings) -> None:
        self._origins = origins
        self._settings = settings

    def token_endpoint(
        self, connection_id: int, provider: str, stored: Mapping[str, Any]
    ) -> TokenEndpoint | None:
        """
        Return the endpoint that renews the tokens of a connection.

        Args:
            connection_id: Identifies the rate limits of its calls.
            provider: Provider code.
            stored: Its credentials; a client in them is preferred to that of the deployment.

        Returns:
            None when there is no client for the provider.
        """
        client = self._client(provider, stored)
        if client is None:
            return None
        return TokenEndpoint(
            self._origins,
            self._url(provider, str(stored.get("tenant", self._settings.provider_b_tenant))),
            connection=connection_id,
            client_id=client[0],
            client_secret=client[1],
            scope=f"{self._settings.collab_url}/.default" if "clientId" in stored else "",
            style=BodyStyle.JSON if provider == "BOARDS" else BodyStyle.FORM,
        )

    def authorization_server(self, provider: str) -> AuthorizationServer | None:
        """Return the authorization server; None when this deployment has no client there."""
        client = self._client(provider, {})
        if client is None:
            return None
        device = None
        if provider in {"PROVIDER_B", "COLLAB"}:
            device = self._login_url("devicecode")
        return AuthorizationServer(
            url=self._authorize(provider),
            client_id=client[0],
            client_secret=client[1],
            device_url=device,
        )

    def has_client(self, provider: str) -> bool:
        """Return whether this deployment has a client for the provider."""
        return self._client(provider, {}) is not None

    def device_endpoint(self, provider: str) -> DeviceEndpoint | None:
        """Return the device authorization endpoint; None when there is no device flow."""
        server = self.authorization_server(provider)
        if server is None or server.device_url is None:
            return None
        return DeviceEndpoint(self._origins, server.device_url, client_id=server.client_id)

    async def signed_in_account(self, provider: str, tokens: Tokens) -> str | None:
        """
        Ask the provider who signed in; None for providers whose tokens name the account.

        Raises:
            ProviderFailure: The provider did not answer.
        """
        if provider != "BOARDS":
            return None
        url = self._settings.upstreams["tasks", "BOARDS"]
        return await read_account_email(self._origins, url, tokens.access_token)

    def _authorize(self, provider: str) -> str:
        settings = self._settings
        sandbox = f"{settings.base_url}/sandbox/oauth"
        match provider:
            case "PROVIDER_A":
                name, url = "provider-a", settings.oauth_a_authorize_url
            case "PROVIDER_B" | "COLLAB":
                return self._login_url("authorize")
            case "PROJECTS":
                name, url = "projects", settings.oauth_projects_authorize_url
            case _:
                name, url = "tasks", settings.oauth_tasks_authorize_url
        return f"{sandbox}/{name}/authorize" if settings.sandbox else url

    def _login_url(self, endpoint: str) -> str:
        token = self._url("PROVIDER_B", self._settings.provider_b_tenant)
        return f"{token.removesuffix('token')}{endpoint}"

    def _client(self, provider: str, stored: Mapping[str, Any]) -> tuple[str, str | None] | None:
        if "clientId" in stored:
            return str(stored["clientId"]), str(stored["clientSecret"])
        settings = self._settings
        if settings.sandbox:
            return SANDBOX_CLIENT, SANDBOX_CLIENT
        match provider:
            case "PROVIDER_A":
                return _pair(settings.provider_a_client_id, settings.provider_a_client_secret)
            case "PROVIDER_B" | "COLLAB":
                return _pair(settings.provider_b_client_id, settings.provider_b_client_secret)
            case "PROJECTS":
                return _pair(settings.projects_client_id, settings.projects_client_secret)
            case _:
                return _pair(settings.tasks_client_id, settings.tasks_client_secret)

    def _url(self, provider: str, tenant: str) -> str:
        settings = self._settings
        sandbox = f"{settings.base_url}/sandbox/oauth"
        match provider:
            case "PROVIDER_A":
                return f"{sandbox}/provider-a/token" if settings.sandbox else settings.oauth_a_url
            case "PROVIDER_B" | "COLLAB":
                login = f"{sandbox}/provider-b" if settings.sandbox else settings.oauth_b_url
                return f"{login}/{quote(tenant, safe='')}/oauth2/v2.0/token"
            case "PROJECTS":
                url = settings.oauth_projects_url
                return f"{sandbox}/projects/token" if settings.sandbox else url
            case _:
                return f"{sandbox}/tasks/token" if settings.sandbox else settings.oauth_tasks_url


def _pair(client_id: str | None, secret: SecretStr | None) -> tuple[str, str | None] | None:
    if client_id is None:
        return None
    return client_id, None if secret is None else secret.get_secret_value()
