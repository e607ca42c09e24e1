"""Provider A's authorization server. See docs/spec/upstream/oauth.md#google."""

from collections.abc import Mapping
from typing import Any

from sandbox.error_bodies import oauth as error_response
from sandbox.http import Request, Response, Router, json_response
from sandbox.mail.ids import PROVIDER_A
from sandbox.oauth.authorization_server import (
    LIFETIME_SECONDS,
    NO_STORE,
    AuthorizationServer,
    OAuthError,
    parse_form,
)
from sandbox.oauth.consent import AuthorizeEndpoint, AuthorizeOptions
from sandbox.oauth.identity_tokens import create_id_token, public_keys
from sandbox.oauth.service_accounts import GRANT_TYPE as DELEGATED_GRANT
from sandbox.oauth.service_accounts import ServiceAccounts
from sandbox.oauth.tokens import TokenGrant
from sandbox.world.people import YARD_ACCOUNT

_UPSTREAM = "providerA"
# Why a grant ended -> the response; most causes look alike.
_ENDED: Mapping[str, Mapping[str, str]] = {
    "withdrawn": {
        "error": "invalid_grant",
        "error_description": "Token has been expired or revoked.",
    },
    "deleted": {"error": "invalid_grant", "error_description": "Account has been deleted"},
    "sign-in": {
        "error": "invalid_grant",
        "error_description": "reauth related error (invalid_rapt)",
        "error_subtype": "invalid_rapt",
    },
    "policy": {
        "error": "admin_policy_enforced",
        "error_description": "Access is blocked by a policy of the organization.",
    },
}


def add_routes(router: Router, server: AuthorizationServer) -> None:
    """Add the server's paths."""
    # A client of the type "Desktop app"; one of the type "Web application" has no such freedom.
    options = AuthorizeOptions(
        account=YARD_ACCOUNT,
        offline_access_by="access_type",
        any_port_of=frozenset({"127.0.0.1", "::1", "localhost"}),
    )
    authorize = AuthorizeEndpoint(server, options)
    endpoints = _Endpoints(server)
    router.add("GET", "/provider-a/authorize", authorize.get)
    router.add("POST", "/provider-a/authorize", authorize.post)
    router.add("POST", "/provider-a/token", endpoints.token)
    router.add("POST", "/provider-a/revoke", endpoints.revoke)
    router.add("GET", "/provider-a/certs", lambda _request: json_response(public_keys()))
    router.add("GET", "/provider-a/.well-known/openid-configuration", endpoints.metadata)


class _Endpoints:
    def __init__(self, server: AuthorizationServer) -> None:
        self._server = server
        self._tokens = server.tokens
        self.service_accounts = ServiceAccounts(server.database)

    def token(self, request: Request) -> Response:
        form = parse_form(request)
        try:
            return self._grant(form, request)
        except OAuthError as error:
            has_client = bool(form.get("client_id") or form.get("assertion"))
            status = 401 if error.code == "invalid_client" and has_client else 400
            code = error.code if has_client else "invalid_request"
            return error_response(status, reason=code, message=str(error))

    def revoke(self, request: Request) -> Response:
        token = request.first("token") or parse_form(request).get("token", "")
        grant = self._tokens.read(_UPSTREAM, token) or self._tokens.read_refresh(_UPSTREAM, token)
        if grant is None:
            return error_response(400, reason="invalid_token", message="Token expired or revoked")
        # Whatever the account has granted ends with any of its tokens.
        self._tokens.revoke_all(_UPSTREAM, grant.account)
        return json_response({})

    def metadata(self, request: Request) -> Response:
        base = f"{request.public}/provider-a"
        return json_response(
            {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "revocation_endpoint": f"{base}/revoke",
                "jwks_uri": f"{base}/certs",
                "response_types_supported": ["code"],
                "id_token_signing_alg_values_supported": ["ES256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    def _grant(self, form: Mapping[str, str], request: Request) -> Response:
        match form.get("grant_type"):
            case "authorization_code":
                return self._exchange_code(form, request)
            case "refresh_token":
                return self._refresh(form)
            case grant_type if grant_type == DELEGATED_GRANT:
                return self._delegated(form, request)
            case _:
                raise OAuthError("unsupported_grant_type", "Invalid grant_type.")

    def _exchange_code(self, form: Mapping[str, str], request: Request) -> Response:
        client = self._server.authenticate_client(form)
        consent = self._server.redeem_code(form)
        account = self._server.account_of(PROVIDER_A, consent.account).email
        grant = TokenGrant(upstream=_UPSTREAM, account=account, scopes=consent.scopes)
        body = self._token_body(grant)
        if consent.offline:
            refresh_token = self._tokens.issue_refresh(_UPSTREAM, grant.account, grant.scopes)
            body["refresh_token"] = refresh_token
            issued = self._tokens.read_refresh(_UPSTREAM, refresh_token)
            body |= {} if issued is None else self._end_of(issued)
        if "openid" in consent.scopes:
            body["id_token"] = create_id_token(
                f"{request.public}/provider-a",
                client,
                account,
                nonce=consent.nonce,
                lifetime_seconds=LIFETIME_SECONDS,
            )
        return json_response(body, headers=NO_STORE)

    def _delegated(self, form: Mapping[str, str], request: Request) -> Response:
        """Issue a token, of a person or its own, to a service account: no refresh token."""
        audience = f"{request.public}/provider-a/token"
        wanted = self.service_accounts.verify(form.get("assertion", ""), audience=audience)
        account = wanted.issuer
        if wanted.subject:
            if not self._server.mails.account(PROVIDER_A).has_address(wanted.subject):
                raise OAuthError("invalid_grant", "Invalid email or User ID")
            account = self._server.account_of(PROVIDER_A, wanted.subject).email
        grant = TokenGrant(upstream=_UPSTREAM, account=account, scopes=wanted.scopes)
        body = self._token_body(grant)
        del body["scope"]
        return json_response(body, headers=NO_STORE)

    def _refresh(self, form: Mapping[str, str]) -> Response:
        self._server.authenticate_client(form)
        token = form.get("refresh_token", "")
        grant = self._tokens.read_refresh(_UPSTREAM, token)
        if grant is None:
            ended = _ENDED.get(self._tokens.why_ended(token), _ENDED["withdrawn"])
            return json_response(ended, 400, NO_STORE)
        return json_response(self._token_body(grant) | self._end_of(grant), headers=NO_STORE)

    def _end_of(self, grant: TokenGrant) -> dict[str, Any]:
        """Return the member of consents for a limited time, as those of a client in testing."""
        left = self._tokens.seconds_left(grant)
        return {} if left is None else {"refresh_token_expires_in": left}

    def _token_body(self, grant: TokenGrant) -> dict[str, Any]:
        return {
            "access_token": self._tokens.issue(
                _UPSTREAM, grant.account, grant.scopes, lifetime_seconds=LIFETIME_SECONDS
            ),
            "expires_in": LIFETIME_SECONDS,
            "scope": " ".join(grant.scopes),
            "token_type": "Bearer",
        }
