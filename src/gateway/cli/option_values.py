"""What options are given as: text, @FILE, or - for standard input."""

import json
import sys
from pathlib import Path
from typing import Any

import typer


def text(given: str) -> str:
    """
    Return the text that *given* is or names.

    Raises:
        typer.BadParameter: A file that cannot be read, or is no text.
    """
    if given == "-":
        return sys.stdin.read()
    return content(Path(given[1:])) if given.startswith("@") else given


def content(file: Path) -> str:
    """
    Return the text of *file*.

    Raises:
        typer.BadParameter: It cannot be read, or is no text.
    """
    try:
        return file.read_text("utf-8")
    except OSError as problem:
        raise typer.BadParameter(f"{file} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file} cannot be read: it is no UTF-8 text") from None


def value(name: str, given: str) -> Any:
    """
    Return the JSON that *given* is or names; *name* is what a complaint calls it.

    Raises:
        typer.BadParameter: It is none.
    """
    try:
        return json.loads(text(given))
    except ValueError as problem:
        raise typer.BadParameter(f"{name} cannot be read: {problem}") from None


def members(name: str, given: str | None) -> dict[str, Any]:
    """
    Return the JSON object that *given* is or names; None has no members.

    Raises:
        typer.BadParameter: It is none.
    """
    read = {} if given is None else value(name, given)
    if not isinstance(read, dict):
        raise typer.BadParameter(f"{name} must be a JSON object")
    return read
