"""The values of custom fields: as the wire shows them on a task, and as it takes them."""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

from sandbox.projects import errors
from sandbox.projects.records import CustomField, Option, Task, User
from sandbox.projects.store import ProjectStore, format_time

MAX_TEXT_LENGTH = 1_024  # characters; the vendor's guide on custom fields


# Reading


def number_value(store: ProjectStore, task: Task, field: CustomField) -> float | None:
    """Return the value of a number field, computed when it is a formula."""
    if field.formula is None:
        kept = task.values.get(field.id)
        return None if kept is None else float(kept)
    parts = [store.fields.find(one) for one in field.formula]
    numbers = [None if part is None else number_value(store, task, part) for part in parts]
    known = [number for number in numbers if number is not None]
    return math.prod(known) if len(known) == len(numbers) else None


def selected_options(task: Task, field: CustomField) -> list[Option]:
    """Return the options that a task has."""
    kept = task.values.get(field.id)
    ids = kept if isinstance(kept, list) else [kept]
    return [option for option in field.options if option.id in ids]


def selected_users(store: ProjectStore, task: Task, field: CustomField) -> list[User]:
    """Return the users of a people field."""
    found = (store.users.find(value) for value in task.values.get(field.id) or ())
    return [one for one in found if one is not None]


def display_value(store: ProjectStore, task: Task, field: CustomField) -> str | None:
    """Return a value as a text, None for an empty one."""
    kept = task.values.get(field.id)
    if field.kind == "number":
        number = number_value(store, task, field)
        return None if number is None else f"{number:.{field.precision}f}"
    if not kept:
        return None
    if field.kind in {"enum", "multi_enum"}:
        return ", ".join(option.name for option in selected_options(task, field)) or None
    if field.kind == "people":
        return ", ".join(person.name for person in selected_users(store, task, field)) or None
    if field.kind == "date":
        return str(kept.get("date_time") or f"{kept['date']}T00:00:00.000Z")
    return str(kept)


# Writing


def parse_value(store: ProjectStore, field: CustomField, given: Any, *, me: User) -> Any:
    """
    Return the value to keep, None to clear the field.

    Raises:
        ApiError: The field cannot take it.
    """
    if field.formula is not None:
        raise errors.bad_request(f"custom_fields: Custom field {field.id} is read-only.")
    if field.locked_by not in {None, me.id}:
        raise errors.ApiError(403, "You do not have permission to edit this custom field.")
    if given is None or given in ("", []):
        return None
    return _TAKERS[field.kind](store, field, given)


def _text(_: ProjectStore, field: CustomField, given: Any) -> str:
    if not isinstance(given, str) or len(given) > MAX_TEXT_LENGTH:
        raise _wrong(field, "a string of at most 1024 characters", given)
    return given


def _number(_: ProjectStore, field: CustomField, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise _wrong(field, "a number", given)
    try:
        number = float(given)
    except ValueError:
        raise _wrong(field, "a number", given) from None
    if not math.isfinite(number):
        raise _wrong(field, "a number", given)
    return round(number, field.precision)


def _enum(_: ProjectStore, field: CustomField, given: Any) -> str:
    options = {option.id for option in field.options if option.enabled}
    if not isinstance(given, str) or given not in options:
        raise errors.bad_request(f"custom_fields: [{field.id}]: Unknown object: {given}")
    return given


def _multi_enum(store: ProjectStore, field: CustomField, given: Any) -> list[str]:
    if not isinstance(given, list):
        raise _wrong(field, "an array", given)
    return list(dict.fromkeys(_enum(store, field, one) for one in given))


def _people(store: ProjectStore, field: CustomField, given: Any) -> list[str]:
    if not isinstance(given, list):
        raise _wrong(field, "an array", given)
    found = [store.users.find(one) if isinstance(one, str) else None for one in given]
    if None in found:
        raise errors.bad_request(f"custom_fields: [{field.id}]: Unknown object")
    return [one.id for one in found if one is not None]


def _date(_: ProjectStore, field: CustomField, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not (given.get("date") or given.get("date_time")):
        raise _wrong(field, "an object with date or date_time", given)
    if given.get("date_time"):
        moment = parse_datetime("custom_fields", given["date_time"])
        return {"date": moment[:10], "date_time": moment}
    return {"date": parse_date("custom_fields", given["date"]), "date_time": None}


def parse_date(field: str, given: Any) -> str:
    """
    Read a day.

    Raises:
        ApiError: It is none.
    """
    try:
        return date.fromisoformat(given if len(given) == 10 else "").isoformat()
    except (TypeError, ValueError):
        raise errors.bad_request(
            f"{field}: Date must be in ISO-8601 (yyyy-mm-dd) format, not: {given}"
        ) from None


def parse_datetime(field: str, given: Any) -> str:
    """
    Read a moment; one without an offset is UTC.

    Raises:
        ApiError: It is none.
    """
    try:
        moment = datetime.fromisoformat(given)
    except (TypeError, ValueError):
        raise errors.bad_request(f"{field}: Not a valid date-time: {given}") from None
    text = given if moment.tzinfo else f"{given}+00:00"
    return format_time(datetime.fromisoformat(text).timestamp())


def _wrong(field: CustomField, wanted: str, given: Any) -> errors.ApiError:
    return errors.bad_request(f"custom_fields: [{field.id}]: Value is not {wanted}: {given}")


_TAKERS: Mapping[str, Callable[[ProjectStore, CustomField, Any], Any]] = MappingProxyType(
    {
        "text": _text,
        "number": _number,
        "enum": _enum,
        "multi_enum": _multi_enum,
        "people": _people,
        "date": _date,
    }
)
