"""OAuth endpoints and clients of the providers, by deployment settings."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from gateway.connections.oauth_servers import SANDBOX_CLIENT, AuthorizationServer
from gateway.settings import SANDBOX_PATHS, Settings
from providers.connectors.boards.account import read_account_email
from providers.http.origins import Origins
from providers.oauth.credentials import BodyStyle, TokenEndpoint, Tokens
from providers.oauth.device_flow import DeviceEndpoint

_PROVIDER_B = ("PROVIDER_B", "COLLAB")  # they share a login service


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
            self._url(provider, "token", tenant=stored.get("tenant")),
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
        return AuthorizationServer(
            url=self._url(provider, "authorize"),
            client_id=client[0],
            client_secret=client[1],
            device_url=self._url(provider, "devicecode") if provider in _PROVIDER_B else None,
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

    def _client(self, provider: str, stored: Mapping[str, Any]) -> tuple[str, str | None] | None:
        if "clientId" in stored:
            return str(stored["clientId"]), str(stored["clientSecret"])
        settings = self._settings
        if settings.sandbox:
            return SANDBOX_CLIENT, SANDBOX_CLIENT
        match provider:
            case "PROVIDER_A":
                name, secret = settings.provider_a_client_id, settings.provider_a_client_secret
            case "PROVIDER_B" | "COLLAB":
                name, secret = settings.provider_b_client_id, settings.provider_b_client_secret
            case "PROJECTS":
                name, secret = settings.projects_client_id, settings.projects_client_secret
            case _:
                name, secret = settings.tasks_client_id, settings.tasks_client_secret
        if name is None:
            return None
        return name, None if secret is None else secret.get_secret_value()

    def _url(self, provider: str, endpoint: str, *, tenant: object = None) -> str:
        """Return the URL of *endpoint*: "authorize", "token", or "devicecode" of provider B."""
        settings = self._settings
        sandbox = f"{settings.base_url}/sandbox/oauth"
        if provider in _PROVIDER_B:
            login = f"{sandbox}/provider-b" if settings.sandbox else settings.oauth_b_url
            tenant = quote(str(tenant or settings.provider_b_tenant), safe="")
            return f"{login}/{tenant}/oauth2/v2.0/{endpoint}"
        if settings.sandbox:
            return f"{sandbox}/{SANDBOX_PATHS[provider]}/{endpoint}"
        match provider:
            case "PROVIDER_A":
                token, authorize = settings.oauth_a_url, settings.oauth_a_authorize_url
            case "PROJECTS":
                token, authorize = (
                    settings.oauth_projects_url,
                    settings.oauth_projects_authorize_url,
                )
            case _:
                token, authorize = settings.oauth_tasks_url, settings.oauth_tasks_authorize_url
        return token if endpoint == "token" else authorize
