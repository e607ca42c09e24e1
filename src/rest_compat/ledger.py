"""
Intents and attempts of the idempotency ledger: which POST was begun under which key.

`gateway.store.idempotency` keeps it in the database. An entry is committed *before* its operation
runs, so that a crash cannot lose the fact that a message may have been sent
(docs/spec/idempotency.md#crash-and-lease).
"""

import msgspec

from rest_compat.responses import RestResponse

KEY_HEADER = "idempotency-key"


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """
    A call that a client wants to happen once.

    Attributes:
        token_id, method, path, key: The scope of the key. *path* is that of the row, with its
            parameters in their normal form.
        fingerprint: SHA-256 over the arguments: the same key must come with the same ones.
        view: Digest of how the response is written and of what the token may see. A stored
            response is repeated byte by byte under an equal view only.
        former_path, former_fingerprint: The path as sent, and SHA-256 over query and body to the
            byte. Earlier versions stored the same intent under them.
    """

    token_id: int
    method: str
    path: str
    key: str
    fingerprint: bytes
    view: bytes = b""
    former_path: str | None = None
    former_fingerprint: bytes = b""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """
    The exclusive right to run an intent.

    Attributes:
        entry_id: The ledger's id of the intent.
        number: Counts from 1; closing an entry with an older number changes nothing.
        seed: The same for every attempt; the Message-ID is derived from it.
        maybe_sent: Whether an earlier attempt may have reached the provider.
        draft: The draft that an earlier attempt stored by `Ledger.store_draft`.
    """

    entry_id: str
    number: int
    seed: str
    maybe_sent: bool
    draft: str | None = None


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """The intent was carried out before, with this response."""

    response: RestResponse


class InProgress:
    """Another attempt is running, or may still be running upstream."""


class KeyReused:
    """The key was used for another request."""
