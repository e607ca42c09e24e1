"""Seals what is kept of a held write."""

import msgspec

from gateway.secrets.keyring import Keyring, column_context
from gateway.store.further_tables import HeldWriteRow
from rest_compat.held.stored_calls import HeldContent, HeldOutcome

MAX_ID = 22  # characters


def seal(value: HeldContent | HeldOutcome, row_id: str, column: str, keyring: Keyring) -> bytes:
    """Encrypt *value* for a column of the row."""
    context = column_context("held_writes", row_id, column)
    return keyring.encrypt(msgspec.msgpack.encode(value), context=context)


def content_of(row: HeldWriteRow, keyring: Keyring) -> HeldContent:
    """
    Decrypt the write of a row.

    Raises:
        ValueError: Its key left the ring.
    """
    context = column_context("held_writes", row.id, "content")
    return msgspec.msgpack.decode(keyring.decrypt(row.content, context=context), type=HeldContent)


def outcome_in(row: HeldWriteRow, keyring: Keyring) -> HeldOutcome | None:
    """Decrypt the response of a row; None without one that can be read."""
    if row.outcome is None:
        return None
    context = column_context("held_writes", row.id, "outcome")
    try:
        plain = keyring.decrypt(row.outcome, context=context)
    except ValueError:
        return None
    return msgspec.msgpack.decode(plain, type=HeldOutcome)
