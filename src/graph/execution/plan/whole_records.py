"""
Records that are written as they are: of their type, a selection selects just what records hold.

Such records are not copied into a shape, only their type is compared. It is done for types of small
records without lists, of which an answer has many: `RECORDS`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec

from providers.records import calendar, mail, tasks
from providers.records.base import Mark, Record

# GraphQL type -> its records.
RECORDS: Mapping[str, type[Record]] = MappingProxyType(
    {
        "Attachment": mail.Attachment,
        "Attendee": calendar.Attendee,
        "Participant": mail.Participant,
        "TaskColumnValue": tasks.TaskColumnValue,
    }
)


def mark(name: str, members: Sequence[tuple[str, str, Any]]) -> type[Mark] | None:
    """
    Return the mark of the records of the GraphQL type *name* that are the selection of *members*.

    Args:
        name: The name of a GraphQL type.
        members: Response key, attribute and exact type of each member, in order.

    Returns:
        None when the records have other members, another order or other types.
    """
    kind = RECORDS.get(name)
    return _mark(kind) if kind is not None and list(members) == _written(kind) else None


@lru_cache
def _written(kind: type[Record]) -> list[tuple[str, str, Any]]:
    """Return what the encoder writes of a record: member, attribute and type, in order."""
    fields = msgspec.structs.fields(kind)
    return [(field.encode_name, field.name, field.type) for field in fields]


def _mark(kind: type[Record]) -> type[Mark]:
    (own_mark,) = (base for base in kind.__bases__ if issubclass(base, Mark))
    return own_mark
