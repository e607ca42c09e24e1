"""`token`: make, list, show, revoke and rotate access tokens on the store itself."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.console import answer, carried_out, give, give_json, give_table, say
from gateway.cli.option_values import members
from gateway.cli.options import AsJson, OnlyJson, offering

app = typer.Typer(help="Access tokens.", no_args_is_help=True)
Id = Annotated[int, typer.Argument(help="The token's id.")]

_COLUMNS = {
    "id": "ID",
    "name": "NAME",
    "keyId": "KEY",
    "status": "STATUS",
    "surfaces": "SURFACES",
    "resourceIds": "RESOURCES",
    "expiresAt": "EXPIRES",
    "lastUsedAt": "LAST USED",
}


@app.command("create")
def create(  # noqa: PLR0913, PLR0917 - each is an option of the command
    name: Annotated[str, typer.Argument(help="A name for people, 1 to 100 characters.")],
    operator: Annotated[str, typer.Option(help="The operator's id.")],
    resource: Annotated[list[int], typer.Option(help="A resource's id; repeat for several.")],
    expires: Annotated[str | None, typer.Option(help="When it ends: 2027-01-31T12:00:00Z.")] = None,
    settings: Annotated[
        str | None, typer.Option(help="Settings as JSON, @FILE, or - for standard input.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token. Its text is written to standard output, once."""
    from gateway.operations import tokens as work

    made = carried_out(
        lambda: work.create(
            name=name,
            operator_id=operator,
            resource_ids=resource,
            expires=expires,
            settings=members("settings", settings),
        )
    )

    def words() -> None:
        say(f"Token {made['id']} ({made['name']}). This is the only time its text is shown:")
        give(made["token"])

    answer(made, words, as_json=as_json)


@app.command("list")
def list_(
    status: Annotated[
        str | None,
        typer.Option(
            help="active, revoked or expired.",
            autocompletion=offering(lambda: ("active", "revoked", "expired")),
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List tokens by id; secrets are not part of it."""
    from gateway.operations import tokens as work

    found = carried_out(lambda: work.listed(status))
    answer(
        found,
        lambda: give_table([{**one, "surfaces": work.surfaces(one)} for one in found], _COLUMNS),
        as_json=as_json,
    )


@app.command("show")
def show(token_id: Id, as_json: AsJson = False) -> None:
    """Show one token with its settings."""
    from gateway.operations import tokens as work

    found = carried_out(lambda: work.shown(token_id))

    def words() -> None:
        for member, value in found.items():
            give(f"{member}: {json.dumps(value, ensure_ascii=False)}")

    answer(found, words, as_json=as_json)


@app.command("change")
def change(  # noqa: PLR0913, PLR0917 - each is an option of the command
    token_id: Id,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    resource: Annotated[
        list[int] | None, typer.Option(help="Its resources from now on; repeat for several.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="When it ends, or 'never'.")] = None,
    settings: Annotated[
        str | None,
        typer.Option(help="Settings to change, as --settings of create; null is the default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change a token; what is not named stays. It holds from the next request on."""
    from gateway.operations import tokens as work

    changed = carried_out(
        lambda: work.changed(
            token_id,
            work.Changes(
                name=name,
                resource_ids=resource or None,
                expires=expires,
                settings=members("settings", settings),
            ),
        )
    )
    answer(changed, lambda: say(f"Token {token_id} is changed."), as_json=as_json)


@app.command("revoke")
def revoke(token_id: Id, as_json: AsJson = False) -> None:
    """Revoke a token; no later request passes with it."""
    from gateway.operations import tokens as work

    dead = carried_out(lambda: work.revoked(token_id))
    answer(dead, lambda: say(f"Token {token_id} is revoked."), as_json=as_json)


@app.command("rotate")
def rotate(
    token_id: Id,
    grace: Annotated[
        int, typer.Option(min=0, max=86_400, help="Seconds that the old secret stays good.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Give a token a new secret, written to standard output, once."""
    from gateway.operations import tokens as work

    made = carried_out(lambda: work.rotated(token_id, grace))
    answer(made, lambda: give(made["token"]), as_json=as_json)


@app.command("export")
def export(_as_json: OnlyJson = True) -> None:
    """Write the living tokens with the hashes of their texts, as JSON for `token import`."""
    from gateway.operations import token_transfer as work

    give_json(carried_out(work.exported))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="What `token export` wrote; - is standard input.")],
    as_json: AsJson = False,
) -> None:
    """Make the tokens of a file, all or none; those whose hash is there already are left alone."""
    from gateway.cli.documents import reading
    from gateway.operations import token_transfer as work

    report = carried_out(lambda: work.imported(reading(file)))
    answer(
        report,
        lambda: say(
            f"{len(report['imported'])} tokens imported, {len(report['present'])} there already."
        ),
        as_json=as_json,
    )
