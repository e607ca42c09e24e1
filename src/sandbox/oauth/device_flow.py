"""The device flow (RFC 8628): a device shows a code that its user types in elsewhere."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape

from sandbox.error_bodies import oauth as error_response
from sandbox.http import Request, Response, json_response
from sandbox.oauth.authorization_codes import Consent
from sandbox.oauth.authorization_server import OAuthError, parse_form

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
_LIFETIME_SECONDS = 900
_POLL_SECONDS = 1
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True)
class _PendingDevice:
    """A device code that waits; *decision* is "allow", "deny", or "" while the user is silent."""

    user_code: str
    consent: Consent
    decision: str = ""


class DeviceFlow:
    """The device endpoints of one server; device codes live in memory only."""

    def __init__(self, *, account: str) -> None:
        self._account = account
        self._pending: dict[str, _PendingDevice] = {}

    def start(self, request: Request, tenant: str) -> Response:
        """Return a device code and the code that the user types in."""
        form = parse_form(request)
        client = form.get("client_id", "")  # authenticated when it redeems the device code
        if not client:
            return error_response(400, message="The client is not named.")
        scopes = tuple(form.get("scope", "").split())
        consent = Consent(
            client=client,
            account=self._account,
            scopes=scopes,
            redirect_uri="",
            challenge="",
            offline="offline_access" in scopes,
        )
        device_code = secrets.token_urlsafe(32)
        user_code = "".join(secrets.choice(_LETTERS) for _ in range(9))
        self._pending[device_code] = _PendingDevice(user_code, consent)
        uri = f"{request.public}/provider-b/{tenant}/oauth2/v2.0/deviceauth"
        return json_response(
            {
                "device_code": device_code,
                "user_code": user_code,
                "verification_uri": uri,
                "expires_in": _LIFETIME_SECONDS,
                "interval": _POLL_SECONDS,
                "message": f"Open {uri} and enter the code {user_code} to sign in.",
            }
        )

    def show_form(self, request: Request, **_tenant: str) -> Response:
        """Return the page on which the user types the code in."""
        body = (
            "<!doctype html><title>Sandbox device login</title>"
            '<form method="post"><label>Code <input name="user_code" value="'
            f'{escape(request.first("user_code"))}"></label>'
            '<button name="decision" value="allow">Allow</button>'
            '<button name="decision" value="deny">Deny</button></form>'
        )
        return Response(body=body.encode(), headers=_PAGE_HEADERS)

    def decide(self, request: Request, **_tenant: str) -> Response:
        """Store the user's decision for the code they typed in."""
        form = parse_form(request)
        for device_code, pending in self._pending.items():
            if pending.user_code == form.get("user_code", ""):
                account = form.get("account") or pending.consent.account
                decision = "allow" if form.get("decision") == "allow" else "deny"
                consent = replace(pending.consent, account=account)
                self._pending[device_code] = replace(pending, consent=consent, decision=decision)
                body = b"<!doctype html><p>You can close this page."
                return Response(body=body, headers=_PAGE_HEADERS)
        body = b"<!doctype html><p>Unknown code."
        return Response(status=400, body=body, headers=_PAGE_HEADERS)

    def redeem(self, form: Mapping[str, str]) -> Consent:
        """
        Return the user's consent and forget the device code.

        Raises:
            OAuthError: `authorization_pending`, `authorization_declined` or
                `bad_verification_code`.
        """
        device_code = form.get("device_code", "")
        pending = self._pending.get(device_code)
        if pending is None or pending.consent.client != form.get("client_id"):
            raise OAuthError("bad_verification_code", "The device code is not known.")
        if not pending.decision:
            raise OAuthError("authorization_pending", "The user has not answered yet.")
        del self._pending[device_code]
        if pending.decision == "deny":
            raise OAuthError("authorization_declined", "The user denied the request.")
        return pending.consent
