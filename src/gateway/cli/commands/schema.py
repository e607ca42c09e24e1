"""`schema` and `openapi`: the API descriptions, and a check for what a new version breaks."""

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
        bool, typer.Option("--json", help="Write the response to an introspection query.")
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
    documents: Annotated[
        bool,
        typer.Option(
            "--documents", help="Check the saved documents of the deployment against this version."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    List the breaking changes to a published schema, and saved documents that do not fit this one.

    The exit code is 1 if there are any. The saved documents are checked with --documents only,
    because the check opens the database.
    """
    from gateway.cli.option_values import document

    with failures_as_sentences():
        changes = _compare(document(file))
    misfits = _misfits() if documents else []

    def write_text() -> None:
        for severity in ("breaking", "dangerous"):
            for change in changes[severity]:
                output(f"{severity}  {change['change']}: {change['description']}")
        for misfit in misfits:
            call = f"{misfit['method']} {misfit['path']}"
            output(f"document  {misfit['name']} ({call}): {misfit['problem']}")
        info(f"{len(changes['breaking'])} breaking, {len(changes['dangerous'])} dangerous.")
        if documents:
            info(f"Saved documents that do not fit: {len(misfits)}.")

    value = {**changes, "documents": misfits} if documents else changes
    report(value, write_text, as_json=as_json)
    if changes["breaking"] or misfits:
        raise typer.Exit(1)


def _compare(published: str) -> dict[str, list[dict[str, str]]]:
    """
    Compare the schema with a *published* one; return `breaking` and merely `dangerous` changes.

    Raises:
        CommandError: *published* is not SDL.
    """
    from graphql import GraphQLError, build_schema, find_breaking_changes, find_dangerous_changes

    from gateway.errors import CommandError
    from graph import schema

    try:
        before = build_schema(published, assume_valid_sdl=True)
    except (GraphQLError, TypeError) as problem:
        raise CommandError(f"The file is not a schema: {str(problem).splitlines()[0]}") from None
    now = build_schema(schema.sdl(), assume_valid_sdl=True)
    return {
        "breaking": _sorted_changes(find_breaking_changes(before, now)),
        "dangerous": _sorted_changes(find_dangerous_changes(before, now)),
    }


def _misfits() -> list[dict[str, str]]:
    from gateway.cli.stores import read_store
    from gateway.documents import prepared
    from gateway.operations.documents import collection

    return read_store(lambda session: collection.misfits(session, prepared.graph()))


def _sorted_changes(changes: "Sequence[BreakingChange | DangerousChange]") -> list[dict[str, str]]:
    described = [{"change": item.type.name, "description": item.description} for item in changes]
    return sorted(described, key=lambda item: (item["change"], item["description"]))


@openapi.command("print")
def print_openapi(
    management: Annotated[
        bool, typer.Option("--management", help="Describe the management API instead.")
    ] = False,
    _as_json: OnlyJson = True,
) -> None:
    """Write the description of the REST paths, or of the management API."""
    with failures_as_sentences():
        output_json(_management_document() if management else _access_document())


def _access_document() -> Any:
    from gateway.http.api_descriptions import access_document

    return access_document()


def _management_document() -> Any:
    import orjson
    from pydantic import SecretStr

    from gateway.app import assemble
    from gateway.management import openapi as served
    from gateway.settings import Settings

    # Assembling a gateway opens nothing, and its secrets are not part of the document.
    secret = SecretStr("this admits no caller")
    settings = Settings(_env_file=None, admin_token=secret, secret_keys=secret)  # type: ignore[call-arg]  # pydantic-settings' own
    return orjson.loads(served.document(assemble(settings).app.built()))
