"""
States of delta queries, which the service keeps: a token only names one.

A chain begins with each initial request. Each page that tells something is a new generation of the
chain, of which the last three are kept, as users report: "The sync state generation is not found;
generation=518;[highest=523][523][521][522]." See docs/spec/upstream/outlook-mail.md#delta-queries.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import shake_256
from typing import Any

from sandbox.provider_b.responses import GraphError
from sandbox.storage.database import Database

GENERATIONS = 3
LIFETIME_SECONDS = 30 * 86_400  # a guess: no lifetime is documented

_TABLE = """CREATE TABLE IF NOT EXISTS mail_sync (
    chain INTEGER NOT NULL, generation INTEGER NOT NULL, mailbox TEXT NOT NULL, at REAL NOT NULL,
    document TEXT NOT NULL, PRIMARY KEY (chain, generation)) STRICT"""
_PADDING = 180  # bytes, so that a token is as long as real ones


class SyncStates:
    """The states of one mailbox."""

    def __init__(self, db: Database, mailbox: str, clock: Callable[[], float]) -> None:
        self._db = db
        self._mailbox = mailbox
        self._clock = clock
        db.define(_TABLE)

    def begin(self) -> int:
        """Return the number of a new chain."""
        return self._db.next("mail-sync")

    def save(self, chain: int, document: Mapping[str, Any]) -> str:
        """Store the next generation of a chain; return its token."""
        with self._db.transaction():
            row = self._db.row("SELECT MAX(generation) FROM mail_sync WHERE chain = ?", chain)
            generation = (int(row[0] or 0) if row else 0) + 1
            self._db.run(
                "INSERT INTO mail_sync VALUES (?, ?, ?, ?, ?)",
                chain,
                generation,
                self._mailbox,
                self._clock(),
                json.dumps(document),
            )
            self._db.run(
                "DELETE FROM mail_sync WHERE chain = ? AND generation <= ?",
                chain,
                generation - GENERATIONS,
            )
        return _token(chain, generation)

    def find(self, token: str) -> tuple[int, dict[str, Any]]:
        """
        Return the chain and the document of a token.

        Raises:
            GraphError: 400, it is not a token; 410, its state is not kept any more.
        """
        chain, generation = _parse(token)
        row = self._db.row(
            "SELECT document FROM mail_sync WHERE chain = ? AND generation = ? AND mailbox = ?"
            " AND at >= ?",
            chain,
            generation,
            self._mailbox,
            self._clock() - LIFETIME_SECONDS,
        )
        if row is None:
            raise GraphError(
                410,
                "SyncStateNotFound",
                f"The sync state generation is not found; generation={generation};.",
            )
        document: dict[str, Any] = json.loads(str(row[0]))
        return chain, document

    def forget(self) -> None:
        """Drop every state, as the service may at any time."""
        self._db.run("DELETE FROM mail_sync WHERE mailbox = ?", self._mailbox)


def _token(chain: int, generation: int) -> str:
    name = f"{chain}.{generation}"
    padding = shake_256(f"sync/{name}".encode()).digest(_PADDING)
    return urlsafe_b64encode(name.encode() + b"." + padding).decode().rstrip("=")


def _parse(token: str) -> tuple[int, int]:
    try:
        decoded = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        chain, generation, _ = decoded.split(b".", 2)
        numbers = int(chain), int(generation)
    except ValueError:
        numbers = (0, 0)
    if token != _token(*numbers):
        raise GraphError(400, "BadRequest", "Badly formed token.")
    return numbers
