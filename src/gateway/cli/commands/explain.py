"""`explain`: why a token's call would be refused, and the change that would let it pass."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli import option_values
from gateway.cli.console import output, output_table, report, run_async
from gateway.cli.options import AsJson, refuse

_PASSING = ("allowed", "held")
_COLUMNS = {"layer": "LAYER", "outcome": "OUTCOME", "detail": "WHY"}

Logged = Annotated[
    str | None,
    typer.Option(
        "--request", help="The X-Request-Id of a past call instead: what the log holds of it."
    ),
]


def explain(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Annotated[int | None, typer.Argument(help="The token's id.")] = None,
    method: Annotated[str | None, typer.Argument(help="GET, POST, PATCH or DELETE.")] = None,
    path: Annotated[str | None, typer.Argument(help="/api/access/…, also with a query.")] = None,
    query: Annotated[
        list[str] | None, typer.Option(help="A parameter, as name=value; repeatable.")
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
    operation: Annotated[
        str | None, typer.Option(help="The operation to run, if there are several.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask about a dry run of the call.")
    ] = False,
    if_effect: Annotated[
        str | None, typer.Option(help="The digest that the call would require.")
    ] = None,
    logged: Logged = None,
    as_json: AsJson = False,
) -> None:
    """
    Show how a call with a token would be decided, layer by layer, and which change would allow it.

    This process performs a dry run: it reads from providers, changes nothing and charges nothing.
    Exit code 1 when it would not be allowed.
    """
    if logged is not None:
        refuse((token_id is not None or document, "--request goes without a token and a call"))
        _explain_logged(logged, as_json=as_json)
        return
    if token_id is None:
        raise typer.BadParameter("name a token, or a past call by --request")
    refuse(
        (method and not path, f"say what to {method}: `explain {token_id} {method} /api/access/…`"),
        (not method and (query or body), "--query and --body go with METHOD and PATH"),
        (
            not document and (variables or operation),
            "--variables and --operation go with --document",
        ),
        (document and method, "ask about METHOD and PATH or about --document FILE, not both"),
    )
    request: dict[str, Any] = {"dryRun": dry_run, "ifEffect": if_effect}
    if document is not None:
        request |= _document(document, variables, operation)
    elif method is not None:
        request |= {"method": method, "path": path, "query": _pairs(query or [])}
    if body is not None:
        request["body"] = option_values.parsed_json("body", body)
    explanation = run_async(lambda: _explain(token_id, request))
    report(explanation, lambda: _write(explanation, token_id), as_json=as_json)
    if explanation["outcome"] not in _PASSING:
        raise typer.Exit(1)


def _document(file: Path, variables: str | None, operation: str | None) -> dict[str, Any]:
    """Return the members of a question about the document in *file*."""
    return {
        "document": option_values.content(file),
        "variables": option_values.json_object("variables", variables),
        "operationName": operation,
    }


def _explain_logged(request_id: str, *, as_json: bool) -> None:
    """Write what the decision log holds of a request."""
    from gateway.cli.stores import in_store
    from gateway.operations import decisions

    logged = in_store(lambda store: decisions.explained(store.database, request_id))

    def write_text() -> None:
        for call in logged:
            if call["layers"]:
                output_table(call["layers"], {"layer": "LAYER", "outcome": "OUTCOME"})
                output("")
            for sentence in call["sentences"]:
                output(sentence)

    report(logged, write_text, as_json=as_json)


async def _explain(token_id: int, request: Mapping[str, Any]) -> Mapping[str, Any]:
    from gateway.cli import in_process
    from gateway.errors import CommandError

    if not {"method", "document"} & request.keys():
        raise CommandError(
            "What is asked must have either method and path, or a document: "
            "`explain ID GET /api/access/email/messages` or `explain ID --document FILE`."
        )
    return await in_process.explain(token_id, request)


def _write(explanation: Mapping[str, Any], token_id: int) -> None:
    output_table(explanation["layers"], _COLUMNS)
    output("")
    error = f" {explanation['error']}" if explanation["error"] else ""
    dry = " (a dry run: nothing would be written)" if explanation["dryRun"] else ""
    output(f"{explanation['outcome'].capitalize()}: {explanation['status']}{error}{dry}")
    if rule := explanation["rule"]:
        output(f"Rule {rule['id']} decided: {rule['action']} {rule['ruleType']} {rule['pattern']}")
    for surface, words in explanation["hiddenFields"].items():
        output(f"Hidden on {surface}: {', '.join(words)}")
    if explanation["unchangeable"]:
        output(explanation["unchangeable"])
    if change := explanation["change"] or explanation["partialChange"]:
        full = explanation["change"] is not None
        effect = (
            "This change allows the call" if full else "This change removes the earlier refusals"
        )
        output(f"{effect}: {change['text']}")
        for command in _commands(change, token_id):
            output(f"  {command}")


def _commands(change: Mapping[str, Any], token_id: int) -> Iterator[str]:
    """Yield the commands that make a change."""
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


def _pairs(texts: list[str]) -> dict[str, list[str]]:
    parameters: dict[str, list[str]] = {}
    for text in texts:
        name, is_pair, value = text.partition("=")
        if not is_pair:
            raise typer.BadParameter(f"{text} is not name=value")
        parameters.setdefault(name, []).append(value)
    return parameters
