"""
The identity servers of the task providers.

The boards' server needs PKCE, takes JSON, replaces refresh tokens with every use, tells no
lifetime (the access token is a JWT that does) and describes itself (RFC 8414). The projects' server
tells who signed in beside the tokens and keeps its refresh tokens. Source: reference/wire.md 3.3.
"""

import secrets
import time
from collections.abc import Mapping
from typing import Any

from sandbox.error_bodies import oauth as refusal
from sandbox.http import Request, Response, Router, json_response
from sandbox.oauth.authorization_server import (
    NO_STORE,
    AuthorizationServer,
    OAuthError,
    parse_form,
)
from sandbox.oauth.consent import AuthorizeOptions, ConsentPage
from sandbox.oauth.identity_tokens import sign_jwt
from sandbox.oauth.tokens import TokenGrant
from sandbox.world.people import STUDIO_ACCOUNT, YARD_ACCOUNT

LIFETIME = 3600  # seconds
_SCOPES = (
    *("me:read", "boards:read", "boards:write", "updates:read", "updates:write"),
    *("users:read", "account:read", "workspaces:read", "assets:read"),
)


def install(routes: Router, boards: AuthorizationServer, projects: AuthorizationServer) -> None:
    """Add the paths of both servers."""
    accounts = {"tasks": YARD_ACCOUNT, "projects": STUDIO_ACCOUNT}
    for desk, server in ((boards, _Boards(boards)), (projects, _Projects(projects))):
        manners = AuthorizeOptions(
            account=accounts[desk.server], needs_proof=desk.server == "tasks"
        )
        page = ConsentPage(desk.server, manners, desk.clients, desk.codes)
        routes.add("GET", f"/{desk.server}/authorize", page.show)
        routes.add("POST", f"/{desk.server}/authorize", page.decide)
        routes.add("POST", f"/{desk.server}/token", server.token)
        routes.add("POST", f"/{desk.server}/revoke", server.revoke)
    for path in (
        "/tasks/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/tasks",
    ):
        routes.add("GET", path, _description)


class _Server:
    """What both have in common."""

    def __init__(self, desk: AuthorizationServer) -> None:
        self._desk = desk
        self._tokens = desk.tokens

    def token(self, request: Request) -> Response:
        form = parse_form(request)
        try:
            self._desk.client_of(form)
            answer = self.answer(*self._granted(form))
        except OAuthError as denial:
            status = 401 if denial.word == "invalid_client" else 400
            return refusal(status, reason=denial.word, message=str(denial))
        return json_response(answer, headers=NO_STORE)

    def _granted(self, form: Mapping[str, str]) -> tuple[TokenGrant, str | None]:
        server = self._desk.server
        match form.get("grant_type"):
            case "authorization_code":
                consent = self._desk.redeem(form)
                account, scopes = consent.account, consent.scopes
                return TokenGrant(upstream=server, account=account, scopes=scopes), None
            case "refresh_token":
                old = form.get("refresh_token", "")
                grant = self._tokens.read_refresh(server, old)
                if grant is None:
                    raise OAuthError("invalid_grant", "The refresh token is not valid.")
                return grant, old
            case _:
                raise OAuthError("unsupported_grant_type", "Invalid grant_type.")

    def revoke(self, request: Request) -> Response:
        self._tokens.revoke(parse_form(request).get("token", ""))
        return json_response({})  # RFC 7009: unknown tokens are as good as revoked

    def answer(self, grant: TokenGrant, old: str | None) -> Mapping[str, Any]:
        """Return the answer for *grant*; *old* is the refresh token it came by, if by one."""
        raise NotImplementedError


class _Boards(_Server):
    def answer(self, grant: TokenGrant, old: str | None) -> Mapping[str, Any]:
        if old is not None:
            self._tokens.revoke(old)
        claims = {"exp": int(time.time()) + LIFETIME, "jti": secrets.token_urlsafe(16)}
        issue, renew = self._tokens.issue, self._tokens.issue_refresh
        return {
            "access_token": issue(
                grant.upstream,
                grant.account,
                grant.scopes,
                lifetime=LIFETIME,
                text=sign_jwt(claims),
            ),
            "refresh_token": renew(grant.upstream, grant.account, grant.scopes),
            "token_type": "Bearer",
            "scope": " ".join(grant.scopes),
        }


class _Projects(_Server):
    def answer(self, grant: TokenGrant, old: str | None) -> Mapping[str, Any]:
        issue, renew = self._tokens.issue, self._tokens.issue_refresh
        made = {
            "access_token": issue(grant.upstream, grant.account, grant.scopes, lifetime=LIFETIME),
            "token_type": "bearer",
            "expires_in": LIFETIME,
            "data": {"email": grant.account, "name": grant.account.partition("@")[0]},
        }
        if old is None:
            made["refresh_token"] = renew(grant.upstream, grant.account, grant.scopes)
        return made


def _description(request: Request) -> Response:
    base = f"{request.public}/tasks"
    return json_response(
        {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "revocation_endpoint": f"{base}/revoke",
            "scopes_supported": list(_SCOPES),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "none"],
            "code_challenge_methods_supported": ["S256"],
        }
    )
