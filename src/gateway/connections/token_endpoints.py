"""OAuth endpoints and clients of the providers, by deployment settings."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from gateway.connections.oauth_servers import SANDBOX_CLIENT, AuthorizationServer
from gateway.settings import Settings
from providers.catalogue.descriptors import resolve
from providers.catalogue.tables import CONNECTORS, CONSENTS, OWN_SERVERS, SERVICES
from providers.failures import Missing, NeedsReauth, Refused
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.oauth.credentials import BodyStyle, StaticToken, TokenEndpoint, Tokens
from providers.oauth.delegation import DelegatedEndpoint, ServiceAccount
from providers.oauth.device_flow import DeviceEndpoint


class SignedInAccount(msgspec.Struct, frozen=True):
    """
    The account that signed in.

    Attributes:
        account_id: What identifies it at the provider for good; None: unknown.
        addresses: Its primary address, sign-in name and aliases, as far as they are known.
    """

    account_id: str | None
    addresses: tuple[str, ...]


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
        if provider in OWN_SERVERS:
            return self._own_endpoint(connection_id, stored)
        if "subject" in stored:
            return self._delegated_endpoint(connection_id, provider, stored)
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
            style=BodyStyle.JSON if CONSENTS[provider].json_body else BodyStyle.FORM,
        )

    def _delegated_endpoint(
        self, connection_id: int, provider: str, stored: Mapping[str, Any]
    ) -> DelegatedEndpoint:
        """Return the endpoint that issues tokens of a person to a service account."""
        account = ServiceAccount(
            email=str(stored["clientEmail"]),
            private_key=str(stored["privateKey"]),
            key_id=str(stored.get("privateKeyId", "")),
            subject=str(stored["subject"]),
        )
        return DelegatedEndpoint(
            self._origins,
            self._url(provider, "token"),
            connection=connection_id,
            account=account,
            scopes=stored["scopes"],
        )

    def of_service_account(
        self, account: ServiceAccount, provider: str, scope: str
    ) -> DelegatedEndpoint:
        """Return the endpoint that issues tokens to a service account itself."""
        url, scopes = self._url(provider, "token"), (scope,)
        return DelegatedEndpoint(
            self._origins, url, connection="push", account=account, scopes=scopes
        )

    def _own_endpoint(self, connection_id: int, stored: Mapping[str, Any]) -> TokenEndpoint | None:
        """Return the token endpoint that the credentials of an own server name."""
        if "tokenUrl" not in stored:
            return None
        return TokenEndpoint(
            self._origins,
            str(stored["tokenUrl"]),
            connection=connection_id,
            client_id=str(stored["clientId"]),
            client_secret=stored.get("clientSecret"),
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
            device_url=self._url(provider, "devicecode")
            if CONSENTS[provider].has_tenants
            else None,
        )

    def revocation_url(self, provider: str) -> str | None:
        """Return the revocation endpoint, beside the token endpoint; None if there is none."""
        if provider in OWN_SERVERS:
            return None
        token_url = self._url(provider, "token")
        if CONSENTS[provider].has_tenants or not token_url.endswith("token"):
            return None
        return f"{token_url.removesuffix('token')}revoke"

    def has_client(self, provider: str) -> bool:
        """Return whether this deployment has a client for the provider."""
        return self._client(provider, {}) is not None

    def device_endpoint(self, provider: str) -> DeviceEndpoint | None:
        """Return the device authorization endpoint; None when there is no device flow."""
        server = self.authorization_server(provider)
        if server is None or server.device_url is None:
            return None
        return DeviceEndpoint(self._origins, server.device_url, client_id=server.client_id)

    async def signed_in_account(self, kind: str, provider: str, tokens: Tokens) -> SignedInAccount:
        """
        Ask the provider who signed in, as far as the granted scopes allow.

        Raises:
            ProviderFailure: The provider did not answer.
        """
        url, token = self._settings.upstreams[kind, provider], tokens.access_token
        service = SERVICES[kind, provider]
        if service.account:
            account_id, email = await resolve(service.account)(self._origins, url, token)
            return SignedInAccount(account_id, () if email is None else (email,))
        addresses: tuple[str, ...] = ()
        http = CONNECTORS[provider].http
        if service.addresses and http is not None:
            credentials = StaticToken(token)
            upstream = Upstream(
                self._origins,
                url,
                connection="person",
                credentials=credentials,
                classify=resolve(http.classify),
            )
            try:
                addresses = await resolve(service.addresses)(upstream)
            except (Missing, NeedsReauth, Refused):
                addresses = ()
        named = () if tokens.account is None else (tokens.account,)
        return SignedInAccount(tokens.account_id, (*named, *addresses))

    def _client(self, provider: str, stored: Mapping[str, Any]) -> tuple[str, str | None] | None:
        if "clientId" in stored:
            return str(stored["clientId"]), str(stored["clientSecret"])
        if provider in OWN_SERVERS:
            return None
        if self._settings.sandbox:
            return SANDBOX_CLIENT, SANDBOX_CLIENT
        client_id, secret = self._settings.oauth_client(provider)
        return None if client_id is None else (client_id, secret)

    def _url(self, provider: str, endpoint: str, *, tenant: object = None) -> str:
        """Return the URL of *endpoint*: "authorize", "token", or "devicecode" with tenants."""
        settings = self._settings
        sandbox = f"{settings.base_url}/sandbox/oauth"
        consent = CONSENTS[provider]
        if consent.has_tenants:
            login = getattr(settings, f"{consent.server}_url")
            login = f"{sandbox}/{consent.sandbox_path}" if settings.sandbox else login
            tenant = quote(str(tenant or settings.provider_b_tenant), safe="")
            return f"{login}/{tenant}/oauth2/v2.0/{endpoint}"
        if settings.sandbox:
            return f"{sandbox}/{consent.sandbox_path}/{endpoint}"
        name = "url" if endpoint == "token" else "authorize_url"
        url: str = getattr(settings, f"{consent.server}_{name}")
        return url
