"""Options that many commands share, and the words that completion offers."""

import sys
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from gateway.cli.console import say

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]
OnlyJson = Annotated[bool, typer.Option("--json", help="Write JSON; there is no other form.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def offering(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Offer *words* to completion; they are asked for only then, so that help stays fast."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return complete


def refuse(*cases: tuple[object, str]) -> None:
    """
    Refuse words that do not go together; a case is whether they are there, and what to type.

    Raises:
        typer.BadParameter: They are, in the first such case's words.
    """
    for wrong, sentence in cases:
        if wrong:
            raise typer.BadParameter(sentence)


def sure(question: str, *, yes: bool) -> None:
    """
    Ask before something that cannot be taken back.

    Raises:
        typer.BadParameter: Nobody is there to answer, and `--yes` was not given.
        typer.Abort: They do not want it.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("say --yes where nobody can be asked")
    say(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise typer.Abort
