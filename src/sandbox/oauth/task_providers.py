"""
Authorization servers of the task providers.

The boards' server requires PKCE, accepts JSON, replaces refresh tokens with every use, returns no
lifetime (the access token is a JWT that contains it) and publishes metadata (RFC 8414). The
projects' server returns the user beside the tokens and keeps its refresh tokens. See
docs/spec/upstream/oauth.md#monday and docs/spec/upstream/oauth.md#asana.
"""

import secrets
import time
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from sandbox.error_bodies import oauth as error_response
from sandbox.http import Request, Response, Router, json_response
from sandbox.oauth.authorization_server import NO_STORE, AuthorizationServer, OAuthError, parse_form
from sandbox.oauth.consent import AuthorizeEndpoint, AuthorizeOptions
from sandbox.oauth.identity_tokens import sign_jwt
from sandbox.oauth.tokens import TokenGrant
from sandbox.world.people import STUDIO_ACCOUNT, YARD_ACCOUNT

LIFETIME_SECONDS = 3600
_BOARD_SCOPES = (
    *("me:read", "boards:read", "boards:write", "updates:read", "updates:write"),
    *("users:read", "account:read", "workspaces:read", "assets:read"),
)


def add_routes(router: Router, boards: AuthorizationServer, projects: AuthorizationServer) -> None:
    """Add the paths of both servers."""
    boards_options = AuthorizeOptions(account=YARD_ACCOUNT, requires_pkce=True)
    projects_options = AuthorizeOptions(account=STUDIO_ACCOUNT)
    for server, options, endpoints in (
        (boards, boards_options, _BoardsEndpoints(boards)),
        (projects, projects_options, _ProjectsEndpoints(projects)),
    ):
        authorize = AuthorizeEndpoint(server, options)
        router.add("GET", f"/{server.name}/authorize", authorize.get)
        router.add("POST", f"/{server.name}/authorize", authorize.post)
        router.add("POST", f"/{server.name}/token", endpoints.token)
        router.add("POST", f"/{server.name}/revoke", endpoints.revoke)
    for path in (
        "/tasks/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/tasks",
    ):
        router.add("GET", path, _boards_metadata)


class _Endpoints:
    """Token and revocation endpoints of one server."""

    def __init__(self, server: AuthorizationServer) -> None:
        self._server = server
        self._tokens = server.tokens

    def token(self, request: Request) -> Response:
        form = parse_form(request)
        try:
            self._server.authenticate_client(form)
            body = self._token_body(*self._redeem(form))
        except OAuthError as error:
            status = 401 if error.code == "invalid_client" else 400
            return error_response(status, reason=error.code, message=str(error))
        return json_response(body, headers=NO_STORE)

    def revoke(self, request: Request) -> Response:
        self._tokens.revoke(parse_form(request).get("token", ""))
        return json_response({})  # RFC 7009: an unknown token counts as revoked

    def _redeem(self, form: Mapping[str, str]) -> tuple[TokenGrant, str | None]:
        """Return the grant, and the refresh token it was redeemed by (None for a code)."""
        name = self._server.name
        match form.get("grant_type"):
            case "authorization_code":
                consent = self._server.redeem_code(form)
                account, scopes = consent.account, consent.scopes
                return TokenGrant(upstream=name, account=account, scopes=scopes), None
            case "refresh_token":
                refresh_token = form.get("refresh_token", "")
                grant = self._tokens.read_refresh(name, refresh_token)
                if grant is None:
                    raise OAuthError("invalid_grant", "The refresh token is not valid.")
                return grant, refresh_token
            case _:
                raise OAuthError("unsupported_grant_type", "Invalid grant_type.")

    def _token_body(self, grant: TokenGrant, refresh_token: str | None) -> dict[str, Any]:
        """Return the response to a grant; *refresh_token* is the one it was redeemed by."""
        raise NotImplementedError


class _BoardsEndpoints(_Endpoints):
    def _token_body(self, grant: TokenGrant, refresh_token: str | None) -> dict[str, Any]:
        if refresh_token is not None:
            self._tokens.revoke(refresh_token)
        upstream, account, scopes = grant.upstream, grant.account, grant.scopes
        claims = {"exp": int(time.time()) + LIFETIME_SECONDS, "jti": secrets.token_urlsafe(16)}
        return {
            "access_token": self._tokens.issue(
                upstream, account, scopes, lifetime_seconds=LIFETIME_SECONDS, text=sign_jwt(claims)
            ),
            "refresh_token": self._tokens.issue_refresh(upstream, account, scopes),
            "token_type": "Bearer",
            "scope": " ".join(scopes),
        }


class _ProjectsEndpoints(_Endpoints):
    def _token_body(self, grant: TokenGrant, refresh_token: str | None) -> dict[str, Any]:
        upstream, account, scopes = grant.upstream, grant.account, grant.scopes
        body = {
            "access_token": self._tokens.issue(
                upstream, account, scopes, lifetime_seconds=LIFETIME_SECONDS
            ),
            "token_type": "bearer",
            "expires_in": LIFETIME_SECONDS,
            "data": {
                "gid": _user_gid(account),
                "email": account,
                "name": account.partition("@")[0],
            },
        }
        if refresh_token is None:
            body["refresh_token"] = self._tokens.issue_refresh(upstream, account, scopes)
        return body


def _user_gid(account: str) -> str:
    return str(crc32(account.encode()))


def _boards_metadata(request: Request) -> Response:
    base = f"{request.public}/tasks"
    return json_response(
        {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "revocation_endpoint": f"{base}/revoke",
            "scopes_supported": list(_BOARD_SCOPES),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "none"],
            "code_challenge_methods_supported": ["S256"],
        }
    )
