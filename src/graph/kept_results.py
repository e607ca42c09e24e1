"""
Results of mutations, without content: all that a retry may learn of an earlier run.

A replay whose stored response would show more than the token may see by now, or that asks for
another selection, is answered from the kept result (docs/spec/idempotency.md#replay).
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from policy.refusals import Refusal
from policy.vocabulary import Code

R = TypeVar("R")

# Attributes of result records that hold ids, or say whether the operation was done. The last three
# are those of a list item's id.
_ATTRIBUTES = (
    "success",
    "draft_id",
    "email_id",
    "thread_id",
    "item_id",
    "comment_id",
    "file_id",
    "permission_id",
    "handle",
    "held",
    "site",
    "list",
    "number",
)
_CREATED = ("fileId", "itemId")  # in the extensions of an error; see `Refusal.created`


class KeptResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    The end of one mutation.

    Attributes:
        members: The ids and `success` of its result record, by attribute; with a *code*, the ids
            of what was created all the same, by member.
        code: Of the error that it ended with; None after a success.
        message: Of that error.
    """

    members: Mapping[str, Any] = {}
    code: Code | None = None
    message: str = ""

    def repeat(self, record_type: type[R]) -> R:
        """
        Return a record of *record_type* with the ids and `success` alone.

        Raises:
            Refusal: The mutation ended with an error.
        """
        if self.code is None:
            return record_type(**self.members)
        refusal = Refusal(self.message, code=self.code)
        refusal.created = self.members
        raise refusal


def of_record(record: object) -> bytes:
    """Encode the kept result of a mutation that returned *record*."""
    values = {name: getattr(record, name, None) for name in _ATTRIBUTES}
    members = {name: value for name, value in values.items() if value is not None}
    return msgspec.json.encode(KeptResult(members=members))


def of_error(described: Mapping[str, Any]) -> bytes:
    """Encode the kept result of a mutation that ended with an error as callers see it."""
    extensions = described["extensions"]
    created = {name: extensions[name] for name in _CREATED if name in extensions}
    code, message = Code(extensions["code"]), described["message"]
    return msgspec.json.encode(KeptResult(members=created, code=code, message=message))


def decode(kept_result: bytes) -> KeptResult:
    """Decode what `of_record` or `of_error` returned."""
    return msgspec.json.decode(kept_result, type=KeptResult)
