"""`decisions`: the audit log of the calls of tokens."""

import json
import sys
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import info, output, report, report_rows
from gateway.cli.options import AsJson, option
from policy.counts import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.cli.stores import Store

app = typer.Typer(help="Decisions on calls, and changes by administrators.", no_args_is_help=True)

# The table has 100 columns at most; `--json`, `tail` and `explain --request` show the rest.
_COLUMNS = {
    "at": "AT",
    "tokenId": "TOKEN",
    "operation": "OPERATION",
    "result": "RESULT",
    "requestId": "REQUEST",
}
_WIDTHS = {"operation": 16, "result": 21, "requestId": 36}  # in characters

_FILTERS = (  # names of the API
    *("tokenId", "outcome", "surface", "operation", "layer", "code", "requestId"),
    *("actor", "since", "until"),
)

Token = Annotated[int | None, typer.Option(help="Only decisions on the token with this id.")]
Outcome = Annotated[
    str | None, option("allowed, refused or failed.", "gateway.audit.decision:Outcome")
]
Surface = Annotated[
    str | None, option("email, calendar, tasks or collab.", "policy.vocabulary:Surface")
]
Operation = Annotated[str | None, typer.Option(help="The root field: emails, sendEmail, …")]
Layer = Annotated[str | None, option("The layer that decided.", "policy.vocabulary:Layer")]
Code = Annotated[str | None, option("The code of the refusal.", "policy.vocabulary:Code")]
Actor = Annotated[str | None, typer.Option(help="Only changes by this administrator or OS user.")]
Request = Annotated[str | None, typer.Option(help="Only the request with this X-Request-Id.")]


@app.command("list")
def list_(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token: Token = None,
    outcome: Outcome = None,
    surface: Surface = None,
    operation: Operation = None,
    layer: Layer = None,
    code: Code = None,
    request: Request = None,
    actor: Actor = None,
    since: Annotated[
        str | None, typer.Option(help="Start time, inclusive: 2026-11-20T12:00:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="End time, exclusive.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List decisions, newest first."""
    from gateway.cli.stores import in_store
    from gateway.operations import decisions

    values = (token, outcome, surface, operation, layer, code, request, actor, since, until)
    filters = dict(zip(_FILTERS, values, strict=True))
    listed = in_store(
        lambda store: decisions.list_newest(store.database, decisions.query(filters), limit=limit)
    )
    report_rows(
        listed if as_json else [_row(each.as_json()) for each in listed], _COLUMNS, as_json=as_json
    )


def _row(decision: "Mapping[str, Any]") -> dict[str, Any]:
    """Return the cells of a decision: month, day and time, and who changed or what refused."""
    by = f"by {decision['actor']}" if decision["actor"] else decision["outcome"]
    cells = {**decision, "at": decision["at"][5:19].replace("T", " ")}
    cells["result"] = decision["code"] or by
    for name, width in _WIDTHS.items():
        text = cells[name] or "-"
        cells[name] = text if len(text) <= width else f"{text[: width - 1]}…"
    return cells


@app.command("tail")
def tail(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token: Token = None,
    outcome: Outcome = None,
    surface: Surface = None,
    operation: Operation = None,
    layer: Layer = None,
    code: Code = None,
    request: Request = None,
    actor: Actor = None,
    lines: Annotated[
        int, typer.Option(min=0, max=1000, help="Number of earlier decisions to show first.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the last decisions and then each new one, until Ctrl-C; with --json one per line."""
    from gateway.cli.stores import in_store

    values = (token, outcome, surface, operation, layer, code, request, actor, None, None)
    filters = dict(zip(_FILTERS, values, strict=True))
    with suppress(KeyboardInterrupt):  # the usual end of this command
        in_store(lambda store: _tail(store, filters, lines, as_json=as_json))


async def _tail(store: "Store", filters: "Mapping[str, Any]", lines: int, *, as_json: bool) -> None:
    from gateway.operations import decisions

    query = decisions.query(filters)
    async with aclosing(decisions.follow(store.database, query, last=lines, warn=info)) as followed:
        async for decision in followed:
            members = decision.as_json()
            output(json.dumps(members, ensure_ascii=False) if as_json else _line(members))
            sys.stdout.flush()  # a pipe must not wait for a full buffer


def _line(decision: "Mapping[str, Any]") -> str:
    """Write a decision as one line for people."""
    words = [
        decision["at"],
        f"by {decision['actor']}" if decision["actor"] else f"token {decision['tokenId']}",
        decision["door"],
        decision["operation"] or "-",
        decision["outcome"],
        str(decision["status"]),
    ]
    if decision["dryRun"]:
        words.append("dry run")
    if decision["layer"] is not None:
        words.append(f"by {decision['layer']}: {decision['code']}")
    if decision["upstreamStatus"] is not None:
        words.append(f"upstream {decision['upstreamStatus']}")
    if decision["ruleId"] is not None:
        words.append(f"rule {decision['ruleId']}")
    return "  ".join([*words, f"request {decision['requestId']}"])


@app.command("verify")
def verify(
    head: Annotated[
        list[str] | None,
        typer.Option(help="A head that the log of a gateway had, to compare with; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no row was changed, inserted, removed or moved; exit code 1 if one was."""
    from gateway.cli.stores import in_store
    from gateway.operations import decisions

    result = in_store(
        lambda store: decisions.verify(
            store.database, store.keyring, days=store.settings.decision_days, kept_heads=head or ()
        )
    )
    report(result, lambda: _write_faults(result), as_json=as_json)
    if result["faults"]:
        raise typer.Exit(1)


def _write_faults(result: dict[str, Any]) -> None:
    for fault in result["faults"]:
        ends = sorted({fault["number"], fault["last"]})
        output(f"{fault['chain']} {'-'.join(map(str, ends))}: {fault['fault']}")
    info(f"{counted(result['rows'], 'row')} checked, {counted(len(result['faults']), 'fault')}.")
    if 0 < result["rows"] == len(result["faults"]):
        info(
            "All rows are affected: does AGW_SECRET_KEYS hold the keys of the processes that "
            "wrote them?"
        )


@app.command("reason")
def reason(
    request_id: Annotated[str, typer.Argument(help="The X-Request-Id of the caller's response.")],
    as_json: AsJson = False,
) -> None:
    """Show the responses of providers behind a failed request."""
    from gateway.cli.stores import in_store
    from gateway.operations import decisions

    result = in_store(lambda store: decisions.reasons(store.database, store.keyring, request_id))
    report(result, lambda: _write_reasons(result.as_json()), as_json=as_json)


def _write_reasons(result: "Mapping[str, Any]") -> None:
    for error in result["errors"]:
        account = f"connection {error['connectionId']}" if error["connectionId"] else "no account"
        status = error["status"] or "no response"
        output(f"{error['at']}  {error['provider']}  {account}  {status}  caller: {error['code']}")
        text = "(sealed with a key that is not in AGW_SECRET_KEYS)"
        output(f"  {text if error['text'] is None else error['text'] or '(no text)'}")
