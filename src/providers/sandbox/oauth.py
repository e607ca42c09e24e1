"""
The token endpoints of the sandbox's identity servers.

Provider A keeps its refresh token for ever; provider B and collab get a new one with every use.
Source: reference/wire.md 3.1, 3.2.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl
from uuid import uuid4

from providers.sandbox.ground import Ground
from providers.sandbox.shapes import oauth as refusal
from providers.sandbox.tokens import TokenGrant
from providers.sandbox.wire import Answer, Handler, Request, Routes, as_json, call

LIFETIME = 3599  # seconds
_NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
_EXPIRED = "AADSTS70008: The refresh token has expired or was revoked."
_APP_UPSTREAM = "collab"


def open_wire(ground: Ground) -> Handler:
    """Return the wire below ``/oauth``."""
    endpoints = _TokenEndpoints(ground)
    routes = Routes()
    routes.add("POST", "/provider-a/token", endpoints.provider_a)
    routes.add("POST", "/provider-b/{tenant}/oauth2/v2.0/token", endpoints.provider_b)
    routes.add(
        "GET", "/provider-b/{tenant}/v2.0/.well-known/openid-configuration", endpoints.description
    )

    async def wire(request: Request) -> Answer | None:
        found = routes.find(request.method, request.segments)
        return None if found is None else await call(found[0], request, found[1])

    return wire


class _TokenEndpoints:
    def __init__(self, ground: Ground) -> None:
        self._tokens = ground.tokens

    def provider_a(self, request: Request) -> Answer:
        form = _form(request)
        if form.get("grant_type") != "refresh_token":
            return refusal(400, reason="unsupported_grant_type", message="Invalid grant_type.")
        if not form.get("client_id"):
            return refusal(400, message="Could not determine client ID from request.")
        grant = self._tokens.read_refresh("providerA", form.get("refresh_token", ""))
        if grant is None:
            return refusal(
                400, reason="invalid_grant", message="Token has been expired or revoked."
            )
        return as_json(
            {
                "access_token": self._access(grant, grant.scopes),
                "expires_in": LIFETIME,
                "scope": " ".join(grant.scopes),
                "token_type": "Bearer",
            },
            headers=_NO_STORE,
        )

    def provider_b(self, request: Request, tenant: str) -> Answer:
        form = _form(request)
        match form.get("grant_type"):
            case "refresh_token":
                return self._rotated(form)
            case "client_credentials":
                return self._for_an_application(form, tenant)
            case _:
                return _aadsts(
                    "unsupported_grant_type", 70003, "AADSTS70003: The grant type is not supported."
                )

    def description(self, request: Request, tenant: str) -> Answer:
        """
        Describe the identity server to a client that looks it up first.

        Such clients take https addresses of the real host alone, and say so in `Host`.
        """
        host = request.headers.get("host", "")
        real = host == "login.microsoftonline.com"
        base = f"https://{host}/{tenant}" if real else f"{request.public}/provider-b/{tenant}"
        return as_json(
            {
                "issuer": f"{base}/v2.0",
                "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
                "jwks_uri": f"{base}/discovery/v2.0/keys",
            }
        )

    def _rotated(self, form: Mapping[str, str]) -> Answer:
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
            "access_token": self._access(grant, scopes),
            "refresh_token": self._tokens.issue_refresh(upstream, grant.account, grant.scopes),
        }
        return as_json(answer, headers=_NO_STORE)

    def _for_an_application(self, form: Mapping[str, str], tenant: str) -> Answer:
        if tenant in {"common", "organizations", "consumers"}:
            return _aadsts("invalid_request", 50059, "AADSTS50059: No tenant was named.")
        if not form.get("client_id") or not (
            form.get("client_secret") or form.get("client_assertion")
        ):
            return _aadsts(
                "invalid_client", 7000216, "AADSTS7000216: A client secret is required.", 401
            )
        if not form.get("scope", "").endswith("/.default"):
            return _aadsts("invalid_scope", 1002012, "AADSTS1002012: The scope is not valid.")
        token = self._tokens.issue(
            _APP_UPSTREAM,
            form["client_id"],
            ("Sites.Selected",),
            app_only=True,
            lifetime=LIFETIME,
        )
        answer = {
            "token_type": "Bearer",
            "expires_in": LIFETIME,
            "ext_expires_in": LIFETIME,
            "access_token": token,
        }
        return as_json(answer, headers=_NO_STORE)

    def _access(self, grant: TokenGrant, scopes: tuple[str, ...]) -> str:
        return self._tokens.issue(grant.upstream, grant.account, scopes, lifetime=LIFETIME)


def _form(request: Request) -> dict[str, str]:
    return dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))


def _narrowed(granted: tuple[str, ...], asked: str) -> tuple[str, ...]:
    """Return what of the granted scopes was asked for; nothing asked, or ``.default``, is all."""
    names = {one.rsplit("/", 1)[-1].lower() for one in asked.split()}
    chosen = tuple(one for one in granted if one.rsplit("/", 1)[-1].lower() in names)
    return chosen if chosen and ".default" not in names else granted


def _aadsts(word: str, number: int, message: str, status: int = 400) -> Answer:
    trace = str(uuid4())
    body = {
        "error": word,
        "error_description": f"{message} Trace ID: {trace}",
        "error_codes": [number],
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ"),
        "trace_id": trace,
        "correlation_id": str(uuid4()),
    }
    return as_json(body, status, _NO_STORE)
