"""Values of options: a text, @FILE, or - for standard input."""

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer


def text(value: str) -> str:
    """
    Return the text that *value* is or refers to.

    Raises:
        typer.BadParameter: The file cannot be read, or is not text.
    """
    if value == "-":
        return sys.stdin.read()
    return content(Path(value[1:])) if value.startswith("@") else value


def content(file: Path) -> str:
    """
    Return the text of a *file* that an option names.

    Raises:
        typer.BadParameter: It cannot be read, or is not text.
    """
    try:
        return file.read_text("utf-8")
    except OSError as problem:
        raise typer.BadParameter(f"{file} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file} cannot be read: it is no UTF-8 text") from None


def document(file: Path) -> str:
    """
    Return the text of a *file* that an argument names; `-` is standard input.

    Raises:
        OSError: It cannot be read.
        CommandError: It is not text.
    """
    from gateway.errors import CommandError

    try:
        return sys.stdin.read() if file == Path("-") else file.read_text("utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"{file} is no UTF-8 text.") from None


def parsed_json(name: str, value: str) -> Any:
    """
    Return the JSON that *value* is or refers to; *name* is for the error message.

    Raises:
        typer.BadParameter: It is not JSON.
    """
    try:
        return json.loads(text(value))
    except ValueError as problem:
        raise typer.BadParameter(f"{name} cannot be read: {problem}") from None


def json_object(name: str, value: str | None) -> dict[str, Any]:
    """
    Return the JSON object that *value* is or refers to; it is empty for None.

    Raises:
        typer.BadParameter: It is not a JSON object.
    """
    members = {} if value is None else parsed_json(name, value)
    if not isinstance(members, dict):
        raise typer.BadParameter(f"{name} must be a JSON object")
    return members


def without_none(**members: Any) -> dict[str, Any]:
    """Return the *members* that are not None."""
    return {name: value for name, value in members.items() if value is not None}


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def end_time(value: str | None) -> str | None:
    """
    Return the time that *value* names: a number of m, h, d or w from now on, or as it is.

    Raises:
        typer.BadParameter: The time is too far away.
    """
    period = re.fullmatch(r"([1-9]\d{0,5})([mhdw])", value or "")
    if period is None:
        return value
    try:
        end = datetime.now(UTC) + timedelta(**{_UNITS[period[2]]: int(period[1])})
    except OverflowError:
        raise typer.BadParameter(f"{value} is too far in the future") from None
    return end.isoformat(timespec="seconds").replace("+00:00", "Z")
