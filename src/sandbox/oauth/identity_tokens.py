"""Who signed in: identity tokens, signed with a key that is made at start, and its public half."""

import base64
import hashlib
import time
from functools import cache
from typing import Any

import orjson
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

_KEY_ID = "sandbox"


def sign_jwt(claims: dict[str, Any]) -> str:
    """Return *claims* as a JWT (ES256)."""
    head = _text(orjson.dumps({"alg": "ES256", "typ": "JWT", "kid": _KEY_ID}))
    part = f"{head}.{_text(orjson.dumps(claims))}"
    r, s = decode_dss_signature(_key().sign(part.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{part}.{_text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def create_id_token(issuer: str, client: str, account: str, *, nonce: str, lifetime: int) -> str:
    """Return the identity token of *account* for *client*."""
    now = int(time.time())
    claims = {
        "iss": issuer,
        "aud": client,
        "sub": hashlib.sha256(account.encode()).hexdigest()[:21],
        "email": account,
        "email_verified": True,
        "preferred_username": account,
        "iat": now,
        "exp": now + lifetime,
    }
    return sign_jwt({**claims, "nonce": nonce} if nonce else claims)


def public_keys() -> dict[str, Any]:
    """Return the key set that identity tokens are checked with."""
    numbers = _key().public_key().public_numbers()
    return {
        "keys": [
            {
                "kty": "EC",
                "crv": "P-256",
                "alg": "ES256",
                "use": "sig",
                "kid": _KEY_ID,
                "x": _text(numbers.x.to_bytes(32, "big")),
                "y": _text(numbers.y.to_bytes(32, "big")),
            }
        ]
    }


@cache
def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
