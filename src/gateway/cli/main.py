"""`access-gateway`: all commands, by the groups of the help page."""

import gc
import os
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from gateway.cli.commands import (
    agents,
    client,
    connection,
    db,
    decisions,
    demo,
    doctor,
    document,
    explain,
    people,
    policy,
    query,
    rule,
    sandbox,
    schema,
    secret,
    serve,
    token,
    write,
)
from gateway.cli.console import info

NAME = "access-gateway"
# Names the program in usage lines and shell completion; `./run` sets it.
PROGRAM_VARIABLE = "ACCESS_GATEWAY_PROGRAM"

# The groups of the help page, in its order.
RUNNING = "Run"
ACCESS = "Access"
ACCOUNTS = "Accounts"
STORE = "Database and keys"
ADVANCED = "Advanced"  # rarely needed
_GROUPS = (RUNNING, ACCESS, ACCOUNTS, STORE, ADVANCED)


class _Grouped(TyperGroup):
    """Lists commands by the groups of the help page, and reports wrong usage in one line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            status = super().main(
                args, prog_name, complete_var, False, windows_expand_args, **extra
            )
        except Exception as problem:
            if not standalone_mode:
                raise
            status = _exit_status(problem)
        if standalone_mode:
            sys.exit(status if isinstance(status, int) else 0)
        return status

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # typer's own kind of context
        """Return the names, sorted by group."""
        return sorted(super().list_commands(ctx), key=lambda name: _GROUPS.index(self._group(name)))

    def _group(self, name: str) -> str:
        return str(self.commands[name].rich_help_panel)  # type: ignore[attr-defined]  # typer's

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, group by group."""
        for group, names in groupby(self.list_commands(ctx), self._group):
            with formatter.section(group):
                formatter.write_dl(
                    [(name, self.commands[name].get_short_help_str(limit=200)) for name in names]
                )


def _exit_status(problem: Any) -> int:
    """
    Write what is wrong with the usage in one line; without any words, the help.

    Raises:
        Exception: *problem* is nothing that typer raises.
    """
    if isinstance(problem, typer.Abort):
        info("Aborted.")
        return 1
    status = getattr(problem, "exit_code", None)  # the classes of wrong usage are typer's own
    if status is None:
        raise problem
    if type(problem).__name__ == "NoArgsIsHelpError":
        problem.show()
        return int(status)
    if type(problem.__cause__).__name__ == "ValidationError":
        from gateway.operations.validation import details

        problem.message = details(problem.__cause__)[0].message
    sentence, context = problem.format_message().rstrip(), getattr(problem, "ctx", None)
    end = "" if sentence.endswith((".", "?", "!")) else "."
    info(f"{sentence}{end}" + (f" See `{context.command_path} --help`." if context else ""))
    return int(status)


def _shown_type(parameter: TyperArgument | TyperOption, _context: Any) -> str:
    """Return how the help shows the value of a parameter; nothing for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    described = parameter.type_descriptor
    if described.is_choice:
        return "|".join(str(getattr(word, "value", word)) for word in described.choices or ())
    if described.is_path:
        return "PATH"
    return "NUMBER" if "int" in parameter.bare_type() or described.is_ranged else "TEXT"


def _shown_range(least: float | None, most: float | None) -> str | None:
    """Return how the help shows the range of a number; None: it has none."""
    if least is None:
        return None if most is None else f"at most {most}"
    return f"at least {least}" if most is None else f"{least} to {most}"


# typer has no setting for these, and would show the types of Python and `0<=x<=9`.
TyperArgument.display_type = TyperOption.display_type = _shown_type  # type: ignore[method-assign, assignment]
typer.core.describe_number_range = _shown_range  # type: ignore[assignment, attr-defined]  # other names of the bounds


def _show_version(asked: bool) -> None:
    if not asked:
        return
    from gateway.store.schema_version import newest
    from gateway.version import API_VERSION, VERSION

    print(f"{NAME} {VERSION} (API {API_VERSION}, database {newest()})")
    raise typer.Exit


app = typer.Typer(
    name=NAME,
    cls=_Grouped,
    help="A token-gated gateway over mail, calendars, task boards and collaboration content.",
    epilog="Data goes to standard output, messages go to standard error. "
    "Exit codes: 0 success, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,  # importing rich takes longer than the rest of a help page
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _main(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the versions and stop."
        ),
    ] = False,
) -> None:
    pass


app.command("demo", rich_help_panel=RUNNING)(demo.demo)
app.command("serve", rich_help_panel=RUNNING)(serve.serve)
app.command("doctor", rich_help_panel=RUNNING)(doctor.doctor)
app.add_typer(token.app, name="token", rich_help_panel=ACCESS)
app.add_typer(rule.app, name="rule", rich_help_panel=ACCESS)
app.add_typer(document.app, name="document", rich_help_panel=ACCESS)
app.add_typer(client.app, name="client", rich_help_panel=ACCESS)
app.add_typer(write.app, name="write", rich_help_panel=ACCESS)
app.add_typer(write.approvers, name="approver", rich_help_panel=ACCESS)
app.add_typer(decisions.app, name="decisions", rich_help_panel=ACCESS)
app.add_typer(people.operators, name="operator", rich_help_panel=ACCOUNTS)
app.add_typer(people.resources, name="resource", rich_help_panel=ACCOUNTS)
app.add_typer(connection.app, name="connection", rich_help_panel=ACCOUNTS)
app.command("explain", rich_help_panel=ACCESS)(explain.explain)
app.command("agents", rich_help_panel=ACCESS)(agents.agents)
app.command("query", rich_help_panel=ACCESS)(query.query)
app.add_typer(db.app, name="db", rich_help_panel=STORE)
app.add_typer(secret.app, name="secret", rich_help_panel=STORE)
app.add_typer(policy.app, name="policy", rich_help_panel=ADVANCED)
app.add_typer(sandbox.app, name="sandbox", rich_help_panel=ADVANCED)
app.command("seed", rich_help_panel=ADVANCED)(sandbox.seed)
app.add_typer(schema.app, name="schema", rich_help_panel=ADVANCED)
app.add_typer(schema.openapi, name="openapi", rich_help_panel=ADVANCED)


def run() -> None:
    """Run a command; 0 done, 1 failed, 2 wrong usage."""
    # What the imports make stays: collections would walk through it again and again. Commands
    # enable them before they work (`console.run_async`), servers before their first request.
    gc.disable()
    try:
        app(prog_name=os.environ.get(PROGRAM_VARIABLE, NAME))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # else the end of the process collects it all
        gc.enable()
        _flush_output()


def _flush_output() -> None:
    """Flush standard output; a reader that is gone (`| head`) causes no error message."""
    stdout = sys.__stdout__  # typer replaces sys.stdout after a broken pipe
    if stdout is None:
        return
    try:
        stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
