"""`rule`: the rules about the collaboration content that a token may reach."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.commands import recipient
from gateway.cli.console import output, report, report_rows
from gateway.cli.options import AsJson, argument

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from sqlmodel.ext.asyncio.session import AsyncSession

    from policy.rules import Decision

app = typer.Typer(
    help="Rules about collaboration content, and about recipients.", no_args_is_help=True
)
app.add_typer(recipient.app, name="recipient")
Token = Annotated[int, typer.Argument(help="The token's id.")]

_COLUMNS = {
    "id": "ID",
    "action": "ACTION",
    "ruleType": "TYPE",
    "pattern": "PATTERN",
    "source": "SOURCE",
    "description": "DESCRIPTION",
}


@app.command("add")
def add(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Token,
    action: Annotated[str, argument("allow or block.", "allow", "block")],
    rule_type: Annotated[
        str,
        argument(
            "file_id, folder, drive_id, site_id, list_id, list_item_id, mime_type, "
            "sensitivity_label_id or content_type_id.",
            "policy.vocabulary:RuleType",
        ),
    ],
    pattern: Annotated[str, typer.Argument(help="A pattern, or an id of the API.")],
    description: Annotated[str | None, typer.Option(help="A description.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a rule to a token. It takes effect at the next request."""
    from gateway.cli.stores import write_store
    from gateway.operations import rules
    from gateway.operations.validation import validated

    members = {
        "ruleType": rule_type,
        "pattern": pattern,
        "action": action,
        "description": description,
    }
    rule = write_store(
        lambda session: rules.add(session, token_id, validated(rules.NewRule, members))
    )
    sentence = f"Rule {rule.id}: {rule.action} {rule.rule_type} {rule.pattern}"
    report(rule, sentence, as_json=as_json)


@app.command("list")
def list_(token_id: Token, as_json: AsJson = False) -> None:
    """List a token's rules by id."""
    from gateway.cli.stores import read_store
    from gateway.operations import rules

    listed = read_store(lambda session: rules.list_all(session, token_id))
    report_rows(listed, _COLUMNS, as_json=as_json)


@app.command("remove")
def remove(
    token_id: Token,
    rule_id: Annotated[int, typer.Argument(help="The rule's id.")],
    as_json: AsJson = False,
) -> None:
    """Remove a rule. The change takes effect at the next request."""
    from gateway.cli.stores import write_store
    from gateway.operations import rules

    rule = write_store(lambda session: rules.remove(session, token_id, rule_id))
    report(rule, f"Rule {rule_id} is removed.", as_json=as_json)


@app.command("test")
def try_(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Token,
    id_: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A collab: id of a file, site or list.")
    ] = None,
    under: Annotated[
        list[str] | None, typer.Option(help="The id of a folder above it; repeatable.")
    ] = None,
    site: Annotated[str | None, typer.Option(help="The site it belongs to.")] = None,
    mime_type: Annotated[str | None, typer.Option(help="Its MIME type.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="A label it carries.")] = None,
    content_type: Annotated[str | None, typer.Option(help="Its content type.")] = None,
    as_json: AsJson = False,
) -> None:
    """
    Show whether the rules would allow an object, and which rule decides; no provider is called.

    Properties that no option names count as absent. Exit code 1 when the object is blocked.
    """
    from gateway.cli.stores import read_store
    from gateway.operations import rules

    def evaluate(session: "AsyncSession") -> "Awaitable[Decision]":
        facts = rules.facts_of(
            id_,
            folders=under or (),
            site=site,
            mime_type=mime_type,
            labels=label or (),
            content_type=content_type,
        )
        return rules.evaluate(session, token_id, facts)

    verdict = read_store(evaluate)
    word = "allowed" if verdict.allowed else "blocked"
    cause = "default: no rule matches" if verdict.rule_id is None else f"rule {verdict.rule_id}"
    value = {"allowed": verdict.allowed, "ruleId": verdict.rule_id}
    report(value, lambda: output(f"{word}, by {cause}"), as_json=as_json)
    if not verdict.allowed:
        raise typer.Exit(1)
