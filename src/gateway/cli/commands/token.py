"""`token`: make, list, show, change, revoke, rotate and move access tokens."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import (
    failures_as_sentences,
    info,
    output,
    output_json,
    output_table,
    report,
    write_private_json,
)
from gateway.cli.option_values import document, end_time, json_object, without_none
from gateway.cli.options import AsJson, OnlyJson, option
from policy.counts import counted

if TYPE_CHECKING:
    from sqlmodel.ext.asyncio.session import AsyncSession

    from gateway.operations.views import ManagedAccessToken, MintedAccessToken

app = typer.Typer(help="Access tokens.", no_args_is_help=True)
Id = Annotated[int, typer.Argument(help="The token's id.")]

Writes = Annotated[
    str | None,
    option(
        "direct; effect: a write runs only with the digest of its effect; approve: a person "
        "releases it.",
        "policy.vocabulary:WriteMode",
    ),
]

_COLUMNS = {
    "id": "ID",
    "name": "NAME",
    "parentId": "PARENT",
    "keyId": "KEY",
    "status": "STATUS",
    "surfaces": "SURFACES",
    "resourceIds": "RESOURCES",
    "expiresAt": "EXPIRES",
    "lastUsedAt": "LAST USED",
}

_COLUMNS_OF_TREE = {name: _COLUMNS[name] for name in ("id", "name", "keyId", "status", "expiresAt")}


@app.command("create")
def create(  # noqa: PLR0913, PLR0917 - each is an option of the command
    name: Annotated[str, typer.Argument(help="A name for people, 1 to 100 characters.")],
    preset: Annotated[
        str | None,
        option(
            "What it may do: reader, drafts, sender, calendar-busy, tasks, files-reader or full; "
            "--settings change it.",
            "policy.presets:Preset",
        ),
    ] = None,
    for_agent: Annotated[
        str | None,
        option(
            "For an agent: reader, mailbox-assistant, supervised or full; tells how to set it up.",
            "policy.presets:AgentPreset",
        ),
    ] = None,
    operator: Annotated[str, typer.Option(help="The operator's id; the only one by default.")] = "",
    resource: Annotated[
        list[int] | None, typer.Option(help="A resource's id; repeatable; the only one by default.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it ends: 30d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z.")
    ] = None,
    settings: Annotated[
        str | None, typer.Option(help="Settings as JSON, @FILE, or - for standard input.")
    ] = None,
    writes: Writes = None,
    as_json: AsJson = False,
) -> None:
    """Create a token. Its text is written to standard output, once."""
    from gateway.cli.first_use import only_owner
    from gateway.cli.stores import write_store
    from gateway.operations import tokens
    from gateway.operations.validation import validated

    own = _settings(settings, writes)
    if for_agent is not None:
        own = _settings_of_agent(for_agent, preset, own)
    members = without_none(name=name, expiresAt=end_time(expires), preset=preset, settings=own)

    async def create_token(session: "AsyncSession") -> "MintedAccessToken":
        first = resource[0] if resource else None
        members["operatorId"], only = await only_owner(session, operator, first)
        members["resourceIds"] = resource or [only]
        return await tokens.create(session, validated(tokens.NewToken, members))

    token = write_store(create_token)

    def write_text() -> None:
        info(f"Token {token.id} ({token.name}). This is the only time its text is shown:")
        output(token.token)
        _write_warnings(token)
        if for_agent is not None:
            _write_agent_setup()

    report(token, write_text, as_json=as_json)


@app.command("list")
def list_(
    status: Annotated[
        str | None, option("active, revoked or expired.", "active", "revoked", "expired")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List tokens by id, without secrets."""
    from gateway.auth import token_views

    listed = _list_all(status)

    def write_table() -> None:
        rows = [{**token.as_json(), "surfaces": token_views.surfaces(token)} for token in listed]
        output_table(rows, _COLUMNS)

    report(listed, write_table, as_json=as_json)


@app.command("tree")
def tree(as_json: AsJson = False) -> None:
    """List tokens with their child tokens below them."""
    from gateway.auth import token_views

    listed = token_views.in_tree_order(_list_all(None))

    def write_table() -> None:
        rows = [
            {**token.as_json(), "name": f"{'  ' * depth}{token.name}"} for depth, token in listed
        ]
        output_table(rows, _COLUMNS_OF_TREE)

    report([token for _, token in listed], write_table, as_json=as_json)


@app.command("show")
def show(token_id: Id, as_json: AsJson = False) -> None:
    """Show one token with its settings."""
    from gateway.cli.stores import read_store
    from gateway.operations import tokens

    token = read_store(lambda session: tokens.read(session, token_id))

    def write_text() -> None:
        for member, value in token.as_json().items():
            output(f"{member}: {json.dumps(value, ensure_ascii=False)}")

    report(token, write_text, as_json=as_json)


@app.command("change")
def change(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Id,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    resource: Annotated[
        list[int] | None, typer.Option(help="Its resources from now on; repeatable.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it ends, as --expires of create, or 'never'.")
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option(help="Settings to change, as --settings of create; null is the default."),
    ] = None,
    writes: Writes = None,
    as_json: AsJson = False,
) -> None:
    """Change a token. The change takes effect at the next request."""
    from gateway.cli.stores import write_store
    from gateway.operations import tokens
    from gateway.operations.validation import validated

    members = without_none(
        name=name, resourceIds=resource or None, settings=_settings(settings, writes)
    )
    if expires is not None:
        members["expiresAt"] = None if expires == "never" else end_time(expires)
    token = write_store(
        lambda session: tokens.change(session, token_id, validated(tokens.TokenChange, members))
    )

    def write_text() -> None:
        revoked = token.status == "revoked"
        info(f"Token {token_id} was changed{'; it stays revoked' if revoked else ''}.")
        _write_warnings(token)

    report(token, write_text, as_json=as_json)


@app.command("revoke")
def revoke(token_id: Id, as_json: AsJson = False) -> None:
    """Revoke a token. Later requests with it are refused."""
    from gateway.cli.stores import write_store
    from gateway.operations import tokens

    token = write_store(lambda session: tokens.revoke(session, token_id))
    report(token, f"Token {token_id} is revoked.", as_json=as_json)


@app.command("rotate")
def rotate(
    token_id: Id,
    grace: Annotated[
        int, typer.Option(min=0, max=86_400, help="Seconds for which the old secret stays valid.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Give a token a new secret, written to standard output, once."""
    from gateway.cli.stores import write_store
    from gateway.operations import tokens

    rotation = tokens.Rotation.model_validate({"graceSeconds": grace})
    token = write_store(lambda session: tokens.rotate(session, token_id, rotation))
    report(token, lambda: output(token.token), as_json=as_json)


@app.command("export")
def export(
    output_file: Annotated[
        Path | None,
        typer.Option(
            "--output", help="A file that only its owner can read. Default: standard output."
        ),
    ] = None,
    _as_json: OnlyJson = True,
) -> None:
    """Write the active tokens with the hashes of their texts, as JSON for `token import`."""
    from gateway.cli.stores import read_store
    from gateway.operations.token_transfer import export_tokens

    exported = read_store(export_tokens)
    if output_file is None:
        output_json(exported)
        return
    with failures_as_sentences():
        write_private_json(exported, output_file)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="What `token export` wrote; - is standard input.")],
    as_json: AsJson = False,
) -> None:
    """Create the tokens of a file, all or none; tokens that exist already are not changed."""
    from gateway.cli.stores import write_store
    from gateway.operations.token_transfer import import_tokens

    names = write_store(lambda session: import_tokens(session, document(file)))
    imported = counted(len(names["imported"]), "token")
    sentence = f"{imported} imported, {len(names['present'])} there already."
    report(names, sentence, as_json=as_json)


def _settings(stated: str | None, writes: str | None) -> dict[str, object]:
    """Return the settings of `--settings` and `--writes`."""
    return {**json_object("settings", stated), **without_none(writes=writes)}


def _settings_of_agent(name: str, preset: str | None, own: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a preset for agents, with *own* over them."""
    from policy.presets import AGENT_PRESETS, AgentPreset

    if preset is not None:
        raise typer.BadParameter("--for-agent and --preset exclude each other.")
    if name not in tuple(AgentPreset):
        raise typer.BadParameter(f"--for-agent is one of: {', '.join(AgentPreset)}.")
    return {**AGENT_PRESETS[AgentPreset(name)].settings, **own}


def _write_agent_setup() -> None:
    """Write how clients are set up; the token is in a variable, not in what is written here."""
    from gateway.settings import Settings

    url = Settings().base_url
    http = {
        "type": "http",
        "url": f"{url}/mcp",
        "headers": {"Authorization": "Bearer ${AGW_TOKEN}"},
    }
    local = {"command": "access-gateway", "args": ["agents", "--url", url]}
    info(
        "\nWith the token in AGW_TOKEN, Claude Code is set up by\n"
        f"  claude mcp add --transport http access-gateway {url}/mcp "
        '--header "Authorization: Bearer $AGW_TOKEN"\n'
        "other clients that speak HTTP by\n"
        f"  {json.dumps({'mcpServers': {'access-gateway': http}})}\n"
        "and clients that start a program, which finds AGW_TOKEN in its environment, by\n"
        f"  {json.dumps({'mcpServers': {'access-gateway': local}})}"
    )


def _list_all(status: str | None) -> "list[ManagedAccessToken]":
    from gateway.auth.token_views import status_of
    from gateway.cli.stores import read_store
    from gateway.operations import tokens

    async def read(session: "AsyncSession") -> "list[ManagedAccessToken]":
        return await tokens.list_all(session, status=status_of(status))

    return read_store(read)


def _write_warnings(token: "ManagedAccessToken") -> None:
    for warning in token.warnings:
        info(f"Warning: {warning}")
