"""Base class of all records, and times in whole milliseconds."""

from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

SPARE_NULLS = 64  # attributes `null_0`, `null_1`, … of every record, all None

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # GraphQL's scalar of that name


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    Frozen value that a connector returns.

    Attributes:
        is_record: Marks records; never encoded. Every record also has `SPARE_NULLS` attributes
            that are None: `graph.execution.plan` reads them in place of masked attributes.
    """

    is_record: ClassVar[msgspec.UnsetType] = msgspec.UNSET


Read = TypeVar("Read", bound=Record)


def of_connection(record: Read, connection: int, hidden: AbstractSet[str] = frozenset()) -> Read:
    """Return a record with the connection that it was read from, without *hidden* attributes."""
    known: dict[str, Any] = {"connection_id": connection, **dict.fromkeys(hidden)}
    return msgspec.structs.replace(record, **known)


class Mark:
    """
    Base of marks: empty classes, one for each type of records that the JSON encoder may write.

    Such records are passed on instead of copied (`graph.execution.plan.whole_records`), and their
    attributes are not checked again. So they must be built of values of exactly the declared types.
    """

    __slots__ = ()


for _number in range(SPARE_NULLS):
    setattr(Record, f"null_{_number}", None)


def to_epoch_ms(time: datetime) -> int:
    """Return an aware time as milliseconds since the epoch, rounded down."""
    since = time - EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def from_epoch_ms(epoch_ms: int) -> datetime:
    """Return milliseconds since the epoch as an aware time, UTC."""
    return EPOCH + timedelta(0, 0, 0, epoch_ms)  # positional: keywords cost half as much again


def truncate_to_ms(time: datetime) -> datetime:
    """Round an aware time down to whole milliseconds."""
    rest = time.microsecond % 1000
    return time.replace(microsecond=time.microsecond - rest) if rest else time
