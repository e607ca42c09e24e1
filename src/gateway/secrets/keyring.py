"""
Secrets at rest and sealed tokens: AES-256-GCM under a ring of keys, the first of which seals.

Every sealed value names its key and is bound to its place (`table:row:column`, or what a page token
belongs to), so it opens nowhere else. Keys for different uses are derived apart by HKDF.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_VERSION = b"\x01"
_ID = 4  # bytes of a key's name
_NONCE = 12
_HEAD = len(_VERSION) + _ID + _NONCE
MIN_SECRET = 16  # characters; less is a password, not a key


class WeakSecret(ValueError):
    """A secret key is missing or too short."""


@dataclass(frozen=True, slots=True)
class _Key:
    id: bytes
    rows: AESGCM
    tokens: AESGCM
    links: bytes


class Keyring:
    """Seals with its first key, opens with any."""

    def __init__(self, secrets: Sequence[str]) -> None:
        """
        Derive the keys.

        Raises:
            WeakSecret: No secret at all, or one under 16 characters.
        """
        if not secrets or min(map(len, secrets)) < MIN_SECRET:
            raise WeakSecret(f"Every secret key needs at least {MIN_SECRET} characters.")
        self._keys = {key.id: key for key in map(_derive, reversed(secrets))}
        self._first = _derive(secrets[0])

    @classmethod
    def read(cls, setting: str) -> Self:
        """Read the comma-separated `AGW_SECRET_KEYS`."""
        return cls([part.strip() for part in setting.split(",") if part.strip()])

    def encrypt(self, plain: bytes, *, place: str) -> bytes:
        """Seal *plain* for *place*, such as ``connections:7:credentials``."""
        key = self._first
        return _seal(key.id, key.rows, plain, place.encode())

    def decrypt(self, sealed: bytes, *, place: str) -> bytes:
        """
        Open what `encrypt` sealed for *place*.

        Raises:
            ValueError: Damaged, sealed for another place, or its key is gone.
        """
        key = self._key_of(sealed)
        return _open(key.rows, sealed, place.encode())

    def rotate(self, sealed: bytes, *, place: str) -> bytes | None:
        """Seal again under the first key; None when it is so already."""
        if self._key_of(sealed).id == self._first.id:
            return None
        return self.encrypt(self.decrypt(sealed, place=place), place=place)

    def seal(self, payload: bytes, *, context: bytes) -> str:
        """Seal *payload* as URL-safe text that opens only with the same *context*."""
        key = self._first
        sealed = _seal(key.id, key.tokens, payload, context)
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def unseal(self, token: str, *, context: bytes) -> bytes:
        """
        Open what `seal` made.

        Raises:
            ValueError: Not one of ours, damaged, or made for another *context*.
        """
        sealed = _read(token)
        return _open(self._key_of(sealed).tokens, sealed, context)

    def reseal(self, token: str, *, context: bytes) -> str | None:
        """Seal what `seal` made again under the first key; None when it is so already."""
        if self._key_of(_read(token)).id == self._first.id:
            return None
        return self.seal(self.unseal(token, context=context), context=context)

    def sign(self, payload: bytes, *, context: bytes) -> str:
        """Return the signature of *payload*, URL-safe: the same one every time."""
        return _signature(self._first, payload, context)

    def verify(self, signature: str, payload: bytes, *, context: bytes) -> bool:
        """Say whether any key of the ring made *signature* for this payload and *context*."""
        given = signature.encode("utf-8", "replace")
        return any(
            hmac.compare_digest(_signature(key, payload, context).encode(), given)
            for key in self._keys.values()
        )

    def _key_of(self, sealed: bytes) -> _Key:
        key = self._keys.get(sealed[1 : 1 + _ID])
        if key is None or sealed[:1] != _VERSION:
            raise ValueError("sealed with a key that is not in the ring")
        return key


def new_secret() -> str:
    """Make a secret key: 256 random bits, URL-safe."""
    return base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()


def place(table: str, row: int, column: str) -> str:
    """Name where a sealed value belongs."""
    return f"{table}:{row}:{column}"


def _read(token: str) -> bytes:
    """Decode sealed text; anything but its one spelling is a ValueError."""
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError as damage:
        raise ValueError("not sealed text") from damage
    if base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != token:
        raise ValueError("not sealed text")
    return sealed


def _seal(key_id: bytes, cipher: AESGCM, plain: bytes, bound_to: bytes) -> bytes:
    head = _VERSION + key_id + os.urandom(_NONCE)
    return head + cipher.encrypt(head[-_NONCE:], plain, head[:-_NONCE] + bound_to)


def _open(cipher: AESGCM, sealed: bytes, bound_to: bytes) -> bytes:
    head = sealed[:_HEAD]
    try:
        return cipher.decrypt(head[-_NONCE:], sealed[_HEAD:], head[:-_NONCE] + bound_to)
    except (InvalidTag, ValueError) as damage:
        raise ValueError("damaged, or sealed for another place") from damage


def _signature(key: _Key, payload: bytes, context: bytes) -> str:
    made = hmac.digest(key.links, context + b"\x00" + payload, "sha256")
    return base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def _derive(secret: str) -> _Key:
    material = secret.encode()
    return _Key(
        id=hashlib.sha256(b"access-gateway key id:" + _stretch(material, b"id")).digest()[:_ID],
        rows=AESGCM(_stretch(material, b"rows at rest")),
        tokens=AESGCM(_stretch(material, b"sealed tokens")),
        links=_stretch(material, b"signed links"),
    )


def _stretch(material: bytes, use: bytes) -> bytes:
    salt = b"access-gateway/1"
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=use).derive(material)
