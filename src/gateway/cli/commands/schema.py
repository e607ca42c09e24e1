"""`schema` and `openapi`: the API descriptions, and a check for breaking changes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import failures_as_sentences, info, output, output_json, report
from gateway.cli.options import AsJson, OnlyJson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphql import BreakingChange, DangerousChange

app = typer.Typer(help="The GraphQL schema.", no_args_is_help=True)
openapi = typer.Typer(help="The OpenAPI description.", no_args_is_help=True)


@app.command("print")
def print_(
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the answer to an introspection query.")
    ] = False,
) -> None:
    """Write the schema as SDL."""
    from graph import schema

    if as_json:
        from graphql import introspection_from_schema

        output_json({"data": introspection_from_schema(schema.build())})
    else:
        output(schema.sdl().rstrip("\n"))


@app.command("check")
def check(
    file: Annotated[
        Path, typer.Argument(help="A schema that clients rely on, as SDL; - is standard input.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say what of a published schema this one breaks; exit code 1 when it breaks anything."""
    from gateway.cli.option_values import document

    with failures_as_sentences():
        changes = _compare(document(file))

    def write_text() -> None:
        for severity in ("breaking", "dangerous"):
            for change in changes[severity]:
                output(f"{severity}  {change['change']}: {change['description']}")
        info(f"{len(changes['breaking'])} breaking, {len(changes['dangerous'])} dangerous.")

    report(changes, write_text, as_json=as_json)
    if changes["breaking"]:
        raise typer.Exit(1)


def _compare(published: str) -> dict[str, list[dict[str, str]]]:
    """
    Compare the schema with a *published* one; return `breaking` and merely `dangerous` changes.

    Raises:
        CommandError: *published* is no SDL.
    """
    from graphql import GraphQLError, build_schema, find_breaking_changes, find_dangerous_changes

    from gateway.errors import CommandError
    from graph import schema

    try:
        before = build_schema(published, assume_valid_sdl=True)
    except (GraphQLError, TypeError) as problem:
        raise CommandError(f"The file is no schema: {str(problem).splitlines()[0]}") from None
    now = build_schema(schema.sdl(), assume_valid_sdl=True)
    return {
        "breaking": _sorted_changes(find_breaking_changes(before, now)),
        "dangerous": _sorted_changes(find_dangerous_changes(before, now)),
    }


def _sorted_changes(changes: "Sequence[BreakingChange | DangerousChange]") -> list[dict[str, str]]:
    described = [{"change": item.type.name, "description": item.description} for item in changes]
    return sorted(described, key=lambda item: (item["change"], item["description"]))


@openapi.command("print")
def print_openapi(_as_json: OnlyJson = True) -> None:
    """Write the description of the REST paths and the management API."""
    with failures_as_sentences():
        output_json(_openapi_document())


def _openapi_document() -> Any:
    import orjson
    from pydantic import SecretStr

    from gateway.app import assemble
    from gateway.http import openapi as served
    from gateway.settings import Settings

    # Assembling a gateway opens nothing, and its secrets are not part of the document.
    secret = SecretStr("nobody is admitted by this")
    settings = Settings(_env_file=None, admin_token=secret, secret_keys=secret)  # type: ignore[call-arg]  # pydantic-settings' own
    return orjson.loads(served.document(assemble(settings).app.built()))
