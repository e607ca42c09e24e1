"""`access-gateway`: every command, each of which imports what it needs when it runs."""

import sys

import typer

from gateway.cli import connection, demo, rule, sandbox, secret, serve, token

app = typer.Typer(
    name="access-gateway",
    help="A token-gated gateway over mail, calendars, task boards and collaboration content.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.add_typer(token.app, name="token")
app.add_typer(connection.app, name="connection")
app.add_typer(rule.app, name="rule")
app.add_typer(secret.app, name="secret")
app.add_typer(sandbox.app, name="sandbox")


def run() -> None:
    """Run a command; 0 done, 1 failed, 2 wrong usage."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
