"""
Token stores of the plain application.

    Known         in memory, by digest, for comparisons without a database
    File          the gateway's own SQLite file, one joined query per request by the driver
                  (`sqlmodel_store` does the same through SQLModel)

Promises are held against `File`, which costs least. Settings are parsed once per text, the stored
credential is decrypted at every request.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from fastapi import HTTPException

Decrypt = Callable[[int, bytes], bytes]  # connection id, ciphertext -> JSON
UPSTREAM_TOKEN = "an-upstream-token"  # noqa: S105 - not checked
NOTHING: frozenset[str] = frozenset()

_FIND = """
SELECT a.id, a.settings, c.id, c.credentials
  FROM access_tokens a
  JOIN token_resources t ON t.token_id = a.id
  JOIN connections c ON c.resource_id = t.resource_id
 WHERE a.digest = ? AND a.revoked_at IS NULL AND (a.expires_at IS NULL OR a.expires_at > ?)
   AND c.kind = 'email' AND c.status = 'active'
"""


@dataclass(frozen=True)
class Token:
    """
    A token and its settings.

    Attributes:
        hidden: Members of responses that are masked for it.
        access_info: The masks as a sentence.
        windows: Its own rate limits, as (limit, seconds).
        upstream: Upstream token of its account.
    """

    id: int
    hidden: frozenset[str] = NOTHING
    access_info: str | None = None
    windows: tuple[tuple[int, int], ...] = ()
    upstream: str = UPSTREAM_TOKEN


class Store(Protocol):
    """Store of tokens."""

    def find(self, header: str) -> Token:
        """Return the token of an Authorization header; raise a 401 when there is none."""


class Known:
    """Tokens in memory."""

    def __init__(self, known: Mapping[str, Token]) -> None:
        self._known = {_digest(text): token for text, token in known.items()}

    def find(self, header: str) -> Token:
        """See `Store.find`."""
        token = self._known.get(_digest(header.removeprefix("Bearer ")))
        if token is None:
            raise HTTPException(401)
        return token


class File:
    """Tokens in the gateway's SQLite file."""

    def __init__(self, path: Path, decrypt: Decrypt) -> None:
        self._database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        self._decrypt = decrypt

    def find(self, header: str) -> Token:
        """See `Store.find`."""
        digest = _digest(header.removeprefix("Bearer "))
        row = self._database.execute(_FIND, (digest, int(time.time() * 1000))).fetchone()
        if row is None:
            raise HTTPException(401)
        token, settings, connection, ciphertext = row
        credentials = json.loads(self._decrypt(connection, ciphertext))
        return allowed(token, settings, credentials["accessToken"])

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def allowed(token: int, settings: str, upstream: str) -> Token:
    """Return the token if its settings allow reading mail; else raise a 403."""
    reads, hidden, info, windows = _policy(settings)
    if not reads:
        raise HTTPException(403)
    return Token(token, hidden, info, windows, upstream)


@lru_cache(1024)
def _policy(settings: str) -> tuple[bool, frozenset[str], str | None, tuple[tuple[int, int], ...]]:
    """Return from the settings: whether mail may be read, hidden members, access info, limits."""
    read = json.loads(settings)
    visible = {*read["visibleEmailFields"]}
    hidden = [] if "all" in visible else [word for word in _MEMBERS if word not in visible]
    quota, operations = read["quota"] or {}, read["allowedEmailOperations"]
    windows = [(quota.get("perMinute"), 60), (quota.get("perHour"), 3600)]
    return (
        read["emailAccessEnabled"] and not {"all", "view_email"}.isdisjoint(operations),
        frozenset(_MEMBERS[word] for word in hidden),
        _access_info(hidden),
        tuple((limit, seconds) for limit, seconds in windows if limit is not None),
    )


def _access_info(hidden: list[str]) -> str | None:
    """Return the sentences of the gateway about *hidden* members, which do not include bodies."""
    if not hidden:
        return None
    shown = [f"{word} (in body)" for word in hidden if word in {"body_preview", "attachments"}]
    return (
        f"Hidden email fields: {', '.join(hidden)}. "
        f"Visible email fields may still show hidden ones: {', '.join(shown)}."
    )


# Mask word of a field -> member of responses.
_MEMBERS: Mapping[str, str] = {
    "subject": "subject",
    "from": "from",
    "to": "to",
    "cc": "cc",
    "bcc": "bcc",
    "body_preview": "bodyPreview",
    "body": "body",
    "sent_at": "sentAt",
    "received_at": "receivedAt",
    "attachments": "attachments",
    "labels": "labels",
    "importance": "importance",
}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
