"""
Custom scalars: Long, DateTime, JSON (docs/spec/graphql.md#names-and-types).

On output the value of a record goes to the encoder unchanged, and a time is written in UTC with
`Z`, with a fraction only when it has one.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NewType

import strawberry
from graphql import GraphQLError
from strawberry.types.scalar import ScalarDefinition

Long = NewType("Long", int)
JSON = NewType("JSON", object)

_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1

_DATETIME = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](?P<time>\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)"
    r"(?P<zone>[Zz]|[+\- ]\d{2}:?\d{2})?)?",
    re.ASCII,
)


def parse_datetime(text: str) -> datetime:
    """
    Read a time: with `Z`, with an offset, naive (read as UTC), or a date alone (00:00 UTC).

    A blank before the offset is read as a `+` that was not percent-encoded.

    Returns:
        An aware time in UTC; fractions beyond microseconds are cut.

    Raises:
        ValueError: *text* is not a time in one of these forms.
    """
    match = _DATETIME.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a time")
    clock, _, fraction = (match["time"] or "00:00").replace(",", ".").partition(".")
    zone = (match["zone"] or "Z").upper().replace(" ", "+")
    fraction = f".{fraction[:6]:0<6}" if fraction else ""
    try:
        return datetime.fromisoformat(f"{match['date']}T{clock}{fraction}{zone}").astimezone(UTC)
    except OverflowError as error:
        raise ValueError("outside the calendar") from error


def format_datetime(moment: datetime) -> str:
    """Write an aware time as `YYYY-MM-DDTHH:MM:SSZ`, with a fraction only when it has one."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _parse_value(value: object) -> datetime:
    if isinstance(value, str):
        try:
            return parse_datetime(value)
        except ValueError:
            pass
    raise GraphQLError(
        "A DateTime is 2026-11-20T12:00:00Z, the same with an offset such as -06:00, "
        "or a date (midnight UTC)."
    )


def _serialize(value: object) -> str:
    if not isinstance(value, datetime):
        raise GraphQLError("A DateTime field does not hold a time.")
    return format_datetime(value)


def _read_long(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not _MIN_LONG <= value <= _MAX_LONG:
        raise GraphQLError("A Long is a whole number of 64 bits.")
    return int(value)  # the encoder takes no subclass of int


_RFC = "https://www.rfc-editor.org/rfc/rfc"  # with the number: what `@specifiedBy` refers to

SCALARS: Mapping[object, ScalarDefinition] = MappingProxyType(
    {
        Long: strawberry.scalar(
            name="Long",
            description="A whole number of 64 bits, written as a JSON number.",
            specified_by_url=f"{_RFC}8259#section-6",
            serialize=_read_long,
            parse_value=_read_long,
        ),
        datetime: strawberry.scalar(
            name="DateTime",
            description=(
                "A time in UTC, `YYYY-MM-DDTHH:MM:SSZ`. Input may also have an offset, be a date "
                "alone (midnight UTC), or have no time zone (UTC)."
            ),
            specified_by_url=f"{_RFC}3339#section-5.6",
            serialize=_serialize,
            parse_value=_parse_value,
        ),
        JSON: strawberry.scalar(
            name="JSON",
            description="Any JSON value.",
            specified_by_url=f"{_RFC}8259",
            serialize=lambda value: value,
            parse_value=lambda value: value,
        ),
    }
)
