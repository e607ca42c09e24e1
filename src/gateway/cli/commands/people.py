"""`operator` and `resource`: the people whose accounts are connected, and their resources."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.console import info, output, report, report_rows, run_async
from gateway.cli.option_values import without_none
from gateway.cli.options import AsJson, Yes, confirm, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlmodel.ext.asyncio.session import AsyncSession

    from gateway.connections.revocation import Revocation
    from gateway.operations import views

OperatorId = Annotated[str, typer.Argument(help="The operator's id.")]
ResourceId = Annotated[int, typer.Argument(help="The resource's id.")]

operators = typer.Typer(help="People whose accounts are connected.", no_args_is_help=True)
resources = typer.Typer(help="Groups of connections that tokens reach.", no_args_is_help=True)

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
    report(operator, lambda: output(operator.id), as_json=as_json)


@operators.command("list")
def list_operators(as_json: AsJson = False) -> None:
    """List operators, oldest first."""
    from gateway.cli.stores import read_store
    from gateway.operations import operators as operations

    report_rows(read_store(operations.list_all), _OPERATOR, as_json=as_json)


@operators.command("change")
def change_operator(
    operator_id: OperatorId,
    email: Annotated[str | None, typer.Option(help="Their new address.")] = None,
    name: Annotated[str | None, typer.Option(help="Their new name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change an operator's address or name."""
    from gateway.cli.stores import write_store
    from gateway.operations import operators as operations
    from gateway.operations.validation import validated

    members = without_none(email=email, displayName=name)
    refuse((not members, "give --email or --name"))
    operator = write_store(
        lambda session: operations.change(
            session, operator_id, validated(operations.OperatorChange, members)
        )
    )
    report(operator, f"Operator {operator_id} was changed.", as_json=as_json)


@operators.command("remove")
def remove_operator(operator_id: OperatorId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove an operator with the connections, and revoke their consents and the tokens."""
    from gateway.cli import account_setup
    from gateway.cli.stores import read_store
    from gateway.operations import operators as operations

    operator = read_store(lambda session: operations.read(session, operator_id))
    confirm(
        f"The connections of {operator.email} will be removed and the tokens revoked. Continue?",
        yes=yes,
    )
    revocations = run_async(lambda: account_setup.remove_operator(operator_id))
    sentence = f"Operator {operator_id} is removed."
    _report_removal(operator, sentence, revocations, as_json=as_json)


@resources.command("add")
def add_resource(
    name: Annotated[str, typer.Argument(help="A name for people, 1 to 100 characters.")],
    operator: Annotated[
        list[str] | None, typer.Option(help="The id of an operator of it; repeatable.")
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
        info(f"Resource {resource.name}:")
        output(str(resource.id))

    report(resource, write_text, as_json=as_json)


@resources.command("list")
def list_resources(as_json: AsJson = False) -> None:
    """List resources by id."""
    from gateway.cli.stores import read_store
    from gateway.operations import resources as operations

    report_rows(read_store(operations.list_all), _RESOURCE, as_json=as_json)


@resources.command("change")
def change_resource(
    resource_id: ResourceId,
    name: Annotated[str | None, typer.Option(help="Its new name.")] = None,
    link: Annotated[
        list[str] | None, typer.Option(help="The id of an operator to link to it; repeatable.")
    ] = None,
    unlink: Annotated[
        list[str] | None, typer.Option(help="The id of an operator to unlink; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change a resource's name, or which operators are linked to it."""
    from gateway.cli.stores import write_store
    from gateway.operations import resources as operations
    from gateway.operations.validation import validated

    refuse((name is None and not link and not unlink, "give --name, --link or --unlink"))

    async def change(session: "AsyncSession") -> "views.Resource":
        members = without_none(name=name)
        if link or unlink:
            linked = (await operations.read(session, resource_id)).operator_ids
            members["operatorIds"] = [
                operator for operator in [*linked, *(link or ())] if operator not in (unlink or ())
            ]
        changed = validated(operations.ResourceChange, members)
        return await operations.change(session, resource_id, changed)

    resource = write_store(change)
    report(resource, f"Resource {resource_id} was changed.", as_json=as_json)


@resources.command("remove")
def remove_resource(resource_id: ResourceId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a resource with its connections, and revoke their consents."""
    from gateway.cli import account_setup
    from gateway.cli.stores import read_store
    from gateway.operations import resources as operations

    resource = read_store(lambda session: operations.read(session, resource_id))
    confirm(f"The connections of {resource.name} will be removed. Continue?", yes=yes)
    revocations = run_async(lambda: account_setup.remove_resource(resource_id))
    sentence = f"Resource {resource_id} is removed."
    _report_removal(resource, sentence, revocations, as_json=as_json)


def _report_removal(
    removed: "views.Operator | views.Resource",
    sentence: str,
    revocations: "Mapping[int, Revocation]",
    *,
    as_json: bool,
) -> None:
    """Report a removal, and what became of the consent of each connection that went with it."""

    def write_text() -> None:
        info(sentence)
        for connection_id, revocation in revocations.items():
            info(f"Connection {connection_id} is removed. {revocation.sentence}")

    results = [
        {"connectionId": connection_id, "result": revocation}
        for connection_id, revocation in revocations.items()
    ]
    report({**removed.as_json(), "consentRevocations": results}, write_text, as_json=as_json)
