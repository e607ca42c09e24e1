"""
The authorization server of provider B and the collaboration content.

The scopes of a consent decide which of the two upstreams its tokens are for. See
docs/spec/upstream/oauth.md#microsoft.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sandbox.http import Request, Response, Router, json_response
from sandbox.mail.ids import PROVIDER_B
from sandbox.oauth.authorization_codes import Consent
from sandbox.oauth.authorization_server import (
    LIFETIME_SECONDS,
    NO_STORE,
    AuthorizationServer,
    OAuthError,
    SecretExpired,
    parse_form,
)
from sandbox.oauth.consent import AuthorizeEndpoint, AuthorizeOptions
from sandbox.oauth.device_flow import GRANT_TYPE as DEVICE_GRANT
from sandbox.oauth.device_flow import DeviceFlow
from sandbox.oauth.identity_tokens import create_id_token, public_keys
from sandbox.provider_b.directory import TENANT_ID, user_id
from sandbox.world.people import STUDIO_ACCOUNT

_REVOKED = ("invalid_grant", 70000, "The refresh token is not valid.")
# Why a grant ended -> `error`, number and description.
_ENDED: Mapping[str, tuple[str, int, str]] = {
    "withdrawn": ("invalid_grant", 65001, "The user or administrator has not consented."),
    "unused": ("invalid_grant", 700082, "The refresh token has expired due to inactivity."),
    "limited": ("invalid_grant", 700084, "The refresh token of a single page app has expired."),
    "password": ("invalid_grant", 50173, "The grant has expired due to it being revoked."),
    "password-expired": ("invalid_grant", 50055, "The password is expired."),
    "sign-in": ("interaction_required", 50076, "You must use multi-factor authentication."),
    "policy": ("invalid_grant", 53003, "Access has been blocked by Conditional Access policies."),
    "disabled": ("invalid_grant", 50057, "The user account is disabled."),
}
_APP_UPSTREAM = "collab"
_REAL_HOST = "login.microsoftonline.com"
_RESOURCE = "https://graph.microsoft.com/"
_OPENID_SCOPES = frozenset({"openid", "profile", "email", "offline_access"})
_CONTENT_SCOPES = ("files.", "sites.", "informationprotection", "sensitivitylabel")
_SECRET_EXPIRED = 7000222
_ERROR_NUMBERS: Mapping[str, int] = {"invalid_client": 7000215, "invalid_grant": 70000}


def add_routes(router: Router, server: AuthorizationServer) -> None:
    """Add the server's paths, all below a tenant."""
    options = AuthorizeOptions(
        account=STUDIO_ACCOUNT, offline_access_by="scope", any_port_of=frozenset({"localhost"})
    )
    authorize = AuthorizeEndpoint(server, options)
    endpoints = _Endpoints(server)
    tenant = "/provider-b/{tenant}"
    router.add("GET", f"{tenant}/oauth2/v2.0/authorize", authorize.get)
    router.add("POST", f"{tenant}/oauth2/v2.0/authorize", authorize.post)
    router.add("POST", f"{tenant}/oauth2/v2.0/token", endpoints.token)
    router.add("POST", f"{tenant}/oauth2/v2.0/devicecode", endpoints.device_flow.start)
    router.add("GET", f"{tenant}/oauth2/v2.0/deviceauth", endpoints.device_flow.show_form)
    router.add("POST", f"{tenant}/oauth2/v2.0/deviceauth", endpoints.device_flow.decide)
    router.add("GET", f"{tenant}/discovery/v2.0/keys", endpoints.keys)
    router.add("GET", f"{tenant}/v2.0/.well-known/openid-configuration", endpoints.metadata)


class _Endpoints:
    def __init__(self, server: AuthorizationServer) -> None:
        self._server = server
        self._tokens = server.tokens
        self.device_flow = DeviceFlow(account=STUDIO_ACCOUNT)

    def token(self, request: Request, tenant: str) -> Response:
        form = parse_form(request)
        try:
            match form.get("grant_type"):
                case "authorization_code":
                    client = self._server.authenticate_client(form)
                    consent = self._server.redeem_code(form)
                    return self._issue_tokens(consent, client, request, tenant)
                case "refresh_token":
                    self._server.authenticate_client(form)
                    return self._rotate_tokens(form)
                case "client_credentials":
                    return self._issue_app_token(form, tenant)
                case grant_type if grant_type == DEVICE_GRANT:
                    client = self._server.authenticate_client(form)
                    consent = self.device_flow.redeem(form)
                    return self._issue_tokens(consent, client, request, tenant)
                case _:
                    return _error_response(
                        "unsupported_grant_type",
                        70003,
                        "AADSTS70003: The grant type is not supported.",
                    )
        except OAuthError as error:
            number = _ERROR_NUMBERS.get(error.code, 90000)
            if isinstance(error, SecretExpired):
                number = _SECRET_EXPIRED
            status = 401 if error.code == "invalid_client" else 400
            return _error_response(error.code, number, f"AADSTS{number}: {error}", status)

    def keys(self, _request: Request, **_tenant: str) -> Response:
        """Return the public keys, the same for every tenant."""
        return json_response(public_keys())

    def metadata(self, request: Request, tenant: str) -> Response:
        """
        Return the server's metadata (OpenID Connect Discovery).

        MSAL takes https URLs of the real host only and names it in `Host`:
        docs/spec/upstream/clients.md#msal.
        """
        base = _base_url(request, tenant)
        return json_response(
            {
                "issuer": f"{base}/v2.0",
                "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
                "jwks_uri": f"{base}/discovery/v2.0/keys",
            }
        )

    def _issue_tokens(
        self, consent: Consent, client: str, request: Request, tenant: str
    ) -> Response:
        scopes = tuple(
            scope.removeprefix(_RESOURCE) for scope in consent.scopes if scope not in _OPENID_SCOPES
        )
        is_content = any(scope.lower().startswith(_CONTENT_SCOPES) for scope in scopes)
        upstream = "collab" if is_content else "providerB"
        openid_scopes = [scope for scope in consent.scopes if scope in _OPENID_SCOPES]
        shown_scopes = (*scopes, *(scope for scope in openid_scopes if scope != "offline_access"))
        account = self._server.account_of(PROVIDER_B, consent.account)
        token = self._tokens.issue(
            upstream, account.email, scopes, lifetime_seconds=LIFETIME_SECONDS
        )
        body = _token_body(token, " ".join(shown_scopes))
        if consent.offline:
            body["refresh_token"] = self._tokens.issue_refresh(upstream, account.email, scopes)
        if "openid" in consent.scopes:
            body["id_token"] = create_id_token(
                f"{_base_url(request, tenant)}/v2.0",
                client,
                account.email,
                nonce=consent.nonce,
                lifetime_seconds=LIFETIME_SECONDS,
                more={
                    "preferred_username": account.principal_name,
                    "oid": user_id(account.email),
                    "tid": TENANT_ID,
                },
            )
        return json_response(body, headers=NO_STORE)

    def _rotate_tokens(self, form: Mapping[str, str]) -> Response:
        old = form.get("refresh_token", "")
        for upstream in ("providerB", "collab"):
            grant = self._tokens.read_refresh(upstream, old)
            if grant is not None:
                break
        else:
            code, number, message = _ENDED.get(self._tokens.why_ended(old), _REVOKED)
            return _error_response(code, number, f"AADSTS{number}: {message}")
        scopes = _narrow_scopes(grant.scopes, form.get("scope", ""))
        self._tokens.revoke(old)
        token = self._tokens.issue(
            upstream, grant.account, scopes, lifetime_seconds=LIFETIME_SECONDS
        )
        refresh_token = self._tokens.issue_refresh(upstream, grant.account, grant.scopes)
        body = _token_body(token, " ".join(scopes)) | {"refresh_token": refresh_token}
        return json_response(body, headers=NO_STORE)

    def _issue_app_token(self, form: Mapping[str, str], tenant: str) -> Response:
        if tenant in {"common", "organizations", "consumers"}:
            return _error_response("invalid_request", 50059, "AADSTS50059: No tenant was named.")
        if not form.get("client_id") or not (
            form.get("client_secret") or form.get("client_assertion")
        ):
            return _error_response(
                "invalid_client", 7000216, "AADSTS7000216: A client secret is required.", 401
            )
        client = self._server.authenticate_client(form)
        if not form.get("scope", "").endswith("/.default"):
            message = "AADSTS1002012: The scope is not valid."
            return _error_response("invalid_scope", 1002012, message)
        token = self._tokens.issue(
            _APP_UPSTREAM,
            client,
            ("Sites.Selected",),
            app_only=True,
            lifetime_seconds=LIFETIME_SECONDS,
        )
        return json_response(_token_body(token), headers=NO_STORE)


def _base_url(request: Request, tenant: str) -> str:
    host = request.headers.get("host", "")
    if host == _REAL_HOST:
        return f"https://{host}/{tenant}"
    return f"{request.public}/provider-b/{tenant}"


def _narrow_scopes(granted: tuple[str, ...], requested: str) -> tuple[str, ...]:
    """Return the requested ones of the granted scopes; all if none matches, or ``.default``."""
    names = {part.rsplit("/", 1)[-1].lower() for part in requested.split()}
    chosen = tuple(scope for scope in granted if scope.rsplit("/", 1)[-1].lower() in names)
    return chosen if chosen and ".default" not in names else granted


def _token_body(access_token: str, scope: str | None = None) -> dict[str, Any]:
    return {
        "token_type": "Bearer",
        **({} if scope is None else {"scope": scope}),
        "expires_in": LIFETIME_SECONDS,
        "ext_expires_in": LIFETIME_SECONDS,
        "access_token": access_token,
    }


def _error_response(code: str, number: int, message: str, status: int = 400) -> Response:
    trace_id = str(uuid4())
    body = {
        "error": code,
        "error_description": f"{message} Trace ID: {trace_id}",
        "error_codes": [number],
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ"),
        "trace_id": trace_id,
        "correlation_id": str(uuid4()),
    }
    return json_response(body, status, NO_STORE)
