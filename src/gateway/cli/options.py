"""Options that several commands share, shell completion, and checks of combinations."""

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from gateway.cli.console import info

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]
OnlyJson = Annotated[bool, typer.Option("--json", help="Write JSON; there is no other form.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def argument(description: str, *words: str) -> Any:
    """Describe an argument that the shell completes from *words*; see `option`."""
    return typer.Argument(help=description, autocompletion=_completion(words))


def option(description: str, *words: str) -> Any:
    """
    Describe an option that the shell completes from *words*.

    `module:Enum` among them stands for the members of the enumeration, imported late.
    """
    return typer.Option(help=description, autocompletion=_completion(words))


def _completion(words: Sequence[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [word for word in _expanded(words) if word.startswith(incomplete)]

    return complete


def _expanded(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        module, is_enum, name = word.partition(":")
        yield from getattr(import_module(module), name) if is_enum else (word,)


def refuse(*cases: tuple[object, str]) -> None:
    """
    Refuse options that do not go together; a case is its condition and its message.

    Raises:
        typer.BadParameter: A condition holds; with the message of the first such case.
    """
    for condition, message in cases:
        if condition:
            raise typer.BadParameter(message)


def confirm(question: str, *, yes: bool) -> None:
    """
    Ask before something that cannot be undone.

    Raises:
        typer.BadParameter: There is no terminal to ask on, and no `--yes`.
        typer.Abort: The answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask on: confirm with --yes")
    info(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise typer.Abort
