"""`explain`: why a call of a token would be refused, and what would let it pass."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli import option_values
from gateway.cli.console import answer, carried_out, give, give_table
from gateway.cli.options import AsJson, refuse

_COLUMNS = {"layer": "LAYER", "outcome": "OUTCOME", "detail": "WHY"}


def explain(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Annotated[int, typer.Argument(help="The token's id.")],
    method: Annotated[str | None, typer.Argument(help="GET, POST, PATCH or DELETE.")] = None,
    path: Annotated[
        str | None, typer.Argument(help="/api/access/…, with its query or not.")
    ] = None,
    query: Annotated[
        list[str] | None, typer.Option(help="A parameter, as name=value; repeat for several.")
    ] = None,
    body: Annotated[
        str | None, typer.Option(help="The body as JSON, @FILE, or - for standard input.")
    ] = None,
    document: Annotated[
        Path | None, typer.Option(help="A GraphQL document instead of a method and a path.")
    ] = None,
    variables: Annotated[
        str | None, typer.Option(help="Its variables as JSON, @FILE, or - for standard input.")
    ] = None,
    operation: Annotated[str | None, typer.Option(help="Which operation of several.")] = None,
    as_json: AsJson = False,
) -> None:
    """
    Say how a call would go with a token, layer by layer, and what would let it pass.

    The call is rehearsed in this process: upstream is read and never changed, nothing is charged.
    Exit code 1 when it would not be allowed.
    """
    from gateway.cli.commands import explain_action as work

    refuse(
        (method and not path, f"say what to {method}: `explain {token_id} {method} /api/access/…`"),
        (not method and (query or body), "--query and --body go with METHOD and PATH"),
        (
            not document and (variables or operation),
            "--variables and --operation go with --document",
        ),
        (document and method, "ask about METHOD and PATH or about --document FILE, not both"),
    )
    asked: dict[str, Any] = {}
    if document is not None:
        asked = {
            "document": option_values.content(document),
            "variables": option_values.members("variables", variables),
            "operationName": operation,
        }
    elif method is not None:
        asked = {"method": method, "path": path, "query": _pairs(query or [])}
    if body is not None:
        asked["body"] = option_values.value("body", body)
    found = carried_out(lambda: work.explained(token_id, asked))
    answer(found, lambda: _give(found, token_id), as_json=as_json)
    if found["outcome"] != "allowed":
        raise typer.Exit(1)


def _give(found: Mapping[str, Any], token_id: int) -> None:
    give_table(found["layers"], _COLUMNS)
    give("")
    word = f" {found['error']}" if found["error"] else ""
    give(f"{found['outcome'].capitalize()}: {found['status']}{word}")
    if found["rule"]:
        rule = found["rule"]
        give(f"Rule {rule['id']} decided: {rule['action']} {rule['ruleType']} {rule['pattern']}")
    for surface, words in found["hiddenFields"].items():
        give(f"Hidden on {surface}: {', '.join(words)}")
    if found["unchangeable"]:
        give(found["unchangeable"])
    change = found["change"] or found["partialChange"]
    if change:
        what = "This lets it pass" if found["change"] else "This lifts what stops it before that"
        give(f"{what}: {change['text']}")
        for command in _commands(change, token_id):
            give(f"  {command}")


def _commands(change: Mapping[str, Any], token_id: int) -> Iterator[str]:
    """Write a change down as commands, ready to be run."""
    options = []
    if change["settings"]:
        options += ["--settings", json.dumps(change["settings"], ensure_ascii=False)]
    if "expiresAt" in change:
        options += ["--expires", change["expiresAt"]]
    if options:
        yield shlex.join(["access-gateway", "token", "change", str(token_id), *options])
    for rule in change["addRules"]:
        words = ["add", str(token_id), "allow", rule["ruleType"], rule["pattern"]]
        yield shlex.join(["access-gateway", "rule", *words])
    for rule_id in change["removeRules"]:
        yield shlex.join(["access-gateway", "rule", "remove", str(token_id), str(rule_id)])


def _pairs(written: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in written:
        name, is_pair, value = pair.partition("=")
        if not is_pair:
            raise typer.BadParameter(f"{pair} is not name=value")
        found.setdefault(name, []).append(value)
    return found
