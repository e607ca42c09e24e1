"""
Encryption of stored secrets and of tokens: AES-256-GCM under a ring of keys; the first one seals.

Every sealed value contains the id of its key and is bound to its context (`table:row:column`,
or the use of a token), so it opens nowhere else. HKDF derives separate keys for separate uses.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from typing import Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_VERSION = b"\x01"
_ID = 4  # bytes
_NONCE = 12  # bytes
HEAD_BYTES = len(_VERSION) + _ID + _NONCE  # of what is sealed; never the same twice
MIN_SECRET = 16  # characters; anything shorter is a password


class WeakSecret(ValueError):
    """A secret key is missing or too short."""


class _Key(msgspec.Struct, frozen=True):
    id: bytes
    rows: AESGCM
    tokens: AESGCM
    links: bytes


class Keyring:
    """Seals with the first key and opens with any key."""

    def __init__(self, secrets: Sequence[str]) -> None:
        """
        Derive the keys.

        Raises:
            WeakSecret: No secret, or one under 16 characters.
        """
        if not secrets or min(map(len, secrets)) < MIN_SECRET:
            raise WeakSecret(f"Every secret key needs at least {MIN_SECRET} characters.")
        self._keys = {key.id: key for key in map(_derive, reversed(secrets))}
        self._first = _derive(secrets[0])

    @classmethod
    def read(cls, setting: str) -> Self:
        """Create a keyring from the comma-separated `AGW_SECRET_KEYS`."""
        return cls([part.strip() for part in setting.split(",") if part.strip()])

    def encrypt(self, plain: bytes, *, context: str) -> bytes:
        """Seal *plain* for *context*, such as ``connections:7:credentials`` (`column_context`)."""
        key = self._first
        return _seal(key.id, key.rows, plain, context.encode())

    def decrypt(self, sealed: bytes, *, context: str) -> bytes:
        """
        Open what `encrypt` sealed for *context*.

        Raises:
            ValueError: Damaged, sealed for another context, or its key is not in the ring.
        """
        key = self._find_key(sealed)
        return _open(key.rows, sealed, context.encode())

    def rotate(self, sealed: bytes, *, context: str) -> bytes | None:
        """Return *sealed* under the first key; None when it already is."""
        if self._find_key(sealed).id == self._first.id:
            return None
        return self.encrypt(self.decrypt(sealed, context=context), context=context)

    def seal(self, payload: bytes, *, context: bytes) -> str:
        """Seal *payload* as URL-safe text that opens only with the same *context*."""
        key = self._first
        sealed = _seal(key.id, key.tokens, payload, context)
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def unseal(self, token: str, *, context: bytes) -> bytes:
        """
        Open what `seal` returned.

        Raises:
            ValueError: Not sealed by this ring, damaged, or sealed for another *context*.
        """
        sealed = _decode(token)
        return _open(self._find_key(sealed).tokens, sealed, context)

    def reseal(self, token: str, *, context: bytes) -> str | None:
        """Return what `seal` returned under the first key; None when it already is."""
        if self._find_key(_decode(token)).id == self._first.id:
            return None
        return self.seal(self.unseal(token, context=context), context=context)

    def sign(self, payload: bytes, *, context: bytes) -> str:
        """Return the signature of *payload*: URL-safe and deterministic."""
        return _signature(self._first, payload, context)

    def verify(self, signature: str, payload: bytes, *, context: bytes) -> bool:
        """Return whether any key of the ring made *signature* for *payload* and *context*."""
        signature_bytes = signature.encode("utf-8", "replace")
        return any(
            hmac.compare_digest(_signature(key, payload, context).encode(), signature_bytes)
            for key in self._keys.values()
        )

    def is_current(self, signature: str, payload: bytes, *, context: bytes) -> bool:
        """Return whether the first key made *signature* for *payload* and *context*."""
        expected = _signature(self._first, payload, context)
        return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))

    def _find_key(self, sealed: bytes) -> _Key:
        key = self._keys.get(sealed[1 : 1 + _ID])
        if key is None or sealed[:1] != _VERSION:
            raise ValueError("sealed with a key that is not in the ring")
        return key


def new_secret() -> str:
    """Return a new secret key: 256 random bits, URL-safe."""
    return base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()


def column_context(table: str, row: int | str, column: str) -> str:
    """Return the context that a column value is sealed for."""
    return f"{table}:{row}:{column}"


def _decode(token: str) -> bytes:
    """Decode sealed text; ValueError for anything but the canonical base64."""
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError as failure:
        raise ValueError("not sealed text") from failure
    if base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != token:
        raise ValueError("not sealed text")
    return sealed


def _seal(key_id: bytes, cipher: AESGCM, plain: bytes, bound_to: bytes) -> bytes:
    head = _VERSION + key_id + os.urandom(_NONCE)
    return head + cipher.encrypt(head[-_NONCE:], plain, head[:-_NONCE] + bound_to)


def _open(cipher: AESGCM, sealed: bytes, bound_to: bytes) -> bytes:
    head = sealed[:HEAD_BYTES]
    try:
        return cipher.decrypt(head[-_NONCE:], sealed[HEAD_BYTES:], head[:-_NONCE] + bound_to)
    except (InvalidTag, ValueError) as failure:
        raise ValueError("damaged, or sealed for another context") from failure


def _signature(key: _Key, payload: bytes, context: bytes) -> str:
    digest = hmac.digest(key.links, context + b"\x00" + payload, "sha256")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _derive(secret: str) -> _Key:
    material = secret.encode()
    return _Key(
        id=hashlib.sha256(b"access-gateway key id:" + _hkdf(material, b"id")).digest()[:_ID],
        rows=AESGCM(_hkdf(material, b"rows at rest")),
        tokens=AESGCM(_hkdf(material, b"sealed tokens")),
        links=_hkdf(material, b"signed links"),
    )


def _hkdf(material: bytes, use: bytes) -> bytes:
    salt = b"access-gateway/1"
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=use).derive(material)
