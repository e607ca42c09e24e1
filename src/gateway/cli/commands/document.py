"""`document`: GraphQL documents saved as REST endpoints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import failures_as_sentences, info, output, report, report_rows, run_async
from gateway.cli.options import AsJson, argument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.operations.documents import views

app = typer.Typer(help="GraphQL documents saved as REST endpoints.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The document's name.")]
Tokens = Annotated[
    list[int] | None, typer.Option("--token", help="The id of a token to check; repeatable.")
]

_COLUMNS = {
    "name": "NAME",
    "method": "METHOD",
    "path": "PATH",
    "status": "STATUS",
    "description": "DESCRIPTION",
}


@app.command("add")
def add(  # noqa: PLR0913, PLR0917 - each is an option of the command
    name: Name,
    file: Annotated[Path, typer.Argument(help="The document; - is standard input.")],
    path: Annotated[str, typer.Argument(help="/api/saved/…, variables in braces.")],
    method: Annotated[
        str, argument("GET for a query; POST, PATCH or DELETE.", "GET", "POST", "PATCH", "DELETE")
    ] = "GET",
    status: Annotated[int, typer.Option(help="The HTTP status of a success.")] = 200,
    description: Annotated[str | None, typer.Option(help="A description.")] = None,
    token: Tokens = None,
    as_json: AsJson = False,
) -> None:
    """Save a document, or replace the one of this name; tokens that are named must be able to."""
    from gateway.cli.option_values import document

    with failures_as_sentences():
        members = {
            "document": document(file),
            "method": method,
            "path": path,
            "status": status,
            "description": description,
            "tokens": token or [],
        }
    saved = run_async(lambda: _save(name, members))
    sentence = f"{saved.method} {saved.path} runs {name}; documentId {saved.document_id}"
    report(saved, sentence, as_json=as_json)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the saved documents by name."""
    from gateway.cli.stores import read_store
    from gateway.operations.documents import collection as documents

    report_rows(read_store(documents.list_all), _COLUMNS, as_json=as_json)


@app.command("show")
def show(name: Name, as_json: AsJson = False) -> None:
    """Show a document: its call, what fills its variables, and its text."""
    saved = _read(name)

    def write_text() -> None:
        info(f"{saved.method} {saved.path} -> {saved.status}")
        info(f"documentId {saved.document_id}")
        for variable in saved.variables:
            info(f"${variable.name}: {variable.type}, from the {variable.filled_by}")
        if saved.problem:
            info(f"It does not fit this version: {saved.problem}")
        output(saved.document)

    report(saved, write_text, as_json=as_json)


@app.command("remove")
def remove(name: Name, as_json: AsJson = False) -> None:
    """Remove a document; no request that starts later runs it."""
    from gateway.cli.stores import write_store
    from gateway.operations.documents import collection as documents

    write_store(lambda session: documents.remove(session, name))
    report({"name": name}, f"Document {name} is removed.", as_json=as_json)


@app.command("test")
def try_(name: Name, token: Tokens = None, as_json: AsJson = False) -> None:
    """Check a document against this version, and tokens against it; exit code 1 if one fails."""
    results = run_async(lambda: _check(name, token or []))

    def write_text() -> None:
        for result in results:
            subject = "schema" if result["token"] is None else f"token {result['token']}"
            output(f"{subject}: {result['problem'] or 'fits'}")

    report(results, write_text, as_json=as_json)
    if any(result["problem"] for result in results):
        raise typer.Exit(1)


async def _save(name: str, members: "Mapping[str, Any]") -> "views.SavedDocument":
    from gateway.cli.stores import open_services
    from gateway.explain import saved_documents
    from gateway.operations.documents import collection as documents
    from gateway.operations.validation import validated

    new = validated(documents.NewDocument, members)
    async with open_services() as services:
        return await saved_documents.save(services, name, new)


async def _check(name: str, token_ids: "Sequence[int]") -> "list[dict[str, Any]]":
    from gateway.cli.stores import open_services
    from gateway.explain import saved_documents

    async with open_services() as services:
        return await saved_documents.check(services, name, token_ids)


def _read(name: str) -> "views.SavedDocument":
    from gateway.cli.stores import read_store
    from gateway.documents import prepared
    from gateway.operations.documents import collection as documents

    return read_store(lambda session: documents.read(session, prepared.graph(), name))
