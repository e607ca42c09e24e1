"""`query`: one GraphQL document, run as a token."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli import option_values
from gateway.cli.console import carried_out, give_json
from gateway.cli.options import OnlyJson

TOKEN = "AGW_TOKEN"  # noqa: S105 - the name of a variable


def query(
    document: Annotated[str, typer.Argument(help="The document, @FILE, or - for standard input.")],
    variables: Annotated[
        str | None, typer.Option(help="Variables as JSON, @FILE, or - for standard input.")
    ] = None,
    operation: Annotated[
        str | None, typer.Option(help="Which operation of several to run.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Base URL of a running gateway. Default: run it in this process."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help=f"A file that holds the token. Default: ${TOKEN}.")
    ] = None,
    _as_json: OnlyJson = True,
) -> None:
    """
    Run a GraphQL document as an access token, whose text is in AGW_TOKEN or in a file.

    Writes the answer as it is. Exit code 1 when it has errors.
    """
    from gateway.cli.commands import query_action as work

    body: dict[str, Any] = {"query": option_values.text(document)}
    if variables is not None:
        body["variables"] = option_values.members("variables", variables)
    if operation is not None:
        body["operationName"] = operation
    answer = carried_out(lambda: work.answered(body, token=_token(token_file), url=url))
    give_json(answer)
    if not isinstance(answer, dict) or answer.get("errors") or "data" not in answer:
        raise typer.Exit(1)


def _token(file: Path | None) -> str:
    import os

    from gateway.errors import CommandError

    text = os.environ.get(TOKEN, "") if file is None else file.read_text("utf-8")
    if not text.strip():
        raise CommandError(
            f"A token is needed: its text in {TOKEN}, or in a file with --token-file."
        )
    return text.strip()
