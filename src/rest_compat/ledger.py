"""
The ledger of intents: which POST was begun under which `Idempotency-Key`, and how it ended.

What the REST layer asks of it; `gateway.store.idempotency` keeps it in the database. An entry is
committed *before* its operation runs, so that no crash can lose the fact that something may have
been sent. Source: decisions 5.9 and 16; reference, reliability F1 and F2.
"""

from dataclasses import dataclass
from typing import Protocol

from rest_compat.responses import RestResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """
    What a caller wants to happen once.

    Attributes:
        token_id, method, path, key: The scope of the key. *path* is as sent, without the query.
        fingerprint: SHA-256 over query and body: the same key must come with the same request.
    """

    token_id: int
    method: str
    path: str
    key: str
    fingerprint: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """
    This call runs the intent; nobody else does.

    Attributes:
        entry: The ledger's name for it.
        attempt: Which try this is; closing an entry with an old attempt changes nothing.
        seed: The same for every try; the Message-ID is made from it.
        maybe_sent: Whether an earlier try may have reached the provider.
    """

    entry_id: str
    number: int
    seed: str
    maybe_sent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The intent was carried out before; this was the answer."""

    answer: RestResponse


class InProgress:
    """Somebody runs the intent now, or may still be doing so upstream."""


class KeyReused:
    """The key was used for another request."""


class Ledger(Protocol):
    """Entries live 24 hours from their first try."""

    async def begin(self, intent: Intent) -> Attempt | Completed | InProgress | KeyReused:
        """Commit that *intent* is being run now, or say why it must not be."""

    async def complete(self, begun: Attempt, answer: RestResponse) -> None:
        """Keep *answer*, to be replayed."""

    async def release(self, begun: Attempt, *, maybe_sent: bool) -> None:
        """
        Let the next call with the key run the intent again, under the same seed.

        *maybe_sent* False: nothing can have reached the provider in any try so far.
        """

    async def abandon(self, begun: Attempt) -> None:
        """Stop vouching for a try whose end is unknown: it counts as crashed from here on."""
