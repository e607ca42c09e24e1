"""`query`: runs one GraphQL document as an access token."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli import option_values
from gateway.cli.console import output_json, run_async
from gateway.cli.options import OnlyJson

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN = "AGW_TOKEN"  # noqa: S105 - the name of a variable
PATH = "/graphql"


def query(
    document: Annotated[str, typer.Argument(help="A file, the document, or - for standard input.")],
    variables: Annotated[
        str | None, typer.Option(help="Variables as JSON, @FILE, or - for standard input.")
    ] = None,
    operation: Annotated[
        str | None, typer.Option(help="The operation to run, if there are several.")
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

    Writes the response as it is. Exit code 1 when it has errors.
    """
    is_file = "{" not in document and not document.startswith(("@", "-"))
    body: dict[str, Any] = {"query": option_values.text(f"@{document}" if is_file else document)}
    if variables is not None:
        body["variables"] = option_values.json_object("variables", variables)
    if operation is not None:
        body["operationName"] = operation
    response = run_async(lambda: _post(body, token=token_text(token_file), url=url))
    output_json(response)
    if not isinstance(response, dict) or response.get("errors") or "data" not in response:
        raise typer.Exit(1)


def token_text(file: Path | None) -> str:
    """
    Return the token that is in *file*, or in the environment.

    Raises:
        CommandError: There is none, or it is not one word.
    """
    import os

    from gateway.errors import CommandError

    token = os.environ.get(TOKEN, "") if file is None else file.read_text("utf-8")
    token = token.strip()
    if not token:
        raise CommandError(
            f"A token is required: its text in {TOKEN}, or in a file with --token-file."
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise CommandError("This is not a token. A token is one word that begins with agw_.")
    return token


async def _post(body: "Mapping[str, Any]", *, token: str, url: str | None) -> Any:
    """
    POST to the gateway at *url*, or to one in this process; return the JSON of its response.

    Raises:
        CommandError: No gateway answers at *url*.
    """
    import asyncio

    import orjson

    from gateway.errors import CommandError

    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    if url is None:
        from gateway.cli import in_process

        raw = await in_process.post(PATH, headers, orjson.dumps(body))
    else:
        from gateway.cli.remote import post

        raw = await asyncio.to_thread(post, url, PATH, headers, orjson.dumps(body))
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise CommandError(f"The server at {url} is not an access-gateway.") from None
