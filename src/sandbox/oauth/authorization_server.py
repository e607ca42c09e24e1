"""What the token endpoints of all identity servers share: who asks, and what a code is good for."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus

import orjson

from sandbox.http import Request, parse_query
from sandbox.oauth.authorization_codes import AuthorizationCodes, Consent
from sandbox.oauth.clients import ClientRegistry
from sandbox.oauth.tokens import TokenStore
from sandbox.state import SandboxState

LIFETIME = 3599  # seconds
NO_STORE: Mapping[str, str] = {"cache-control": "no-store", "pragma": "no-cache"}


class OAuthError(Exception):
    """A token endpoint says no; *word* is of RFC 6749, 5.2."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """
    One server's registrations, codes and tokens.

    Attributes:
        server: `provider-a`, `provider-b`, `tasks` or `projects`.
    """

    server: str
    clients: ClientRegistry
    codes: AuthorizationCodes
    tokens: TokenStore

    @classmethod
    def of(cls, server: str, state: SandboxState) -> "AuthorizationServer":
        """Stand on *ground*."""
        codes = AuthorizationCodes(state.database, clock=state.clock)
        return cls(server, ClientRegistry(state.database), codes, state.tokens)

    def client_of(self, form: Mapping[str, str]) -> str:
        """
        Return whose call it is.

        Raises:
            Denied: `invalid_client`: none was named, or the secret is not the registered one's.
        """
        name = form.get("client_id", "")
        if not name:
            raise OAuthError("invalid_client", "Could not determine client ID from request.")
        client = self.clients.find(self.server, name)
        if client is not None and not client.knows(form.get("client_secret", "")):
            raise OAuthError("invalid_client", "The client secret is not right.")
        return name

    def redeem(self, form: Mapping[str, str]) -> Consent:
        """
        Use up the code in *form*, which the client of it has proved to be its own.

        Raises:
            Denied: `invalid_grant`: unknown, used or old; another client's or redirect URI's; or
                not the verifier of its challenge.
        """
        consent = self.codes.take(self.server, form.get("code", ""))
        if consent is None or consent.client != form.get("client_id"):
            raise OAuthError("invalid_grant", "The code is not valid, or was used already.")
        if consent.redirect_uri != form.get("redirect_uri", ""):
            raise OAuthError("invalid_grant", "The redirect URI is not the one of the request.")
        if not consent.proved_by(form.get("code_verifier", "")):
            raise OAuthError("invalid_grant", "The code verifier does not fit.")
        return consent


def parse_form(request: Request) -> dict[str, str]:
    """Read the body, a form or JSON; the client of a Basic header is put into it."""
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            read = orjson.loads(request.body)
        except orjson.JSONDecodeError:
            read = {}
        form = {str(key): str(value) for key, value in read.items()} if _is_object(read) else {}
    else:
        form = dict(parse_query(request.body.decode("utf-8", "replace")))
    scheme, _, coded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            name, _, secret = base64.b64decode(coded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return form
        form |= {"client_id": unquote_plus(name), "client_secret": unquote_plus(secret)}
    return form


def _is_object(read: object) -> bool:
    return isinstance(read, dict)
