"""`rule recipient`: the rules about the people that a token may write to."""

from typing import Annotated

import typer

from gateway.cli.console import output, report, report_rows
from gateway.cli.options import AsJson, argument

app = typer.Typer(help="Rules about the people that a token may write to.", no_args_is_help=True)
Token = Annotated[int, typer.Argument(help="The token's id.")]
Action = Annotated[str, argument("allow or block.", "allow", "block")]
Pattern = Annotated[str, typer.Argument(help="An address, @domain, or * for everyone.")]


@app.command("add")
def add(token_id: Token, action: Action, pattern: Pattern, as_json: AsJson = False) -> None:
    """
    Add a rule to a token. It takes effect at the next request.

    A token without rules may write to everyone, until it gets its first allow rule.
    """
    from gateway.cli.stores import write_store
    from gateway.operations import recipient_rules

    rule = write_store(lambda session: recipient_rules.add(session, token_id, action, pattern))
    report(rule, f"Rule: {rule['action']} {rule['pattern']}", as_json=as_json)


@app.command("list")
def list_(token_id: Token, as_json: AsJson = False) -> None:
    """List a token's recipient rules; `allow *` alone means everyone."""
    from gateway.cli.stores import read_store
    from gateway.operations import recipient_rules

    listed = read_store(lambda session: recipient_rules.list_all(session, token_id))
    report_rows(listed, {"action": "ACTION", "pattern": "PATTERN"}, as_json=as_json)


@app.command("remove")
def remove(token_id: Token, action: Action, pattern: Pattern, as_json: AsJson = False) -> None:
    """Remove a rule. A token whose last rule was removed may write to nobody."""
    from gateway.cli.stores import write_store
    from gateway.operations import recipient_rules

    rule = write_store(lambda session: recipient_rules.remove(session, token_id, action, pattern))
    report(rule, f"Rule {rule['action']} {rule['pattern']} is removed.", as_json=as_json)


@app.command("test")
def try_(
    token_id: Token,
    address: Annotated[str, typer.Argument(help="The address to test.")],
    as_json: AsJson = False,
) -> None:
    """Show whether a token may write to an address, and by which rules; exit code 1 if not."""
    from gateway.cli.stores import read_store
    from gateway.operations import recipient_rules

    decision = read_store(lambda session: recipient_rules.evaluate(session, token_id, address))
    word = "allowed" if decision["allowed"] else "not allowed"
    rules = [f"{rule['action']} {rule['pattern']}" for rule in decision["matching"]]
    cause = ", ".join(rules) or "no rule matches"
    report(decision, lambda: output(f"{decision['address']}: {word}, by {cause}"), as_json=as_json)
    if not decision["allowed"]:
        raise typer.Exit(1)
