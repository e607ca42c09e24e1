"""
Provider A's identity server: refresh tokens stay the same for ever.

Source: reference/wire.md 3.1.
"""

from collections.abc import Mapping
from typing import Any

from sandbox.error_bodies import oauth as refusal
from sandbox.http import Request, Response, Router, json_response
from sandbox.oauth.authorization_server import (
    LIFETIME,
    NO_STORE,
    AuthorizationServer,
    OAuthError,
    parse_form,
)
from sandbox.oauth.consent import AuthorizeOptions, ConsentPage
from sandbox.oauth.identity_tokens import create_id_token, public_keys
from sandbox.oauth.tokens import TokenGrant
from sandbox.world.people import YARD_ACCOUNT

_UPSTREAM = "providerA"


def install(routes: Router, desk: AuthorizationServer) -> None:
    """Add the server's paths."""
    manners = AuthorizeOptions(account=YARD_ACCOUNT, offline="access_type")
    page = ConsentPage(desk.server, manners, desk.clients, desk.codes)
    server = _Server(desk)
    routes.add("GET", "/provider-a/authorize", page.show)
    routes.add("POST", "/provider-a/authorize", page.decide)
    routes.add("POST", "/provider-a/token", server.token)
    routes.add("POST", "/provider-a/revoke", server.revoke)
    routes.add("GET", "/provider-a/certs", lambda _request: json_response(public_keys()))
    routes.add("GET", "/provider-a/.well-known/openid-configuration", server.description)


class _Server:
    def __init__(self, desk: AuthorizationServer) -> None:
        self._desk = desk

    def token(self, request: Request) -> Response:
        form = parse_form(request)
        try:
            return self._granted(form, request)
        except OAuthError as denial:
            status = 401 if denial.word == "invalid_client" and form.get("client_id") else 400
            word = "invalid_request" if not form.get("client_id") else denial.word
            return refusal(status, reason=word, message=str(denial))

    def _granted(self, form: Mapping[str, str], request: Request) -> Response:
        match form.get("grant_type"):
            case "authorization_code":
                return self._exchanged(form, request)
            case "refresh_token":
                return self._refreshed(form)
            case _:
                raise OAuthError("unsupported_grant_type", "Invalid grant_type.")

    def revoke(self, request: Request) -> Response:
        token = request.first("token") or parse_form(request).get("token", "")
        if all(
            read(_UPSTREAM, token) is None
            for read in (self._desk.tokens.read, self._desk.tokens.read_refresh)
        ):
            return refusal(400, reason="invalid_token", message="Token expired or revoked")
        self._desk.tokens.revoke(token)
        return json_response({})

    def description(self, request: Request) -> Response:
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

    def _exchanged(self, form: Mapping[str, str], request: Request) -> Response:
        client = self._desk.client_of(form)
        consent = self._desk.redeem(form)
        grant = TokenGrant(upstream=_UPSTREAM, account=consent.account, scopes=consent.scopes)
        answer = self._answer(grant)
        if consent.offline:
            answer["refresh_token"] = self._desk.tokens.issue_refresh(
                _UPSTREAM, grant.account, grant.scopes
            )
        if "openid" in consent.scopes:
            answer["id_token"] = create_id_token(
                f"{request.public}/provider-a",
                client,
                consent.account,
                nonce=consent.nonce,
                lifetime=LIFETIME,
            )
        return json_response(answer, headers=NO_STORE)

    def _refreshed(self, form: Mapping[str, str]) -> Response:
        self._desk.client_of(form)
        grant = self._desk.tokens.read_refresh(_UPSTREAM, form.get("refresh_token", ""))
        if grant is None:
            raise OAuthError("invalid_grant", "Token has been expired or revoked.")
        return json_response(self._answer(grant), headers=NO_STORE)

    def _answer(self, grant: TokenGrant) -> dict[str, Any]:
        issue = self._desk.tokens.issue
        return {
            "access_token": issue(_UPSTREAM, grant.account, grant.scopes, lifetime=LIFETIME),
            "expires_in": LIFETIME,
            "scope": " ".join(grant.scopes),
            "token_type": "Bearer",
        }
