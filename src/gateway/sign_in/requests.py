"""Authorization requests of clients: checked, and carried from form to form under a seal."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import msgspec

from gateway.secrets.keyring import Keyring
from gateway.sign_in import clients, metadata, redirect_uris
from gateway.sign_in.failures import SignInFailed
from gateway.store.timestamps import now_ms

if TYPE_CHECKING:
    from gateway.services import Services

MAX_STATE = 1_024  # characters
MAX_FIELDS = 200  # of a form: a token reaches few accounts
FORM_MS = 10 * 60_000  # that a person may take for a form

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_CONTEXT = b"sign-in"


class AuthorizationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """
    A checked request of a client, and what its person proved.

    Attributes:
        path: The protected resource below the base URL: empty for the whole gateway.
        scopes: The presets that it asks for, as far as they exist.
        until: When the form ends, in milliseconds.
        token_id, key_id: The token that the person proved; None: none yet.
        link: The digest of the one-time link by which it was proved; None: by its text.
    """

    client_id: str
    client_name: str
    client_host: str
    redirect_uri: str
    state: str | None
    challenge: str
    resource: str
    path: str
    scopes: tuple[str, ...]
    until: int
    token_id: int | None = None
    key_id: str = ""
    link: bytes | None = None

    def redirect(self, issuer: str, **parameters: str) -> str:
        """Return the redirect URI with *parameters*, the state and the issuer (RFC 9207)."""
        state = {} if self.state is None else {"state": self.state}
        query = urlencode({**parameters, **state, "iss": issuer})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{query}"

    def sealed(self, keyring: Keyring) -> str:
        """Return the request as text that only this deployment opens."""
        return keyring.seal(msgspec.json.encode(self), context=_CONTEXT)


def unseal(keyring: Keyring, text: str) -> AuthorizationRequest:
    """
    Open what `AuthorizationRequest.sealed` returned.

    Raises:
        SignInFailed: It was sealed elsewhere, or its time is over.
    """
    try:
        plain = keyring.unseal(text, context=_CONTEXT)
        request = msgspec.json.decode(plain, type=AuthorizationRequest)
    except ValueError:
        raise SignInFailed("invalid_request", "This form was not made by this gateway.") from None
    if request.until <= now_ms():
        raise SignInFailed("invalid_request", "This form is too old. Begin again in your app.")
    return request


async def read(services: "Services", query: str) -> AuthorizationRequest:
    """
    Check the parameters of an authorization request.

    Raises:
        SignInFailed: One is missing or wrong, or is there twice. The client is not told: an
            address that a stranger chose is called for a person's answer alone (RFC 9700, 4.11).
    """
    sent = parameters(query)
    client = await clients.named(services, sent.get("client_id", ""))
    redirect_uri = sent.get("redirect_uri", "")
    if not redirect_uris.is_registered(redirect_uri, client.redirect_uris):
        raise SignInFailed("invalid_request", "The redirect_uri is not registered for this client.")
    _require(sent, "response_type", "code")
    _require(sent, "code_challenge_method", "S256")
    if not _CHALLENGE.fullmatch(sent.get("code_challenge", "")):
        raise SignInFailed("invalid_request", "A code_challenge of 43 characters is required.")
    if sent.get("response_mode", "query") != "query":
        raise SignInFailed("invalid_request", "The response_mode must be query.")
    if len(sent.get("state", "")) > MAX_STATE:
        raise SignInFailed("invalid_request", f"The state has over {MAX_STATE} characters.")
    path = metadata.path_of_resource(services.settings.base_url, sent.get("resource", ""))
    if path is None:
        raise SignInFailed("invalid_target", "The resource must be an address of this gateway.")
    known = metadata.scopes_of(path)
    return AuthorizationRequest(
        client_id=client.id,
        client_name=client.name,
        client_host=client.host,
        redirect_uri=redirect_uri,
        state=sent.get("state"),
        challenge=sent["code_challenge"],
        resource=sent["resource"],
        path=path,
        scopes=tuple(scope for scope in sent.get("scope", "").split() if scope in known),
        until=now_ms() + FORM_MS,
    )


def parameters(encoded: str) -> Mapping[str, str]:
    """
    Return the parameters of a query or a form.

    Raises:
        SignInFailed: One is there twice, they are too many, or they are not UTF-8.
    """
    try:
        pairs = parse_qsl(
            encoded, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise SignInFailed("invalid_request", "The parameters cannot be read.") from None
    sent = dict(pairs)
    if len(sent) < len(pairs):
        raise SignInFailed("invalid_request", "A parameter is there twice.")
    return sent


def _require(sent: Mapping[str, str], name: str, value: str) -> None:
    if sent.get(name) != value:
        raise SignInFailed("invalid_request", f"The {name} must be {value}.")
