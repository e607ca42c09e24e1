"""Check the sandbox's identity servers with Authlib, an independent client, over a socket."""

from pathlib import Path

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from joserfc import jwt
from joserfc.jwk import KeySet
from serving import served

HERE = Path(__file__).resolve().parent
ACCOUNT = "ada@example.org"


def main() -> None:
    with served(HERE / "seed.py") as facts:
        base = f"{facts['url']}/oauth"
        for name, server in servers(base).items():
            flow(facts, name, **server)
        signed_in(facts, base)
        described(base)
        own_name(base)
        print("Authlib agrees")


def servers(base):
    b = f"{base}/provider-b/common/oauth2/v2.0"
    a = {"access_type": "offline", "prompt": "consent"}
    return {
        "provider-a": {"at": f"{base}/provider-a", "rotates": False, "asks": a},
        "provider-b": {"at": b, "rotates": True, "asks": {}},
        "tasks": {"at": f"{base}/tasks", "rotates": True, "asks": {}},
        "projects": {"at": f"{base}/projects", "rotates": False, "asks": {}},
    }


def session(facts, scope="openid offline_access Mail.Read"):
    return OAuth2Session(
        "peer",
        "its secret",
        scope=scope,
        redirect_uri=facts["back"],
        code_challenge_method="S256",
        token_endpoint_auth_method="client_secret_post",
    )


def consent(client, at, verifier, **asks):
    """Return the address of the redirect after the consent, and the state that was sent."""
    url, state = client.create_authorization_url(
        f"{at}/authorize", code_verifier=verifier, login_hint=ACCOUNT, auto_approve="true", **asks
    )
    answer = requests.get(url, allow_redirects=False, timeout=10)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"], state


def flow(facts, name, at, rotates, asks) -> None:
    client, verifier = session(facts), generate_token(64)
    back, state = consent(client, at, verifier, **asks)
    token = client.fetch_token(
        f"{at}/token", authorization_response=back, code_verifier=verifier, state=state
    )
    assert token["access_token"], name
    assert token["refresh_token"], name
    old = token["refresh_token"]
    renewed = client.refresh_token(f"{at}/token", refresh_token=old)
    assert renewed["access_token"] != token["access_token"], name
    assert (renewed.get("refresh_token", old) != old) is rotates, name

    refused(lambda: client.fetch_token(f"{at}/token", authorization_response=back,
                                       code_verifier=verifier, state=state), "invalid_grant")  # fmt: skip
    back, state = consent(client, at, verifier, **asks)
    refused(lambda: client.fetch_token(f"{at}/token", authorization_response=back,
                                       code_verifier=generate_token(64), state=state), "invalid_grant")  # fmt: skip
    back, state = consent(client, at, verifier, **asks)
    try:
        client.fetch_token(f"{at}/token", authorization_response=back, state="another")
    except Exception as mismatch:
        assert "state" in str(mismatch).lower() or "csrf" in str(mismatch).lower(), mismatch
    else:
        raise AssertionError("the state is not echoed")
    if rotates:
        refused(lambda: client.refresh_token(f"{at}/token", refresh_token=old), "invalid_grant")


def refused(ask, word) -> None:
    try:
        ask()
    except OAuthError as problem:
        assert problem.error == word, problem
    else:
        raise AssertionError(f"{word} was expected")


def signed_in(facts, base) -> None:
    """Check that a library accepts the identity token."""
    described = requests.get(
        f"{base}/provider-a/.well-known/openid-configuration", timeout=10
    ).json()
    client, verifier = session(facts), generate_token(64)
    back, state = consent(client, f"{base}/provider-a", verifier, nonce="n-1")
    token = client.fetch_token(
        described["token_endpoint"],
        authorization_response=back,
        code_verifier=verifier,
        state=state,
    )
    keys = KeySet.import_key_set(requests.get(described["jwks_uri"], timeout=10).json())
    claims = jwt.decode(token["id_token"], keys, algorithms=["ES256"]).claims
    rules = jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": described["issuer"]},
        aud={"essential": True, "value": "peer"},
    )
    rules.validate(claims)
    assert (claims["email"], claims["nonce"]) == (ACCOUNT, "n-1")


def described(base) -> None:
    """Check the boards' server metadata by RFC 8414, except for https, which loopback lacks."""
    found = requests.get(f"{base}/tasks/.well-known/oauth-authorization-server", timeout=10).json()
    AuthorizationServerMetadata(
        {
            name: value.replace("http://", "https://") if isinstance(value, str) else value
            for name, value in found.items()
        }
    ).validate()


def own_name(base) -> None:
    client = OAuth2Session("peer", "its secret", scope="https://graph.microsoft.com/.default")
    token = client.fetch_token(
        f"{base}/provider-b/t.example/oauth2/v2.0/token", grant_type="client_credentials"
    )
    assert token["access_token"]
    assert "refresh_token" not in token
    wrong = OAuth2Session("peer", "a guess", scope="https://graph.microsoft.com/.default")
    refused(lambda: wrong.fetch_token(f"{base}/provider-b/t.example/oauth2/v2.0/token",
                                      grant_type="client_credentials"), "invalid_client")  # fmt: skip


if __name__ == "__main__":
    main()
