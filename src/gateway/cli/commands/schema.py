"""`schema` and `openapi`: what clients are made from, and whether a change breaks them."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.console import answer, carried_out, failures_as_sentences, give, give_json, say
from gateway.cli.options import AsJson, OnlyJson

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

        give_json({"data": introspection_from_schema(schema.build())})
    else:
        give(schema.sdl().rstrip("\n"))


@app.command("check")
def check(
    file: Annotated[
        Path, typer.Argument(help="A schema that clients rely on, as SDL; - is standard input.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say what of a published schema this one breaks; exit code 1 when it breaks anything."""
    from gateway.cli.commands import schema_actions as work
    from gateway.cli.documents import reading

    with failures_as_sentences():
        told = work.compared(reading(file))

    def words() -> None:
        for how in ("breaking", "dangerous"):
            for one in told[how]:
                give(f"{how}  {one['change']}: {one['description']}")
        say(f"{len(told['breaking'])} breaking, {len(told['dangerous'])} dangerous.")

    answer(told, words, as_json=as_json)
    if told["breaking"]:
        raise typer.Exit(1)


@openapi.command("print")
def print_openapi(_as_json: OnlyJson = True) -> None:
    """Write the description of the REST paths and the management API."""
    from gateway.cli.commands import schema_actions as work

    give_json(carried_out(work.described))
