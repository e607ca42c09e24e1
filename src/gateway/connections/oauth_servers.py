"""Scopes and parameters of the providers' consent pages."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import msgspec

from providers.catalogue.tables import CONSENTS, SERVICES

CALLBACK = "/oauth/callback"
LOOPBACK_HOST = "127.0.0.1"  # commands listen there for the redirect
LOOPBACK_PORT = 8765  # a fixed one, because some providers compare it with the registered URI
SANDBOX_CLIENT = "access-gateway"  # id and secret at the sandbox

IDENTITY = frozenset({"openid", "email", "profile", "offline_access"})

# (kind, provider) -> scopes to read, and scopes to read and write.
READ_SCOPES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {key: service.read_scopes for key, service in SERVICES.items() if service.read_scopes}
)
WRITE_SCOPES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {key: SERVICES[key].write_scopes or scopes for key, scopes in READ_SCOPES.items()}
)


class AuthorizationServer(msgspec.Struct, frozen=True, kw_only=True):
    """
    The authorization endpoint of a provider, and the client to use there.

    Attributes:
        device_url: The device authorization endpoint; None when the device flow is not supported.
    """

    url: str
    client_id: str
    client_secret: str | None
    device_url: str | None = None


def loopback_uri(provider: str, port: int) -> str:
    """Return the redirect URI of commands that listen on *port* of this machine."""
    return f"http://{CONSENTS[provider].loopback_host}:{port}{CALLBACK}"


def scopes_of(
    kind: str,
    provider: str,
    *,
    writing: bool,
    granted: Collection[str] = (),
    has_shared: bool = False,
) -> tuple[str, ...]:
    """
    Return the scopes to ask for; empty for an unknown pair.

    Those for people, and for what is shared with the person, are asked for where they are among
    *granted*, the latter also where *has_shared*: a connection is shared on this one.
    """
    scopes = (WRITE_SCOPES if writing else READ_SCOPES).get((kind, provider), ())
    service = SERVICES.get((kind, provider))
    if service is None:
        return ()
    shared = shared_scopes(kind, provider, writing=writing)
    optional = (*service.people_scopes, *(() if has_shared else shared))
    needed = (*scopes, *shared) if has_shared else scopes
    return (*needed, *(scope for scope in optional if scope in granted))


def shared_scopes(kind: str, provider: str, *, writing: bool) -> tuple[str, ...]:
    """Return the scopes of what is shared with a person, which a shared connection needs."""
    service = SERVICES[kind, provider]
    return (writing and service.shared_write_scopes) or service.shared_read_scopes


def missing_scopes(
    kind: str, provider: str, granted: Collection[str], *, writing: bool, shared: bool = False
) -> tuple[str, ...]:
    """
    Return the scopes without which a connection does not work and which are not among *granted*.

    A wider scope counts for the narrower one. Identity scopes and optional ones are not required.
    """
    consent = CONSENTS.get(provider)
    names = {_comparable(scope) for scope in granted}
    if consent is None or consent.full_scope in names:
        return ()
    needed = (shared_scopes if shared else scopes_of)(kind, provider, writing=writing)
    return tuple(
        scope
        for scope in needed
        if (name := _comparable(scope)) not in IDENTITY | consent.optional_scopes
        and not names & {name, *consent.wider_scopes.get(name, ())}
    )


def short_name(scope: str) -> str:
    """Return the last path segment of a scope: providers add their own prefixes."""
    return scope.rstrip("/").rsplit("/", 1)[-1]


def _comparable(scope: str) -> str:
    return short_name(scope).lower()
