"""
Signatures of the Standard Webhooks convention, version 1.0.0: HMAC-SHA256 over id, time and body.

See docs/spec/webhooks.md#signature.
"""

import base64
import hmac
import os
from collections.abc import Mapping, Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32  # the convention asks for 24 at least


def new_secret() -> str:
    """Return a new secret, as its receiver is told it."""
    return PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


def sign(secret: str, webhook_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of one secret; *timestamp* is in seconds since the epoch."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.digest(key, b"%b.%d.%b" % (webhook_id.encode(), timestamp, body), "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


def headers(
    secrets: Sequence[str], webhook_id: str, timestamp: int, body: bytes
) -> Mapping[str, str]:
    """Return the headers of a call, signed with each of *secrets*."""
    signed = " ".join(sign(secret, webhook_id, timestamp, body) for secret in secrets)
    return {
        "content-type": "application/json",
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signed,
    }
