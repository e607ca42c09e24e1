"""Checks of the inputs of the task mutations (docs/spec/tasks.md#fields)."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from graph.masking import text_limits
from policy.caller import Caller
from policy.recipients import NO_NORMAL_FORM, Recipient, as_written
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code
from providers.item_visibility import Column
from providers.ports.tasks import NAME_COLUMN
from providers.records import finite_numbers
from providers.records.tasks import TaskColumn
from providers.tasks.accounts import TaskAccount

MAX_FIELDS = 200  # columns that one request sets
MAX_NAME = text_limits.MEMBERS["CreateTaskItemInput.name"].characters


def check_name(value: str, path: str = "name") -> str:
    """
    Check the name of an item.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: blank, too long, or no text at all.
    """
    if len(value) > MAX_NAME:  # as a member of `fields` it has no limit of its own
        raise _invalid(path, f"It may have at most {MAX_NAME} characters.")
    return _check_text(value, path)


def check_name_for(name: str, longest: int) -> None:
    """
    Check the name of a new item against the provider's *longest*.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: it is too long.
    """
    if len(name) > longest:
        raise _invalid("name", f"The provider takes at most {longest} characters.")


def check_comment(value: str) -> str:
    """Check the text of a comment, in the same way."""
    return _check_text(value, "body")


def read_fields(value: object, *, required: bool) -> dict[str, str]:
    """
    Return column id -> text; other JSON values than texts are written as JSON.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: it is not an object, has too many entries, or is empty
            although *required*.
    """
    if value is None and not required:
        return {}
    if not isinstance(value, Mapping):
        raise _invalid("fields", "It must be an object.")
    if required and not value:
        raise _invalid("fields", "It must have at least one entry.")
    if len(value) > MAX_FIELDS:
        raise _invalid("fields", f"It may have at most {MAX_FIELDS} entries.")
    for column, member in value.items():
        if finite_numbers.has_infinity(member):  # in JSON it would be null, which clears the column
            raise _invalid(f"fields.{column}", "It must be a finite number.")
    return {
        str(column): text if isinstance(text, str) else msgspec.json.encode(text).decode()
        for column, text in value.items()
    }


def settable(
    fields: Mapping[str, str],
    columns: Iterable[TaskColumn | Column],
    caller: Caller,
    *,
    renames: bool,
) -> dict[str, str]:
    """
    Return the fields that the board has, that can be set, and that the token may set.

    *renames*: whether the pseudo column `name` is one of them, unless its value is blank.
    """
    allowed = caller.grant.writable_task_fields
    return {
        column: fields[column]
        for column in writable(fields, columns, renames=renames)
        if allowed is None or column in allowed
    }


def confined(
    columns: Iterable[TaskColumn | Column], boards: AbstractSet[str] | None
) -> list[TaskColumn | Column]:
    """
    Return the columns that a token with the scope *boards* may set; None is every board.

    A relation links to any item of the account, so a confined token could write into boards
    outside its scope, and learn which items exist there.
    """
    return [column for column in columns if boards is None or column.type != "relation"]


def writable(
    fields: Mapping[str, str], columns: Iterable[TaskColumn | Column], *, renames: bool = True
) -> list[str]:
    """Return the ids of *fields* that the board allows to set."""
    writable_ids = {column.id for column in columns if column.writable}
    if renames and fields.get(NAME_COLUMN, "").strip():
        writable_ids.add(NAME_COLUMN)
    return [column for column in fields if column in writable_ids]


def without_odd_numbers(
    fields: Mapping[str, str], columns: Iterable[TaskColumn | Column]
) -> dict[str, str]:
    """Return *fields* but for numbers that are not finite, which providers would clear."""
    number_columns = {column.id for column in columns if column.type == "number"}
    return {
        column: text
        for column, text in fields.items()
        if column not in number_columns or not finite_numbers.is_not_finite(text)
    }


def name_people(
    fields: Mapping[str, str], columns: Iterable[TaskColumn | Column]
) -> dict[str, str]:
    """
    Return *fields* with the addresses in people columns as they are written to.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: an address has no normal form.
    """
    people = {column.id for column in columns if column.type == "people"}
    return {
        column: _with_written_addresses(text, f"fields.{column}") if column in people else text
        for column, text in fields.items()
    }


def _with_written_addresses(text: str, path: str) -> str:
    value = _decode(text)
    named = _people(value)
    people = [_as_written(person, path) for person in named]
    if people == named:
        return text
    if isinstance(value, list):
        return msgspec.json.encode(people).decode()
    joined = ",".join(people)
    return joined if value == text else msgspec.json.encode(joined).decode()


def _as_written(person: Any, path: str) -> Any:
    if not _is_address(person):
        return person
    address = as_written(person)
    if address is None:
        raise _invalid(path, NO_NORMAL_FORM)
    return address


async def require_recipients(
    fields: Mapping[str, str],
    columns: Iterable[TaskColumn | Column],
    account: TaskAccount,
    caller: Caller,
) -> None:
    """
    Check that the token may write to whoever the people columns among *fields* name.

    Providers notify people of their new tasks. See docs/spec/recipients.md#people-columns.

    Raises:
        RecipientNotAllowed: The recipient rules exclude one, or no address is known.
    """
    rules = caller.grant.recipients
    if rules is None or rules.allows_everyone:
        return
    recipients: list[Recipient] = []
    for column in (column.id for column in columns if column.type == "people"):
        named = _named_people(fields[column]) if column in fields else []
        path = f"input.fields.{column}"
        recipients += [Recipient(name, path) for name in named if _is_address(name)]
        others = [name for name in named if not _is_address(name)]
        addresses = await account.port.people(others) if others else ()
        # The caller learns of a person named by an id that the rules exclude one, and not whom.
        recipients += [Recipient(None, path) for address in addresses if not rules.allows(address)]
    caller.require_recipients(recipients)


def _named_people(text: str) -> list[Any]:
    """Return whom the value of a people column names: addresses, and JSON values."""
    value = _decode(text)
    if value is None:  # clears the column
        return []
    return [person for person in _people(value) if not isinstance(person, str) or person.strip()]


def _decode(text: str) -> Any:
    """Return the JSON value of a field; its text if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _people(value: Any) -> list[Any]:
    """Return the parts of the value of a people column."""
    people = value.split(",") if isinstance(value, str) else value
    return people if isinstance(people, list) else [people]


def _is_address(person: object) -> bool:
    return isinstance(person, str) and "@" in person


def rejected(
    fields: Iterable[str], accepted: Iterable[str], refused: Iterable[str]
) -> tuple[str, ...] | None:
    """Return the fields that were not set, in the order of the request; None when all were."""
    written = set(accepted) - set(refused)
    return tuple(field for field in fields if field not in written) or None


def _check_text(value: str, path: str) -> str:
    if not value.strip():
        raise _invalid(path, "It must not be blank.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _invalid(path, "It contains a lone surrogate, which is not a character.") from None
    return value


def _invalid(path: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"{path}: {why}", code=Code.VALIDATION_ERROR, details=[Detail(f"input.{path}", why)]
    )
