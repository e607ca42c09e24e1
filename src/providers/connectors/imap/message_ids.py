"""
Opaque ids of messages and threads.

An id holds the folder, its UIDVALIDITY and the UID of a message, or the Message-ID that a thread
begins with. It is encrypted under a key of the connection, because names of folders and domains of
senders may be hidden from a token. One message has one id: the encryption is deterministic.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from providers.failures import Missing

KEY_BYTES = 32
_MESSAGE, _THREAD = [b"imap message"], [b"imap thread"]
_NUMBER_BYTES = 4


class Location(NamedTuple):
    """Position of a message on the server; another message never has the same."""

    folder: bytes  # in the server's spelling
    uid_validity: int
    uid: int


class MessageIds:
    """The ids of one connection."""

    def __init__(self, key: bytes) -> None:
        """*key* has `KEY_BYTES` bytes and never changes."""
        self._cipher = AESSIV(key)

    def message_id(self, location: Location) -> str:
        """Return the native id of the message at a location."""
        numbers = (location.uid_validity, location.uid)
        plain = b"".join(number.to_bytes(_NUMBER_BYTES) for number in numbers) + location.folder
        return _text(self._cipher.encrypt(plain, _MESSAGE))

    def location(self, native: str) -> Location:
        """
        Return the location in a message's id.

        Raises:
            Missing: It is not an id of a message of this connection.
        """
        plain = self._open(native, _MESSAGE)
        numbers = plain[:_NUMBER_BYTES], plain[_NUMBER_BYTES : 2 * _NUMBER_BYTES]
        return Location(plain[2 * _NUMBER_BYTES :], *map(int.from_bytes, numbers))

    def thread_id(self, root: bytes) -> str:
        """Return the native id of the thread that begins with a Message-ID."""
        return _text(self._cipher.encrypt(root, _THREAD))

    def thread_root(self, native: str) -> bytes:
        """
        Return the Message-ID in a thread's id.

        Raises:
            Missing: It is not an id of a thread of this connection.
        """
        return self._open(native, _THREAD)

    def _open(self, native: str, kind: list[bytes]) -> bytes:
        try:
            sealed = urlsafe_b64decode(native + "=" * (-len(native) % 4))
            if _text(sealed) != native:  # another spelling of the same bytes
                raise Missing
            return self._cipher.decrypt(sealed, kind)
        except (InvalidTag, binascii.Error, ValueError) as failure:
            raise Missing from failure


def _text(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).rstrip(b"=").decode("ascii")
