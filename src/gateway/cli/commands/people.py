"""`operator` and `resource`: whose accounts are connected, and what they hang on."""

from typing import Annotated

import typer

from gateway.cli.console import answer, carried_out, give, give_table, say
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
    from gateway.operations import people as work

    made = carried_out(lambda: work.operator_added(email, name))
    answer(made, lambda: give(made["id"]), as_json=as_json)


@operators.command("list")
def list_operators(as_json: AsJson = False) -> None:
    """List operators, oldest first."""
    from gateway.operations import people as work

    found = carried_out(work.operators_listed)
    answer(found, lambda: give_table(found, _OPERATOR), as_json=as_json)


@resources.command("add")
def add_resource(
    name: Annotated[str, typer.Argument(help="A name for people, 1 to 100 characters.")],
    operator: Annotated[
        list[str] | None, typer.Option(help="The id of an operator of it; repeat for several.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a resource; the id is written to standard output."""
    from gateway.operations import people as work

    made = carried_out(lambda: work.resource_added(name, operator or ()))

    def words() -> None:
        say(f"Resource {made['name']}:")
        give(str(made["id"]))

    answer(made, words, as_json=as_json)


@resources.command("list")
def list_resources(as_json: AsJson = False) -> None:
    """List resources by id."""
    from gateway.operations import people as work

    found = carried_out(work.resources_listed)
    answer(found, lambda: give_table(found, _RESOURCE), as_json=as_json)
