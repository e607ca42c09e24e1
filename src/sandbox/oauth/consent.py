"""
Where people consent: the authorize endpoints of the sandbox's identity servers.

The page shows who asks for what. `auto_approve=true` in the address agrees at once, for tests and
the demo; `login_hint` names the account. A client or redirect URI that is not registered is told to
the person and never redirected to (RFC 6749, 4.1.2.1).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode, urlsplit

from sandbox.http import Request, Response, parse_query
from sandbox.oauth.authorization_codes import AuthorizationCodes, Consent
from sandbox.oauth.clients import ClientRegistry, RegisteredClient

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizeOptions:
    """
    How a server differs from the standard.

    Attributes:
        account: Who is signed in when the address names nobody.
        needs_proof: PKCE is a must for confidential clients too.
        offline: What asks for a refresh token: ``access_type``, ``scope`` or ``always``.
    """

    account: str
    needs_proof: bool = False
    offline: str = "always"


class AskError(Exception):
    """*word* goes back to the client."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


class ConsentPage:
    """The authorize endpoint of one server."""

    def __init__(
        self,
        server: str,
        manners: AuthorizeOptions,
        clients: ClientRegistry,
        codes: AuthorizationCodes,
    ) -> None:
        self._server = server
        self._manners = manners
        self._clients = clients
        self._codes = codes

    def show(self, request: Request, **_: str) -> Response:
        """Answer GET: the page, or at once what it would have led to."""
        asked = dict(request.query)
        client, refused = self._client(asked)
        if client is None:
            return _page(refused, 400)
        try:
            _check(asked, client, self._manners)
        except AskError as problem:
            return _back(asked, error=problem.word, error_description=str(problem))
        if asked.get("auto_approve") == "true":
            return self._agreed(asked, asked.get("login_hint", ""), asked.get("scope", "").split())
        return _form(asked, asked.get("login_hint") or self._manners.account)

    def decide(self, request: Request, **_: str) -> Response:
        """Answer POST, the person's decision, at the address that the page was shown at."""
        asked = dict(request.query)
        client, refused = self._client(asked)
        if client is None:
            return _page(refused, 400)
        decision = parse_query(request.body.decode("utf-8", "replace"))
        given = dict(decision)
        try:
            _check(asked, client, self._manners)
        except AskError as problem:
            return _back(asked, error=problem.word, error_description=str(problem))
        if given.get("decision") != "allow":
            return _back(asked, error="access_denied", error_description="The user said no.")
        wanted = asked.get("scope", "").split()
        kept = {value for name, value in decision if name == "scope"}
        return self._agreed(asked, given.get("account", ""), [one for one in wanted if one in kept])

    def _client(self, asked: Mapping[str, str]) -> tuple[RegisteredClient | None, str]:
        client = self._clients.find(self._server, asked.get("client_id", ""))
        if client is None:
            return None, "<h1>Unknown client</h1><p>No client is registered under this id.</p>"
        if not client.returns_to(asked.get("redirect_uri", "")):
            return None, "<h1>redirect_uri_mismatch</h1><p>The address is not registered.</p>"
        return client, ""

    def _agreed(self, asked: Mapping[str, str], account: str, scopes: list[str]) -> Response:
        who = account or self._manners.account
        consent = Consent(
            client=asked["client_id"],
            account=who,
            scopes=tuple(scopes),
            redirect_uri=asked["redirect_uri"],
            challenge=asked.get("code_challenge", ""),
            offline=self._offline(asked, who, scopes),
            nonce=asked.get("nonce", ""),
        )
        return _back(asked, code=self._codes.issue(self._server, consent))

    def _offline(self, asked: Mapping[str, str], account: str, scopes: list[str]) -> bool:
        match self._manners.offline:
            case "access_type":
                again = self._codes.consented(self._server, asked["client_id"], account)
                fresh = "consent" in asked.get("prompt", "").split() or not again
                return asked.get("access_type") == "offline" and fresh
            case "scope":
                return "offline_access" in scopes
            case _:
                return True


def _check(asked: Mapping[str, str], client: RegisteredClient, manners: AuthorizeOptions) -> None:
    """
    Look over what a known client asks.

    Raises:
        AskError: The client is told so.
    """
    if asked.get("response_type") != "code":
        raise AskError("unsupported_response_type", "Only the code flow is supported.")
    challenge = asked.get("code_challenge", "")
    if challenge and asked.get("code_challenge_method") != "S256":
        raise AskError("invalid_request", "The code challenge method must be S256.")
    if challenge and not _CHALLENGE.fullmatch(challenge):
        raise AskError("invalid_request", "The code challenge is not one.")
    if not challenge and (manners.needs_proof or client.digest is None):
        raise AskError("invalid_request", "A code challenge is needed.")
    if asked.get("prompt") == "none":
        raise AskError("interaction_required", "The user must be asked.")


def _back(asked: Mapping[str, str], **told: str) -> Response:
    """Send the person back to the client, its state as it was."""
    if "state" in asked:
        told["state"] = asked["state"]
    uri = asked["redirect_uri"]
    sign = "&" if "?" in uri else "?"
    location = f"{uri}{sign}{urlencode(told)}"
    return Response(status=302, headers={"location": location, "cache-control": "no-store"})


def _form(asked: Mapping[str, str], account: str) -> Response:
    boxes = "".join(
        f'<li><label><input type="checkbox" name="scope" value="{escape(part)}" checked> '
        f"{escape(part)}</label></li>"
        for part in asked.get("scope", "").split()
    )
    # Without an action the form goes to the address of the page, its query included.
    inside = (
        f"<h1>{escape(asked['client_id'])} asks for access</h1>"
        f'<form method="post"><p><label>Account <input name="account" value="{escape(account)}">'
        f"</label></p><ul>{boxes}</ul>"
        '<p><button name="decision" value="allow">Allow</button> '
        '<button name="decision" value="deny">Deny</button></p></form>'
    )
    parts = urlsplit(asked["redirect_uri"])
    # Browsers hold redirects after a form to form-action as well.
    return _page(inside, form=f"'self' {parts.scheme}://{parts.netloc}")


def _page(inside: str, status: int = 200, *, form: str = "'none'") -> Response:
    policy = f"default-src 'none'; form-action {form}; base-uri 'none'; frame-ancestors 'none'"
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Sandbox consent</title></head><body>{inside}</body></html>"
    )
    headers = {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
    }
    return Response(status=status, body=body.encode(), headers=headers)
