"""The device flow (RFC 8628): a code is shown here and typed in elsewhere. In memory only."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape

from sandbox.error_bodies import oauth as refusal
from sandbox.http import Request, Response, json_response
from sandbox.oauth.authorization_codes import Consent
from sandbox.oauth.authorization_server import AuthorizationServer, OAuthError, parse_form

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_LIFETIME = 900  # seconds
_INTERVAL = 1  # seconds between two questions
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_PAGE = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True)
class _Waiting:
    user_code: str
    consent: Consent
    answer: str = ""  # "allow", "deny", or nothing yet


class DeviceCodes:
    """The device codes of one server that are waited for."""

    def __init__(self, desk: AuthorizationServer, *, account: str) -> None:
        self._desk = desk
        self._account = account
        self._waiting: dict[str, _Waiting] = {}

    def begin(self, request: Request, tenant: str) -> Response:
        """Answer a device code and what the person is to type."""
        form = parse_form(request)
        client = form.get("client_id", "")  # it proves itself when it redeems
        if not client:
            return refusal(400, message="The client is not named.")
        scopes = tuple(form.get("scope", "").split())
        consent = Consent(
            client=client,
            account=self._account,
            scopes=scopes,
            redirect_uri="",
            challenge="",
            offline="offline_access" in scopes,
        )
        device = secrets.token_urlsafe(32)
        user = "".join(secrets.choice(_LETTERS) for _ in range(9))
        self._waiting[device] = _Waiting(user, consent)
        uri = f"{request.public}/provider-b/{tenant}/oauth2/v2.0/deviceauth"
        return json_response(
            {
                "device_code": device,
                "user_code": user,
                "verification_uri": uri,
                "expires_in": _LIFETIME,
                "interval": _INTERVAL,
                "message": f"Open {uri} and enter the code {user} to sign in.",
            }
        )

    def show(self, request: Request, **_tenant: str) -> Response:
        """Ask for the code."""
        body = (
            "<!doctype html><title>Sandbox device login</title>"
            '<form method="post"><label>Code <input name="user_code" value="'
            f'{escape(request.first("user_code"))}"></label>'
            '<button name="decision" value="allow">Allow</button>'
            '<button name="decision" value="deny">Deny</button></form>'
        )
        return Response(body=body.encode(), headers=_PAGE)

    def decide(self, request: Request, **_tenant: str) -> Response:
        """Take the decision of a person for the code they typed."""
        form = parse_form(request)
        for device, one in self._waiting.items():
            if one.user_code == form.get("user_code", ""):
                account = form.get("account") or one.consent.account
                answer = "allow" if form.get("decision") == "allow" else "deny"
                consent = replace(one.consent, account=account)
                self._waiting[device] = _Waiting(one.user_code, consent, answer)
                return Response(body=b"<!doctype html><p>You can close this page.", headers=_PAGE)
        return Response(status=400, body=b"<!doctype html><p>Unknown code.", headers=_PAGE)

    def redeem(self, form: Mapping[str, str]) -> Consent:
        """
        Return what was agreed to, once.

        Raises:
            Denied: `authorization_pending`, `authorization_declined` or `bad_verification_code`.
        """
        device = form.get("device_code", "")
        one = self._waiting.get(device)
        if one is None or one.consent.client != form.get("client_id"):
            raise OAuthError("bad_verification_code", "The device code is not known.")
        if not one.answer:
            raise OAuthError("authorization_pending", "The user has not answered yet.")
        del self._waiting[device]
        if one.answer == "deny":
            raise OAuthError("authorization_declined", "The user denied the request.")
        return one.consent
