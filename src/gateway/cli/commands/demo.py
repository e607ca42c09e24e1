"""`demo`: an embedded store, invented accounts and ready tokens, in one command."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import failures_as_sentences, info, output, report
from gateway.cli.options import AsJson

if TYPE_CHECKING:
    from gateway.app import Gateway
    from sandbox.own_servers.servers import OwnServers


def demo(  # noqa: PLR0913, PLR0917 - each is an option of the command
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free port.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data: Annotated[Path, typer.Option(help="Folder of the demo's store.")] = Path("data/demo"),
    reset: Annotated[bool, typer.Option("--reset", help="Start from an empty store.")] = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Write addresses and tokens to this file, as JSON.")
    ] = None,
    own_server: Annotated[
        bool,
        typer.Option(
            "--own-server",
            help="Add a mailbox on Dovecot and Postfix and calendars on Radicale, of those that "
            "are installed; they end with the demo.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the gateway with invented accounts; nothing needs to be configured."""
    import asyncio
    from contextlib import ExitStack

    with failures_as_sentences(), ExitStack() as stack:
        from gateway.demo.manifest import write
        from gateway.server import bind, run_app, tune_garbage_collector
        from gateway.telemetry import logs

        logs.configure(level="warning", form="console")
        data.mkdir(parents=True, exist_ok=True)
        listener, base_url = bind(host, port)
        servers = None
        if own_server:
            from gateway.demo.own_servers import running

            # The server raises the signal that ended it once more; the own servers end then.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
            servers = stack.enter_context(running())
        gateway, described = asyncio.run(_open(data, base_url, reset=reset, servers=servers))

        def announce() -> None:
            if manifest is not None:
                write(manifest, described)
            report(described, lambda: _write_introduction(described, data), as_json=as_json)
            sys.stdout.flush()  # whoever reads it, from a pipe or a file, waits for it

        tune_garbage_collector()
        run_app(gateway, listener, started=announce)


async def _open(
    data: Path, base_url: str, *, reset: bool, servers: "OwnServers | None" = None
) -> "tuple[Gateway, dict[str, Any]]":
    """Create what is missing; return the gateway and the manifest."""
    from gateway.app import assemble
    from gateway.demo import launcher
    from gateway.demo.manifest import describe, locked_folder, remove_stores, write_environment
    from gateway.demo.own_servers import MARKER, connect
    from gateway.demo.profiles import demo_tokens
    from gateway.demo.world import open_sandbox
    from gateway.store.database import Database

    with locked_folder(data, reset=reset) as existing:
        state = existing
        if state is None:
            info("Creating the demo's data …")
            remove_stores(data, upstreams=reset)
        secrets = (state.admin_token, state.secret_key) if state else launcher.new_secrets()
        settings = launcher.settings(data, secrets, base_url)
        sandbox = open_sandbox(data, public_base=f"{base_url}/sandbox")
        database = Database.open(settings.database)
        try:
            if state is None:
                state = await launcher.prepare(data, database, secrets=secrets, sandbox=sandbox)
            if servers is not None or (data / MARKER).exists():
                (data / MARKER).touch()
                await database.migrate()
                await connect(database, state, servers)
        finally:
            await database.close()
        write_environment(data, state, base_url)
        offered = demo_tokens(state.tokens)
        described = describe(state, base_url)
        if servers is not None:
            described["ownServers"] = servers.described
        return assemble(settings, sandbox=sandbox, demo=offered), described


def _write_introduction(described: dict[str, Any], data: Path) -> None:
    base, tokens = described["baseUrl"], described["tokens"]
    lines = "\n".join(f"  {name:<9} {text}" for name, text in tokens.items())
    output(
        f"""
access-gateway demo

  Base URL   {base}
  GraphiQL   {base}/explorer/
  REST docs  {base}/docs/
  Console    {base}/console/ (sign in with the admin token below)

Tokens
{lines}
  admin     {described["adminToken"]}
{_own_servers_text(described)}
In another terminal, for the commands and the examples (FULL, READER, … are the tokens)

  . {data / "environment"}

Three requests to paste

  1. Mails, by REST
     curl -s '{base}/api/access/email/messages?limit=3&includeBody=true' \\
       -H 'Authorization: Bearer {tokens["full"]}'

  2. The same, by GraphQL
     curl -s '{base}/graphql' -H 'Content-Type: application/json' \\
       -H 'Authorization: Bearer {tokens["full"]}' \\
       -d '{{"query": "{{ emails(includeBody: true) {{ emails {{ body to {{ email }} }} }} }}"}}'

  3. The same with the masked token: body and recipients are null
     curl -s '{base}/graphql' -H 'Content-Type: application/json' \\
       -H 'Authorization: Bearer {tokens["masked"]}' \\
       -d '{{"query": "{{ emails(includeBody: true) {{ emails {{ body to {{ email }} }} }} }}"}}'

Stop with Ctrl+C."""
    )


def _own_servers_text(described: dict[str, Any]) -> str:
    servers = described.get("ownServers")
    if servers is None:
        return ""
    lines = [f"  {name:<11} {servers[name]}" for name in _SHOWN if servers[name]]
    lines += [f"  {sentence}" for sentence in servers["missing"]]
    return "\n".join(["", "Own servers, behind a third mailbox and calendar", *lines, ""])


_SHOWN = ("mail", "submission", "calendar", "user", "password")
