"""
Authorize endpoints of the authorization servers.

The page shows which client asks for which scopes. `auto_approve=true` in the address consents at
once, for tests and the demo; `login_hint` names the account. An unregistered client or redirect URI
is reported to the user and never redirected to (RFC 6749, 4.1.2.1).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode, urlsplit

from sandbox.http import Request, Response, parse_query
from sandbox.oauth.authorization_codes import Consent
from sandbox.oauth.authorization_server import AuthorizationServer, OAuthError
from sandbox.oauth.clients import RegisteredClient

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizeOptions:
    """
    Properties in which the servers differ.

    Attributes:
        account: The signed-in account if the address names none.
        requires_pkce: Whether confidential clients need PKCE too; public clients always do.
        offline_access_by: How a client asks for a refresh token: ``access_type``, ``scope``, or
            ``always`` if it need not ask.
        any_port_of: Loopback hosts whose port is not compared with the registered redirect URI.
    """

    account: str
    requires_pkce: bool = False
    offline_access_by: str = "always"
    any_port_of: frozenset[str] = frozenset()


class AuthorizeEndpoint:
    """The authorize endpoint of one server."""

    def __init__(self, server: AuthorizationServer, options: AuthorizeOptions) -> None:
        self._server = server
        self._options = options

    def get(self, request: Request, **_path: str) -> Response:
        """Return the consent page, or redirect at once: with an error, or a code if automatic."""
        query = dict(request.query)
        response = self._reject(query)
        if response is not None:
            return response
        if query.get("auto_approve") == "true":
            scopes = query.get("scope", "").split()
            return self._redirect_with_code(query, query.get("login_hint", ""), scopes)
        return _consent_page(query, query.get("login_hint") or self._options.account)

    def post(self, request: Request, **_path: str) -> Response:
        """Redirect with a code or an error after the user's decision; the query is the page's."""
        query = dict(request.query)
        response = self._reject(query)
        if response is not None:
            return response
        fields = parse_query(request.body.decode("utf-8", "replace"))
        form = dict(fields)
        if form.get("decision") != "allow":
            return _redirect(query, error="access_denied", error_description="The user said no.")
        requested = query.get("scope", "").split()
        checked = {value for name, value in fields if name == "scope"}
        scopes = [scope for scope in requested if scope in checked]
        return self._redirect_with_code(query, form.get("account", ""), scopes)

    def _reject(self, query: Mapping[str, str]) -> Response | None:
        """Return the error response to an invalid request; None if the request is valid."""
        client = self._server.clients.find(self._server.name, query.get("client_id", ""))
        if client is None:
            unknown = "<h1>Unknown client</h1><p>No client is registered under this id.</p>"
            return _page(unknown, 400)
        redirect_uri, any_port_of = query.get("redirect_uri", ""), self._options.any_port_of
        if not client.allows_redirect(redirect_uri, any_port_of=any_port_of):
            mismatch = "<h1>redirect_uri_mismatch</h1><p>The address is not registered.</p>"
            return _page(mismatch, 400)
        try:
            _check_request(query, client, self._options)
        except OAuthError as error:
            return _redirect(query, error=error.code, error_description=str(error))
        return None

    def _redirect_with_code(
        self, query: Mapping[str, str], account: str, scopes: list[str]
    ) -> Response:
        account = account or self._options.account
        if self._options.offline_access_by == "access_type":
            scopes = self._with_earlier_scopes(query, account, scopes)
        consent = Consent(
            client=query["client_id"],
            account=account,
            scopes=tuple(scopes),
            redirect_uri=query["redirect_uri"],
            challenge=query.get("code_challenge", ""),
            offline=self._gets_refresh_token(query, account, scopes),
            nonce=query.get("nonce", ""),
        )
        return _redirect(query, code=self._server.codes.issue(self._server.name, consent))

    def _with_earlier_scopes(
        self, query: Mapping[str, str], account: str, scopes: list[str]
    ) -> list[str]:
        """Add the scopes of earlier consents where the client asks for incremental consent."""
        if query.get("include_granted_scopes") != "true":
            return scopes
        codes = self._server.codes
        earlier = codes.earlier_scopes(self._server.name, query["client_id"], account)
        return list(dict.fromkeys((*scopes, *earlier)))

    def _gets_refresh_token(
        self, query: Mapping[str, str], account: str, scopes: list[str]
    ) -> bool:
        match self._options.offline_access_by:
            case "access_type":
                codes, client = self._server.codes, query["client_id"]
                is_first = not codes.has_consented(self._server.name, client, account)
                is_asked_again = "consent" in query.get("prompt", "").split()
                return query.get("access_type") == "offline" and (is_asked_again or is_first)
            case "scope":
                return "offline_access" in scopes
            case _:
                return True


def _check_request(
    query: Mapping[str, str], client: RegisteredClient, options: AuthorizeOptions
) -> None:
    """
    Check the request of a registered client.

    Raises:
        OAuthError: The request is invalid; the error goes to the client.
    """
    if query.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "Only the code flow is supported.")
    challenge = query.get("code_challenge", "")
    if challenge and query.get("code_challenge_method") != "S256":
        raise OAuthError("invalid_request", "The code challenge method must be S256.")
    if challenge and not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "The code challenge is not one.")
    if not challenge and (options.requires_pkce or client.secret_hash is None):
        raise OAuthError("invalid_request", "A code challenge is needed.")
    if query.get("prompt") == "none":
        raise OAuthError("interaction_required", "The user must be asked.")


def _redirect(query: Mapping[str, str], **parameters: str) -> Response:
    """Redirect to the client with *parameters* and its own state."""
    if "state" in query:
        parameters["state"] = query["state"]
    uri = query["redirect_uri"]
    separator = "&" if "?" in uri else "?"
    location = f"{uri}{separator}{urlencode(parameters)}"
    return Response(status=302, headers={"location": location, "cache-control": "no-store"})


def _consent_page(query: Mapping[str, str], account: str) -> Response:
    boxes = "".join(
        f'<li><label><input type="checkbox" name="scope" value="{escape(scope)}" checked> '
        f"{escape(scope)}</label></li>"
        for scope in query.get("scope", "").split()
    )
    # A form without an action is sent to the address of the page, its query included.
    content = (
        f"<h1>{escape(query['client_id'])} asks for access</h1>"
        f'<form method="post"><p><label>Account <input name="account" value="{escape(account)}">'
        f"</label></p><ul>{boxes}</ul>"
        '<p><button name="decision" value="allow">Allow</button> '
        '<button name="decision" value="deny">Deny</button></p></form>'
    )
    parts = urlsplit(query["redirect_uri"])
    # Browsers apply form-action to redirects after a form, too.
    return _page(content, form_action=f"'self' {parts.scheme}://{parts.netloc}")


def _page(content: str, status: int = 200, *, form_action: str = "'none'") -> Response:
    policy = (
        f"default-src 'none'; form-action {form_action}; base-uri 'none'; frame-ancestors 'none'"
    )
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Sandbox consent</title></head><body>{content}</body></html>"
    )
    headers = {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
    }
    return Response(status=status, body=body.encode(), headers=headers)
