"""`rule`: which collaboration content a token may reach, on the store itself."""

from collections.abc import Iterable
from typing import Annotated

import typer

from gateway.cli.console import answer, carried_out, give, give_table, say
from gateway.cli.options import AsJson, offering

app = typer.Typer(help="Rules about collaboration content.", no_args_is_help=True)
Token = Annotated[int, typer.Argument(help="The token's id.")]

_COLUMNS = {
    "id": "ID",
    "action": "ACTION",
    "ruleType": "TYPE",
    "pattern": "PATTERN",
    "source": "SOURCE",
    "description": "DESCRIPTION",
}


def _types() -> Iterable[str]:
    from policy.vocabulary import RuleType

    return RuleType


@app.command("add")
def add(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Token,
    action: Annotated[
        str,
        typer.Argument(help="allow or block.", autocompletion=offering(lambda: ("allow", "block"))),
    ],
    rule_type: Annotated[
        str,
        typer.Argument(
            help="file_id, folder, drive_id, site_id, …", autocompletion=offering(_types)
        ),
    ],
    pattern: Annotated[str, typer.Argument(help="Raw, or an id of the API.")],
    description: Annotated[str | None, typer.Option(help="Words for people.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a rule to a token; it holds from the next request on."""
    from gateway.operations import rules as work

    made = carried_out(lambda: work.added(token_id, action, rule_type, pattern, description))
    answer(
        made,
        lambda: say(f"Rule {made['id']}: {made['action']} {made['ruleType']} {made['pattern']}"),
        as_json=as_json,
    )


@app.command("list")
def list_(token_id: Token, as_json: AsJson = False) -> None:
    """List a token's rules by id."""
    from gateway.operations import rules as work

    found = carried_out(lambda: work.listed(token_id))
    answer(found, lambda: give_table(found, _COLUMNS), as_json=as_json)


@app.command("remove")
def remove(
    token_id: Token,
    rule_id: Annotated[int, typer.Argument(help="The rule's id.")],
    as_json: AsJson = False,
) -> None:
    """Remove a rule; it no longer holds from the next request on."""
    from gateway.operations import rules as work

    gone = carried_out(lambda: work.removed(token_id, rule_id))
    answer(gone, lambda: say(f"Rule {rule_id} is gone."), as_json=as_json)


@app.command("test")
def try_(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Token,
    id_: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A collab: id of a file, site or list.")
    ] = None,
    under: Annotated[
        list[str] | None, typer.Option(help="The id of a folder above it; repeat for several.")
    ] = None,
    site: Annotated[str | None, typer.Option(help="The site it belongs to.")] = None,
    mime_type: Annotated[str | None, typer.Option(help="Its MIME type.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="A label it carries.")] = None,
    content_type: Annotated[str | None, typer.Option(help="Its content type.")] = None,
    as_json: AsJson = False,
) -> None:
    """
    Say whether the rules would allow something, and which one decides; nothing is asked upstream.

    What is not said counts as surely absent. Exit code 1 when it is blocked.
    """
    from gateway.operations import rules as work

    verdict = carried_out(
        lambda: work.tested(
            token_id,
            work.facts(
                id_,
                under=under or (),
                site=site,
                mime_type=mime_type,
                labels=label or (),
                content_type=content_type,
            ),
        )
    )
    answer(verdict.as_json, lambda: give(verdict.text), as_json=as_json)
    if not verdict.allowed:
        raise typer.Exit(1)
