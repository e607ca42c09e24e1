"""Values of custom fields on a task: computed and display values, and parsers of new values."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

from sandbox.projects import errors
from sandbox.projects.records import CustomField, Option, Task, User
from sandbox.projects.store import ProjectStore, format_time

MAX_TEXT_LENGTH = 1_024  # characters


# Reading


def number_value(store: ProjectStore, task: Task, field: CustomField) -> float | None:
    """Return the value of a number field, computed for a formula; None when it is empty."""
    if field.formula is None:
        stored = task.values.get(field.id)
        return None if stored is None else float(stored)
    operands = [store.fields.find(field_id) for field_id in field.formula]
    numbers = [number_value(store, task, operand) for operand in operands if operand is not None]
    factors = [number for number in numbers if number is not None]
    return math.prod(factors) if len(factors) == len(operands) else None


def selected_options(task: Task, field: CustomField) -> list[Option]:
    """Return the selected options of an enum or multi-enum field."""
    stored = task.values.get(field.id)
    ids = stored if isinstance(stored, list) else [stored]
    return [option for option in field.options if option.id in ids]


def selected_users(store: ProjectStore, task: Task, field: CustomField) -> list[User]:
    """Return the users of a people field."""
    users = (store.users.find(user_id) for user_id in task.values.get(field.id) or ())
    return [user for user in users if user is not None]


def display_value(store: ProjectStore, task: Task, field: CustomField) -> str | None:
    """Return a value as text; None when it is empty."""
    stored = task.values.get(field.id)
    if field.kind == "number":
        number = number_value(store, task, field)
        return None if number is None else f"{number:.{field.precision}f}"
    if not stored:
        return None
    if field.kind in {"enum", "multi_enum"}:
        return ", ".join(option.name for option in selected_options(task, field)) or None
    if field.kind == "people":
        return ", ".join(person.name for person in selected_users(store, task, field)) or None
    if field.kind == "date":
        return str(stored.get("date_time") or f"{stored['date']}T00:00:00.000Z")
    return str(stored)


# Writing


def parse_value(store: ProjectStore, field: CustomField, value: Any, *, user: User) -> Any:
    """
    Return the value to store; None clears the field.

    Raises:
        ApiError: *value* is invalid, or the field is read-only for *user*.
    """
    if field.formula is not None:
        raise errors.bad_request(f"custom_fields: Custom field {field.id} is read-only.")
    if field.locked_by not in {None, user.id}:
        raise errors.ApiError(403, "You do not have permission to edit this custom field.")
    if value is None or value in ("", []):
        return None
    return _PARSERS[field.kind](store, field, value)


def _text(_: ProjectStore, field: CustomField, value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT_LENGTH:
        raise _type_error(field, "a string of at most 1024 characters", value)
    return value


def _number(_: ProjectStore, field: CustomField, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _type_error(field, "a number", value)
    try:
        number = float(value)
    except ValueError:
        raise _type_error(field, "a number", value) from None
    if not math.isfinite(number):
        raise _type_error(field, "a number", value)
    return round(number, field.precision)


def _enum(_: ProjectStore, field: CustomField, value: Any) -> str:
    options = {option.id for option in field.options if option.enabled}
    if not isinstance(value, str) or value not in options:
        raise errors.bad_request(f"custom_fields: [{field.id}]: Unknown object: {value}")
    return value


def _multi_enum(store: ProjectStore, field: CustomField, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise _type_error(field, "an array", value)
    return list(dict.fromkeys(_enum(store, field, option_id) for option_id in value))


def _people(store: ProjectStore, field: CustomField, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise _type_error(field, "an array", value)
    users = [store.users.find(gid) if isinstance(gid, str) else None for gid in value]
    if None in users:
        raise errors.bad_request(f"custom_fields: [{field.id}]: Unknown object")
    return [user.id for user in users if user is not None]


def _date(_: ProjectStore, field: CustomField, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not (value.get("date") or value.get("date_time")):
        raise _type_error(field, "an object with date or date_time", value)
    if value.get("date_time"):
        timestamp = parse_datetime("custom_fields", value["date_time"])
        return {"date": timestamp[:10], "date_time": timestamp}
    return {"date": parse_date("custom_fields", value["date"]), "date_time": None}


def parse_date(field: str, value: Any) -> str:
    """
    Return a date, ``YYYY-MM-DD``.

    Raises:
        ApiError: *value* is not a date; the message names *field*.
    """
    try:
        return date.fromisoformat(value if len(value) == 10 else "").isoformat()
    except (TypeError, ValueError):
        raise errors.bad_request(
            f"{field}: Date must be in ISO-8601 (yyyy-mm-dd) format, not: {value}"
        ) from None


def parse_datetime(field: str, value: Any) -> str:
    """
    Return a time in UTC; *value* without an offset is UTC.

    Raises:
        ApiError: *value* is not an ISO 8601 time; the message names *field*.
    """
    try:
        parsed = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise errors.bad_request(f"{field}: Not a valid date-time: {value}") from None
    return format_time((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())


def _type_error(field: CustomField, expected: str, value: Any) -> errors.ApiError:
    return errors.bad_request(f"custom_fields: [{field.id}]: Value is not {expected}: {value}")


_PARSERS: Mapping[str, Callable[[ProjectStore, CustomField, Any], Any]] = MappingProxyType(
    {
        "text": _text,
        "number": _number,
        "enum": _enum,
        "multi_enum": _multi_enum,
        "people": _people,
        "date": _date,
    }
)
