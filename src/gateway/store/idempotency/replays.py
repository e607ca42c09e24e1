"""Responses that are kept under an Idempotency-Key, encrypted, to be replayed."""

import msgspec

from gateway.secrets.keyring import Keyring, column_context
from gateway.store.tables import IdempotencyRow
from policy.vocabulary import Code
from rest_compat.ports import Problem
from rest_compat.responses import RestResponse


class _Outcome(msgspec.Struct, array_like=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    # Missing in rows of earlier versions:
    upload_digest: bytes = b""
    kept_result: bytes = b""
    view: bytes = b""


def seal(response: RestResponse, entry_id: str, keyring: Keyring) -> bytes:
    """Encrypt *response* for the column `outcome` of an entry."""
    outcome = _Outcome(**{name: getattr(response, name) for name in _Outcome.__struct_fields__})
    plain = msgspec.msgpack.encode(outcome)
    return keyring.encrypt(plain, context=column_context("deliveries", int(entry_id), "outcome"))


def unseal(entry: IdempotencyRow, keyring: Keyring) -> RestResponse:
    """
    Decrypt the response of a finished entry.

    Raises:
        Problem: 504: its key left the ring; that is no reason to send again.
    """
    if entry.id is None or entry.outcome is None:
        raise RuntimeError("a finished entry has an id and an outcome")
    try:
        plain = keyring.decrypt(
            entry.outcome, context=column_context("deliveries", entry.id, "outcome")
        )
    except ValueError as failure:
        raise Problem(
            "The response kept under this Idempotency-Key can no longer be read.",
            {"code": Code.OUTCOME_UNKNOWN, "httpStatus": 504},
        ) from failure
    return RestResponse(**msgspec.structs.asdict(msgspec.msgpack.decode(plain, type=_Outcome)))
