"""Paths and metadata of sign-in: protected resources, and the authorization server."""

from collections.abc import Mapping
from typing import Any

from gateway.ratelimit.buckets import AGENTS_PATH
from policy.presets import presets_for

PAGE = "/connect"
TOKEN = "/oauth/token"  # noqa: S105 - a path, not a secret
REVOKE = "/oauth/revoke"
REGISTER = "/oauth/register"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"


def path_of_resource(base_url: str, resource: str) -> str | None:
    """Return the path of a protected resource, empty for the whole gateway; None: it is foreign."""
    paths = {f"{base_url}{path}": path for path in ("", AGENTS_PATH)}
    return paths.get(resource.removesuffix("/"))


def scopes_of(path: str) -> list[str]:
    """Return the scopes of the protected resource at *path*: the names of its presets."""
    return list(presets_for(agents=path == AGENTS_PATH))


def challenge(base_url: str, path: str) -> str:
    """Return the parameters of `WWW-Authenticate` by which a client finds out how to sign in."""
    metadata = f"{base_url}{RESOURCE_METADATA}{path}"
    return f'resource_metadata="{metadata}", scope="{" ".join(scopes_of(path))}"'


def resource_document(base_url: str, path: str) -> Mapping[str, Any]:
    """Return the metadata of a protected resource (RFC 9728)."""
    return {
        "resource": f"{base_url}{path}",
        "resource_name": "access-gateway",
        "authorization_servers": [base_url],
        "bearer_methods_supported": ["header"],
        "scopes_supported": scopes_of(path),
    }


def server_document(base_url: str, *, documents: bool, registration: bool) -> Mapping[str, Any]:
    """
    Return the metadata of the authorization server (RFC 8414).

    *documents* and *registration* are the settings by which clients identify themselves.
    """
    methods = ["none", "client_secret_post", "client_secret_basic"]
    return {
        "issuer": base_url,
        "authorization_endpoint": f"{base_url}{PAGE}",
        "token_endpoint": f"{base_url}{TOKEN}",
        "revocation_endpoint": f"{base_url}{REVOKE}",
        **({"registration_endpoint": f"{base_url}{REGISTER}"} if registration else {}),
        "scopes_supported": scopes_of(AGENTS_PATH),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": documents,
    }
