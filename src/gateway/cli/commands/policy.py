"""`policy`: operators, resources, tokens, rules and saved documents as one versionable file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.console import info, output, output_json, report
from gateway.cli.option_values import document
from gateway.cli.options import AsJson, OnlyJson
from policy.counts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.operations.policy_changes import Change

app = typer.Typer(
    help="Operators, resources, tokens, rules and saved documents as one document.",
    no_args_is_help=True,
)
File = Annotated[
    Path, typer.Argument(help="A file that `policy export` wrote; - for standard input.")
]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="Revoke tokens and remove saved documents that the document does not name."
    ),
]


@app.command("export")
def export(_as_json: OnlyJson = True) -> None:
    """Write operators, resources, active tokens, manual rules and saved documents; no secrets."""
    from gateway.cli.stores import read_store
    from gateway.operations import policy

    output_json(read_store(policy.export))


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
    changes = _diff(file, prune=prune)
    _show(changes, as_json=as_json)
    if changes and exit_code:
        raise typer.Exit(1)


@app.command("apply")
def apply(
    file: File,
    prune: Prune = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing, as `policy diff` does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    Change the database to match the document: all changes or none.

    The texts of new tokens are written to standard output, once. Operators and resources that the
    document does not name stay, because accounts belong to them.
    """
    from gateway.cli.stores import write_store
    from gateway.operations import policy
    from gateway.operations.policy_document import parse

    if dry_run:
        _show(_diff(file, prune=prune), as_json=as_json)
        return
    applied = write_store(lambda session: policy.apply(session, parse(document(file)), prune=prune))

    def write_text() -> None:
        for change in applied.changes:
            info(str(change))
        info(f"{counted(len(applied.changes), 'change')}.")
        if applied.texts:
            info("This is the only time that the texts of new tokens are shown:")
        for name, text in applied.texts.items():
            output(f"{name}\t{text}")

    report(applied.as_json, write_text, as_json=as_json)


def _diff(file: Path, *, prune: bool) -> "Sequence[Change]":
    from gateway.cli.stores import read_store
    from gateway.operations import policy
    from gateway.operations.policy_document import parse

    return read_store(lambda session: policy.diff(session, parse(document(file)), prune=prune))


def _show(changes: "Sequence[Change]", *, as_json: bool) -> None:
    def write_text() -> None:
        for change in changes:
            output(str(change))
        info(f"{counted(len(changes), 'change')}.")

    report({"changes": [change.as_json for change in changes]}, write_text, as_json=as_json)
