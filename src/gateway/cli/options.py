"""Options that several commands share, shell completion, and checks of combinations."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from gateway.cli.console import info

Options = TypeVar("Options")

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


def taking(declared: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """
    Give a command the fields of the dataclass *declared* as its options.

    The command takes them as one object.
    """
    hints = get_type_hints(declared, include_extras=True)
    parameters = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hint)
        for field, hint in zip(fields(declared), hints.values(), strict=True)  # type: ignore[arg-type] # a dataclass
    ]

    def decorate(run: Callable[[Options], None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            run(declared(**values))

        command.__doc__, command.__annotations__ = run.__doc__, hints
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return command

    return decorate


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
