"""What the `schema` and `openapi` commands do."""

from typing import Any

import orjson
from graphql import GraphQLError, build_schema, find_breaking_changes, find_dangerous_changes
from pydantic import SecretStr

from gateway.app import assemble
from gateway.errors import CommandError
from gateway.http import openapi
from gateway.settings import Settings
from graph import schema

_ANY = SecretStr("nobody is admitted by this")


def compared(published: str) -> dict[str, list[dict[str, str]]]:
    """
    Compare the schema with a *published* one.

    Returns:
        What is `breaking` for clients of the published one, and what is only `dangerous`.

    Raises:
        CommandError: It is no SDL.
    """
    try:
        before = build_schema(published, assume_valid_sdl=True)
    except (GraphQLError, TypeError) as problem:
        raise CommandError(f"The file is no schema: {str(problem).splitlines()[0]}") from None
    now = build_schema(schema.sdl(), assume_valid_sdl=True)
    return {
        "breaking": _told(find_breaking_changes(before, now)),
        "dangerous": _told(find_dangerous_changes(before, now)),
    }


async def described() -> Any:
    """Return the OpenAPI document that `/openapi.json` serves."""
    # Assembling touches nothing; what it needs to be there has no part in the document.
    settings = Settings(_env_file=None, admin_token=_ANY, secret_keys=_ANY)  # type: ignore[call-arg]  # pydantic-settings' own
    return orjson.loads(openapi.document(assemble(settings).app))


def _told(found: list[Any]) -> list[dict[str, str]]:
    return sorted(
        ({"change": one.type.name, "description": one.description} for one in found),
        key=lambda one: (one["change"], one["description"]),
    )
