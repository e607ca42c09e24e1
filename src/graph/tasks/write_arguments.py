"""From the inputs of the task mutations to what a port takes. Source: decisions 7.4."""

from collections.abc import Iterable, Mapping

import msgspec

from graph.context import Context
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code
from providers.ports.tasks import NAME_COLUMN
from providers.records.tasks import TaskColumn
from providers.tasks.columns import Column

MAX_NAME = 1_000  # characters
MAX_COMMENT = 20_000


def name(given: str, place: str = "name") -> str:
    """
    Check the name of an item.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: blank, too long, or no text at all.
    """
    return _text(given, place, most=MAX_NAME)


def comment(given: str) -> str:
    """Check a comment; see `name`."""
    return _text(given, "body", most=MAX_COMMENT)


def fields(given: object, *, required: bool) -> dict[str, str]:
    """
    Return column id -> text; other JSON values than texts are written as JSON.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: it is no object, or empty although *required*.
    """
    if given is None and not required:
        return {}
    if not isinstance(given, Mapping):
        raise _invalid("fields", "It must be an object.")
    if required and not given:
        raise _invalid("fields", "It must have at least one entry.")
    return {
        str(column): value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for column, value in given.items()
    }


def settable(
    given: Mapping[str, str],
    columns: Iterable[TaskColumn | Column],
    context: Context,
    *,
    renames: bool,
) -> dict[str, str]:
    """
    Return the fields that the board has, that can be set, and that the token may set.

    *renames*: whether the pseudo column `name` is one of them, unless its value is blank.
    """
    writable = context.caller.grant.writable_task_fields
    return {
        column: given[column]
        for column in known(given, columns, renames=renames)
        if writable is None or column in writable
    }


def known(
    given: Mapping[str, str], columns: Iterable[TaskColumn | Column], *, renames: bool = True
) -> list[str]:
    """Return the fields of *given* that can be set at all, whoever asks."""
    settable_ = {one.id for one in columns if one.writable}
    if renames and given.get(NAME_COLUMN, "").strip():
        settable_.add(NAME_COLUMN)
    return [column for column in given if column in settable_]


def rejected(
    given: Iterable[str], accepted: Iterable[str], refused: Iterable[str]
) -> tuple[str, ...] | None:
    """Return the fields that were not set, in the order they were given; None when all were."""
    done = set(accepted) - set(refused)
    return tuple(one for one in given if one not in done) or None


def _text(given: str, place: str, *, most: int) -> str:
    if not given.strip():
        raise _invalid(place, "It must not be blank.")
    if len(given) > most:
        raise _invalid(place, f"It may have at most {most} characters.")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise _invalid(place, "It holds half of a character (a lone surrogate).") from None
    return given


def _invalid(place: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"{place}: {why}", code=Code.VALIDATION_ERROR, details=[Detail(f"input.{place}", why)]
    )
