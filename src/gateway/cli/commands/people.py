"""`operator` and `resource`: the people whose accounts are connected, and their resources."""

from typing import Annotated

import typer

from gateway.cli.console import info, output, report, report_rows
from gateway.cli.options import AsJson

operators = typer.Typer(help="People whose accounts are connected.", no_args_is_help=True)
resources = typer.Typer(help="What connections hang on and tokens reach.", no_args_is_help=True)

_OPERATOR = {"id": "ID", "email": "EMAIL", "displayName": "NAME"}
_RESOURCE = {"id": "ID", "name": "NAME", "operatorIds": "OPERATORS"}


@operators.command("add")
def add_operator(
    email: Annotated[str, typer.Argument(help="Their address.")],
    name: Annotated[str, typer.Argument(help="Their name, for people.")],
    as_json: AsJson = False,
) -> None:
    """Add an operator; the id is written to standard output."""
    from gateway.cli.stores import write_store
    from gateway.operations import operators as operations
    from gateway.operations.validation import validated

    members = {"email": email, "displayName": name}
    operator = write_store(
        lambda session: operations.create(session, validated(operations.NewOperator, members))
    )
    report(operator, lambda: output(operator["id"]), as_json=as_json)


@operators.command("list")
def list_operators(as_json: AsJson = False) -> None:
    """List operators, oldest first."""
    from gateway.cli.stores import read_store
    from gateway.operations import operators as operations

    report_rows(read_store(operations.list_all), _OPERATOR, as_json=as_json)


@resources.command("add")
def add_resource(
    name: Annotated[str, typer.Argument(help="A name for people, 1 to 100 characters.")],
    operator: Annotated[
        list[str] | None, typer.Option(help="The id of an operator of it; repeat for several.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a resource; the id is written to standard output."""
    from gateway.cli.stores import write_store
    from gateway.operations import resources as operations
    from gateway.operations.validation import validated

    members = {"name": name, "operatorIds": operator or []}
    resource = write_store(
        lambda session: operations.create(session, validated(operations.NewResource, members))
    )

    def write_text() -> None:
        info(f"Resource {resource['name']}:")
        output(str(resource["id"]))

    report(resource, write_text, as_json=as_json)


@resources.command("list")
def list_resources(as_json: AsJson = False) -> None:
    """List resources by id."""
    from gateway.cli.stores import read_store
    from gateway.operations import resources as operations

    report_rows(read_store(operations.list_all), _RESOURCE, as_json=as_json)
