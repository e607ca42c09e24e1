"""Identity tokens of the signed-in user: JWTs signed with a key that is created at start."""

import base64
import hashlib
import time
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import orjson
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

_KEY_ID = "sandbox"


def sign_jwt(claims: dict[str, Any]) -> str:
    """Return *claims* as a JWT (ES256)."""
    header = _base64url(orjson.dumps({"alg": "ES256", "typ": "JWT", "kid": _KEY_ID}))
    signed = f"{header}.{_base64url(orjson.dumps(claims))}"
    r, s = decode_dss_signature(_private_key().sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def create_id_token(
    issuer: str,
    client: str,
    account: str,
    *,
    nonce: str,
    lifetime_seconds: int,
    more: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the identity token of *account*; *nonce* "" adds none; *more* are further claims."""
    now_seconds = int(time.time())
    claims = {
        "iss": issuer,
        "aud": client,
        "sub": hashlib.sha256(account.encode()).hexdigest()[:21],
        "email": account,
        "email_verified": True,
        "iat": now_seconds,
        "exp": now_seconds + lifetime_seconds,
        **more,
    }
    return sign_jwt({**claims, "nonce": nonce} if nonce else claims)


def public_keys() -> dict[str, Any]:
    """Return the JSON Web Key Set that verifies identity tokens."""
    numbers = _private_key().public_key().public_numbers()
    return {
        "keys": [
            {
                "kty": "EC",
                "crv": "P-256",
                "alg": "ES256",
                "use": "sig",
                "kid": _KEY_ID,
                "x": _base64url(numbers.x.to_bytes(32, "big")),
                "y": _base64url(numbers.y.to_bytes(32, "big")),
            }
        ]
    }


@cache
def _private_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
