"""
The first use of a deployment: secrets, an operator, a resource and a token, where there are none.

They are kept in the file `environment` of the data folder, readable by its owner alone, as
assignments that a shell reads.
"""

import os
import shlex
from pathlib import Path

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.errors import CommandError
from gateway.operations import operators, resources, tokens
from gateway.operations.validation import validated
from gateway.secrets.keyring import new_secret
from gateway.settings import Settings
from gateway.store.tables import AccessToken, Operator, OperatorResource, Resource

ENVIRONMENT = "environment"
_RESOURCE = "main"
_MAX_CHOICES = 10  # that a message names
# All that the connected accounts can do; `token change` narrows it.
_SETTINGS = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["all"],
    "calendarAccessEnabled": True,
    "calendarAccessLevel": "full_access",
}


def prepare_environment() -> Path:
    """
    Read the secrets of an earlier first use, or make them; return the file that holds them.

    Secrets in the environment, and `.env`, stay as they are.
    """
    settings = Settings()
    file = settings.data_dir / ENVIRONMENT
    stored = _read(file)
    variables = {
        "AGW_DATA_DIR": str(settings.data_dir.resolve()),
        "AGW_SECRET_KEYS": _text(settings.secret_keys) or stored.get("AGW_SECRET_KEYS", ""),
        "AGW_ADMIN_TOKEN": _text(settings.admin_token) or stored.get("AGW_ADMIN_TOKEN", ""),
    }
    for name, value in variables.items():
        variables[name] = value or new_secret()
    _write(file, {**stored, **variables})
    os.environ.update(variables)
    return file


async def first_owner(session: AsyncSession, email: str, file: Path) -> tuple[str, int]:
    """
    Return the only operator and resource; make them, and a token, in an empty store.

    The token's text is added to *file* as TOKEN.

    Raises:
        CommandError: There are several.
    """
    if (await session.exec(select(Operator.id).limit(1))).first() is None:
        person = {"email": email, "displayName": email[:200]}
        operator = await operators.create(session, validated(operators.NewOperator, person))
        await session.flush()
        new = {"name": _RESOURCE, "operatorIds": [operator.id]}
        await resources.create(session, validated(resources.NewResource, new))
    operator_id, resource_id = await only_owner(session)
    if (await session.exec(select(AccessToken.id).limit(1))).first() is None:
        new_token = {
            "name": "main",
            "operatorId": operator_id,
            "resourceIds": [resource_id],
            "settings": _SETTINGS,
        }
        token = await tokens.create(session, validated(tokens.NewToken, new_token))
        _write(file, {**_read(file), "TOKEN": token.token})
    return operator_id, resource_id


async def only_owner(
    session: AsyncSession, operator: str = "", resource: int | None = None
) -> tuple[str, int]:
    """
    Return an operator and one of their resources: the named ones, else the only ones.

    Raises:
        CommandError: There is none, or there are several; the message names the choices.
    """
    if operator and resource is not None:
        return operator, resource
    query = (
        select(Operator, Resource)
        .where(col(OperatorResource.operator_id) == Operator.id)
        .where(col(OperatorResource.resource_id) == Resource.id)
        .order_by(col(Resource.id), col(Operator.email))
    )
    linked = (await session.exec(query)).all()
    fitting = [
        (owner.id, shared.id or 0)
        for owner, shared in linked
        if operator in {"", owner.id} and resource in {None, shared.id}
    ]
    if len(fitting) == 1:
        return fitting[0]
    if not linked:
        raise CommandError(
            "There is no operator with a resource: add them, or let --init make them."
        )
    obstacle = "There are several operators or resources" if fitting else "None fits"
    choices = "".join(
        f"\n  --operator {owner.id} --resource {shared.id}  ({owner.email}, {shared.name})"
        for owner, shared in linked[:_MAX_CHOICES]
    )
    raise CommandError(f"{obstacle}: name them by --operator and --resource:{choices}")


def _read(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    assignments = (shlex.split(line.removeprefix("export ")) for line in lines)
    pairs = (words[0].partition("=") for words in assignments if words)
    return {name: value for name, separator, value in pairs if separator}


def _write(file: Path, variables: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    partial = file.with_name(file.name + ".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write("".join(lines))
    partial.replace(file)


def _text(secret: object) -> str:
    reveal = getattr(secret, "get_secret_value", None)
    return str(reveal()) if reveal is not None else ""
