"""
The identity server of provider B and the collaboration content.

Refresh tokens are replaced with every use. Which of the two upstreams a consent is for shows in its
scopes. Source: reference/wire.md 3.2, 4.3.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import uuid4

from sandbox.http import Request, Response, Router, json_response
from sandbox.oauth.authorization_codes import Consent
from sandbox.oauth.authorization_server import (
    LIFETIME,
    NO_STORE,
    AuthorizationServer,
    OAuthError,
    parse_form,
)
from sandbox.oauth.consent import AuthorizeOptions, ConsentPage
from sandbox.oauth.device_flow import GRANT as DEVICE
from sandbox.oauth.device_flow import DeviceCodes
from sandbox.oauth.identity_tokens import create_id_token, public_keys
from sandbox.world.people import STUDIO_ACCOUNT

_EXPIRED = "AADSTS70008: The refresh token has expired or was revoked."
_APP_UPSTREAM = "collab"
_REAL_HOST = "login.microsoftonline.com"
_RESOURCE = "https://graph.microsoft.com/"
_NO_RESOURCE = frozenset({"openid", "profile", "email", "offline_access"})
_CONTENT = ("files.", "sites.", "informationprotection", "sensitivitylabel")
_NUMBERS: Mapping[str, int] = {"invalid_client": 7000215, "invalid_grant": 70000}


def install(routes: Router, desk: AuthorizationServer) -> None:
    """Add the server's paths, all below a tenant."""
    manners = AuthorizeOptions(account=STUDIO_ACCOUNT, offline="scope")
    page = ConsentPage(desk.server, manners, desk.clients, desk.codes)
    server = _Server(desk)
    tenant = "/provider-b/{tenant}"
    routes.add("GET", f"{tenant}/oauth2/v2.0/authorize", page.show)
    routes.add("POST", f"{tenant}/oauth2/v2.0/authorize", page.decide)
    routes.add("POST", f"{tenant}/oauth2/v2.0/token", server.token)
    routes.add("POST", f"{tenant}/oauth2/v2.0/devicecode", server.devices.begin)
    routes.add("GET", f"{tenant}/oauth2/v2.0/deviceauth", server.devices.show)
    routes.add("POST", f"{tenant}/oauth2/v2.0/deviceauth", server.devices.decide)
    routes.add("GET", f"{tenant}/discovery/v2.0/keys", server.keys)
    routes.add("GET", f"{tenant}/v2.0/.well-known/openid-configuration", server.description)


class _Server:
    def __init__(self, desk: AuthorizationServer) -> None:
        self._desk = desk
        self._tokens = desk.tokens
        self.devices = DeviceCodes(desk, account=STUDIO_ACCOUNT)

    def token(self, request: Request, tenant: str) -> Response:
        form = parse_form(request)
        try:
            match form.get("grant_type"):
                case "authorization_code":
                    client = self._desk.client_of(form)
                    return self._first(self._desk.redeem(form), client, request, tenant)
                case "refresh_token":
                    self._desk.client_of(form)
                    return self._rotated(form)
                case "client_credentials":
                    return self._for_an_application(form, tenant)
                case grant if grant == DEVICE:
                    client = self._desk.client_of(form)
                    return self._first(self.devices.redeem(form), client, request, tenant)
                case _:
                    return _aadsts(
                        "unsupported_grant_type",
                        70003,
                        "AADSTS70003: The grant type is not supported.",
                    )
        except OAuthError as denial:
            number = _NUMBERS.get(denial.word, 90000)
            status = 401 if denial.word == "invalid_client" else 400
            return _aadsts(denial.word, number, f"AADSTS{number}: {denial}", status)

    def keys(self, _request: Request, **_tenant: str) -> Response:
        """Answer the public keys, the same for every tenant."""
        return json_response(public_keys())

    def description(self, request: Request, tenant: str) -> Response:
        """
        Describe the identity server to a client that looks it up first.

        Such clients take https addresses of the real host alone, and say so in `Host`.
        """
        base = _base(request, tenant)
        return json_response(
            {
                "issuer": f"{base}/v2.0",
                "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
                "jwks_uri": f"{base}/discovery/v2.0/keys",
            }
        )

    def _first(self, consent: Consent, client: str, request: Request, tenant: str) -> Response:
        scopes = tuple(
            scope.removeprefix(_RESOURCE) for scope in consent.scopes if scope not in _NO_RESOURCE
        )
        upstream = (
            "collab" if any(scope.lower().startswith(_CONTENT) for scope in scopes) else "providerB"
        )
        said = [
            *scopes,
            *(scope for scope in consent.scopes if scope in _NO_RESOURCE - {"offline_access"}),
        ]
        answer = {
            "token_type": "Bearer",
            "scope": " ".join(said),
            "expires_in": LIFETIME,
            "ext_expires_in": LIFETIME,
            "access_token": self._tokens.issue(
                upstream, consent.account, scopes, lifetime=LIFETIME
            ),
        }
        if consent.offline:
            answer["refresh_token"] = self._tokens.issue_refresh(upstream, consent.account, scopes)
        if "openid" in consent.scopes:
            answer["id_token"] = create_id_token(
                f"{_base(request, tenant)}/v2.0",
                client,
                consent.account,
                nonce=consent.nonce,
                lifetime=LIFETIME,
            )
        return json_response(answer, headers=NO_STORE)

    def _rotated(self, form: Mapping[str, str]) -> Response:
        old = form.get("refresh_token", "")
        for upstream in ("providerB", "collab"):
            grant = self._tokens.read_refresh(upstream, old)
            if grant is not None:
                break
        else:
            return _aadsts("invalid_grant", 70008, _EXPIRED)
        scopes = _narrowed(grant.scopes, form.get("scope", ""))
        self._tokens.revoke(old)
        answer = {
            "token_type": "Bearer",
            "scope": " ".join(scopes),
            "expires_in": LIFETIME,
            "ext_expires_in": LIFETIME,
            "access_token": self._tokens.issue(upstream, grant.account, scopes, lifetime=LIFETIME),
            "refresh_token": self._tokens.issue_refresh(upstream, grant.account, grant.scopes),
        }
        return json_response(answer, headers=NO_STORE)

    def _for_an_application(self, form: Mapping[str, str], tenant: str) -> Response:
        if tenant in {"common", "organizations", "consumers"}:
            return _aadsts("invalid_request", 50059, "AADSTS50059: No tenant was named.")
        if not form.get("client_id") or not (
            form.get("client_secret") or form.get("client_assertion")
        ):
            return _aadsts(
                "invalid_client", 7000216, "AADSTS7000216: A client secret is required.", 401
            )
        client = self._desk.client_of(form)
        if not form.get("scope", "").endswith("/.default"):
            return _aadsts("invalid_scope", 1002012, "AADSTS1002012: The scope is not valid.")
        token = self._tokens.issue(
            _APP_UPSTREAM, client, ("Sites.Selected",), app_only=True, lifetime=LIFETIME
        )
        answer = {
            "token_type": "Bearer",
            "expires_in": LIFETIME,
            "ext_expires_in": LIFETIME,
            "access_token": token,
        }
        return json_response(answer, headers=NO_STORE)


def _base(request: Request, tenant: str) -> str:
    host = request.headers.get("host", "")
    return (
        f"https://{host}/{tenant}"
        if host == _REAL_HOST
        else f"{request.public}/provider-b/{tenant}"
    )


def _narrowed(granted: tuple[str, ...], asked: str) -> tuple[str, ...]:
    """Return what of the granted scopes was asked for; nothing asked, or ``.default``, is all."""
    names = {part.rsplit("/", 1)[-1].lower() for part in asked.split()}
    chosen = tuple(one for one in granted if one.rsplit("/", 1)[-1].lower() in names)
    return chosen if chosen and ".default" not in names else granted


def _aadsts(word: str, number: int, message: str, status: int = 400) -> Response:
    trace = str(uuid4())
    body = {
        "error": word,
        "error_description": f"{message} Trace ID: {trace}",
        "error_codes": [number],
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ"),
        "trace_id": trace,
        "correlation_id": str(uuid4()),
    }
    return json_response(body, status, NO_STORE)
