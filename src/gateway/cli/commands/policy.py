"""`policy`: operators, resources, tokens' settings and rules as one document, for a repository."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.console import answer, carried_out, give, give_json, say
from gateway.cli.options import AsJson, OnlyJson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.operations.policy_changes import Change

app = typer.Typer(help="Who may do what, as one document.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="What `policy export` wrote; - is standard input.")]
Prune = Annotated[
    bool, typer.Option("--prune", help="Revoke the tokens that the document does not name.")
]


@app.command("export")
def export(_as_json: OnlyJson = True) -> None:
    """Write operators, resources, living tokens and the rules that people made; no secret."""
    from gateway.operations import policy as work

    give_json(carried_out(work.export))


@app.command("diff")
def diff(
    file: File,
    prune: Prune = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 when something would change.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what `policy apply` would change."""
    from gateway.cli.documents import reading
    from gateway.operations import policy as work

    found = carried_out(lambda: work.diff(reading(file), prune=prune))
    _show(found, as_json=as_json)
    if found and exit_code:
        raise typer.Exit(1)


@app.command("apply")
def apply(
    file: File,
    prune: Prune = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; as `policy diff`.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    Make the store what the document says: all of it or nothing, and a second time nothing more.

    New tokens get a text, written to standard output, once. Operators and resources that the
    document does not name stay: accounts hang on them.
    """
    from gateway.cli.documents import reading
    from gateway.operations import policy as work

    if dry_run:
        _show(carried_out(lambda: work.diff(reading(file), prune=prune)), as_json=as_json)
        return
    applied = carried_out(lambda: work.apply(reading(file), prune=prune))

    def words() -> None:
        for change in applied.changes:
            say(str(change))
        say(f"{len(applied.changes)} changes.")
        if applied.texts:
            say("This is the only time that the texts of new tokens are shown:")
        for name, text in applied.texts.items():
            give(f"{name}\t{text}")

    answer(applied.as_json, words, as_json=as_json)


def _show(found: "Sequence[Change]", *, as_json: bool) -> None:
    def words() -> None:
        for change in found:
            give(str(change))
        say(f"{len(found)} changes.")

    answer({"changes": [one.as_json for one in found]}, words, as_json=as_json)
