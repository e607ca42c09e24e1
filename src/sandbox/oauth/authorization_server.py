"""Parts that all authorization servers share: client authentication, codes and forms."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus

import orjson

from sandbox.collab.store import ContentStore
from sandbox.http import Request, parse_query
from sandbox.mail.ids import PROVIDER_B
from sandbox.mail.store import Account, MailStore
from sandbox.oauth.authorization_codes import AuthorizationCodes, Consent
from sandbox.oauth.clients import ClientRegistry
from sandbox.oauth.tokens import TokenStore
from sandbox.state import SandboxState
from sandbox.storage.database import Database

LIFETIME_SECONDS = 3599
NO_STORE: Mapping[str, str] = {"cache-control": "no-store", "pragma": "no-cache"}


class OAuthError(Exception):
    """The server refuses; *code* is an error code of RFC 6749 (4.1.2.1 or 5.2) or RFC 8628."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SecretExpired(OAuthError):
    """The client's secret has expired."""

    def __init__(self) -> None:
        super().__init__("invalid_client", "The provided client secret keys are expired.")


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """
    One server's registered clients, authorization codes and tokens.

    Attributes:
        name: `provider-a`, `provider-b`, `tasks` or `projects`.
    """

    name: str
    clients: ClientRegistry
    codes: AuthorizationCodes
    tokens: TokenStore
    mails: MailStore
    content: ContentStore
    database: Database

    @classmethod
    def create(cls, name: str, state: SandboxState) -> "AuthorizationServer":
        """Create the server *name* over the sandbox's database."""
        codes = AuthorizationCodes(state.database, clock=state.clock)
        clients = ClientRegistry(state.database)
        return cls(name, clients, codes, state.tokens, state.mails, state.content, state.database)

    def account_of(self, mailbox: str, address: str) -> Account:
        """Return the account that signs in by *address*: the mailbox's owner, or another one."""
        owner = self.mails.account(mailbox)
        if owner.has_address(address):
            return owner
        person = self.content.person(address) if mailbox == PROVIDER_B else None
        if person is None:
            return Account(address, "")
        return Account(person.email, person.name, person.sign_in_name)

    def authenticate_client(self, form: Mapping[str, str]) -> str:
        """
        Return the id of the client that sent *form*.

        Raises:
            OAuthError: `invalid_client`: the form names no client, or the secret of a registered
                one is wrong or has expired (`SecretExpired`).
        """
        client_id = form.get("client_id", "")
        if not client_id:
            raise OAuthError("invalid_client", "Could not determine client ID from request.")
        client = self.clients.find(self.name, client_id)
        if client is not None and not client.has_secret(form.get("client_secret", "")):
            raise OAuthError("invalid_client", "The client secret is not right.")
        if client is not None and client.is_expired:
            raise SecretExpired
        return client_id

    def redeem_code(self, form: Mapping[str, str]) -> Consent:
        """
        Use up the authorization code in *form*; the client is authenticated already.

        Raises:
            OAuthError: `invalid_grant`: the code is unknown, used or expired, belongs to another
                client or redirect URI, or the PKCE verifier does not match.
        """
        consent = self.codes.redeem(self.name, form.get("code", ""))
        if consent is None or consent.client != form.get("client_id"):
            raise OAuthError("invalid_grant", "The code is not valid, or was used already.")
        if consent.redirect_uri != form.get("redirect_uri", ""):
            raise OAuthError("invalid_grant", "The redirect URI is not the one of the request.")
        if not consent.matches_verifier(form.get("code_verifier", "")):
            raise OAuthError("invalid_grant", "The code verifier does not fit.")
        return consent


def parse_form(request: Request) -> dict[str, str]:
    """Parse the body, a form or a JSON object; a Basic header adds the client's credentials."""
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            content = orjson.loads(request.body)
        except orjson.JSONDecodeError:
            content = {}
        is_object = isinstance(content, dict)
        form = {str(key): str(value) for key, value in content.items()} if is_object else {}
    else:
        form = dict(parse_query(request.body.decode("utf-8", "replace")))
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            decoded = base64.b64decode(credentials, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return form
        client_id, _, secret = decoded.partition(":")
        form |= {"client_id": unquote_plus(client_id), "client_secret": unquote_plus(secret)}
    return form
