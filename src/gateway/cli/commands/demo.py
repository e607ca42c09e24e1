"""`demo`: an embedded store, invented accounts and ready tokens, in one command."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import failures_as_sentences, info, output, report
from gateway.cli.options import AsJson

if TYPE_CHECKING:
    from gateway.app import Gateway


def demo(  # noqa: PLR0913, PLR0917 - each is an option of the command
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free port.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data: Annotated[Path, typer.Option(help="Folder of the demo's store.")] = Path("data/demo"),
    reset: Annotated[bool, typer.Option("--reset", help="Start from an empty store.")] = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Write addresses and tokens to this file, as JSON.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the gateway with invented accounts; nothing needs to be configured."""
    import asyncio

    with failures_as_sentences():
        from gateway.demo.manifest import write
        from gateway.server import bind, run_app, tune_garbage_collector
        from gateway.telemetry import logs

        logs.configure(level="warning", form="console")
        data.mkdir(parents=True, exist_ok=True)
        listener, base_url = bind(host, port)
        gateway, described = asyncio.run(_open(data, base_url, reset=reset))

        def announce() -> None:
            if manifest is not None:
                write(manifest, described)
            report(described, lambda: _write_introduction(described), as_json=as_json)
            sys.stdout.flush()  # whoever reads it, from a pipe or a file, waits for it

        tune_garbage_collector()
        run_app(gateway, listener, started=announce)


async def _open(data: Path, base_url: str, *, reset: bool) -> "tuple[Gateway, dict[str, Any]]":
    """Create what is missing; return the gateway and the manifest."""
    from gateway.app import assemble
    from gateway.demo import launcher
    from gateway.demo.manifest import describe, locked_folder, remove_stores
    from gateway.demo.world import open_sandbox
    from gateway.store.database import Database

    with locked_folder(data, reset=reset) as existing:
        state = existing
        if state is None:
            info("Making the demo's world …")
            remove_stores(data, upstreams=reset)
        secrets = (state.admin_token, state.secret_key) if state else launcher.new_secrets()
        settings = launcher.settings(data, secrets, base_url)
        sandbox = open_sandbox(data, public_base=f"{base_url}/sandbox")
        if state is None:
            database = Database.open(settings.database)
            try:
                state = await launcher.prepare(data, database, secrets=secrets, sandbox=sandbox)
            finally:
                await database.close()
        return assemble(settings, sandbox=sandbox), describe(state, base_url)


def _write_introduction(described: dict[str, Any]) -> None:
    base, tokens = described["baseUrl"], described["tokens"]
    lines = "\n".join(f"  {name:<9} {text}" for name, text in tokens.items())
    output(
        f"""
access-gateway demo

  Base URL   {base}
  GraphiQL   {base}/explorer/
  REST docs  {base}/docs/

Tokens
{lines}
  admin     {described["adminToken"]}

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
