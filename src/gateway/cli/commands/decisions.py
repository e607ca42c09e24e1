"""`decisions`: what was decided on the calls of tokens, from the store itself."""

import sys
from collections.abc import Iterable
from contextlib import aclosing, suppress
from typing import Annotated, Any

import typer

from gateway.cli.console import answer, carried_out, give, give_table, say
from gateway.cli.options import AsJson, offering

app = typer.Typer(help="What was decided on calls, and by which layer.", no_args_is_help=True)

_COLUMNS = {
    "at": "AT",
    "tokenId": "TOKEN",
    "door": "DOOR",
    "operation": "OPERATION",
    "outcome": "OUTCOME",
    "status": "STATUS",
    "layer": "LAYER",
    "code": "CODE",
    "ruleId": "RULE",
    "requestId": "REQUEST",
}


def _outcomes() -> Iterable[str]:
    from gateway.audit.decision import Outcome

    return Outcome


def _surfaces() -> Iterable[str]:
    from policy.vocabulary import Surface

    return Surface


def _layers() -> Iterable[str]:
    from policy.vocabulary import Layer

    return Layer


def _codes() -> Iterable[str]:
    from policy.vocabulary import Code

    return Code


Token = Annotated[int | None, typer.Option(help="Of one token: its id.")]
Outcome = Annotated[
    str | None,
    typer.Option(help="allowed, refused or failed.", autocompletion=offering(_outcomes)),
]
Surface = Annotated[
    str | None,
    typer.Option(help="email, calendar, tasks or collab.", autocompletion=offering(_surfaces)),
]
Operation = Annotated[str | None, typer.Option(help="The root field: emails, sendEmail, …")]
Layer = Annotated[
    str | None, typer.Option(help="The layer that decided.", autocompletion=offering(_layers))
]
Code = Annotated[
    str | None, typer.Option(help="The code of the refusal.", autocompletion=offering(_codes))
]
Request = Annotated[str | None, typer.Option(help="Of one request: its X-Request-Id.")]


@app.command("list")
def list_(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token: Token = None,
    outcome: Outcome = None,
    surface: Surface = None,
    operation: Operation = None,
    layer: Layer = None,
    code: Code = None,
    request: Request = None,
    since: Annotated[str | None, typer.Option(help="From then on: 2026-11-20T12:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Before then.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List decisions, newest first."""
    from gateway.cli.commands import decision_queries as work

    given = _given(token, outcome, surface, operation, layer, code, request)
    found = carried_out(lambda: work.listed(given | {"since": since, "until": until}, limit))
    answer(found, lambda: give_table(found, _COLUMNS), as_json=as_json)


@app.command("tail")
def tail(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token: Token = None,
    outcome: Outcome = None,
    surface: Surface = None,
    operation: Operation = None,
    layer: Layer = None,
    code: Code = None,
    request: Request = None,
    lines: Annotated[int, typer.Option(min=0, max=1000, help="How many to begin with.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the last decisions and then each new one, until Ctrl-C; with --json one per line."""
    from gateway.cli.commands import decision_queries as work

    given = _given(token, outcome, surface, operation, layer, code, request)
    write = work.as_line if as_json else work.as_words

    async def follow() -> None:
        async with aclosing(work.followed(given, lines, complain=say)) as followed:
            async for decision in followed:
                give(write(decision))
                sys.stdout.flush()  # a pipe shall not wait for a full buffer

    with suppress(KeyboardInterrupt):  # that is how it is meant to end
        carried_out(follow)


@app.command("verify")
def verify(as_json: AsJson = False) -> None:
    """Check that no row was changed, put in or taken out. Exit code 1 when one was."""
    from gateway.cli.commands import decision_queries as work

    checked = carried_out(work.verified)
    answer(checked, lambda: _faults(checked), as_json=as_json)
    if checked["faults"]:
        raise typer.Exit(1)


def _faults(checked: dict[str, Any]) -> None:
    for fault in checked["faults"]:
        give(f"{fault['chain']} {fault['number']}: {fault['fault']}")
    say(f"{checked['rows']} rows checked, {len(checked['faults'])} faults.")
    if 0 < checked["rows"] == len(checked["faults"]):
        say("It is every row: is AGW_SECRET_KEYS that of the processes that wrote them?")


def _given(  # noqa: PLR0913, PLR0917 - each is an option of the commands
    token: int | None,
    outcome: str | None,
    surface: str | None,
    operation: str | None,
    layer: str | None,
    code: str | None,
    request: str | None,
) -> dict[str, Any]:
    """Name the filters as the API does."""
    return {
        "tokenId": token,
        "outcome": outcome,
        "surface": surface,
        "operation": operation,
        "layer": layer,
        "code": code,
        "requestId": request,
    }
