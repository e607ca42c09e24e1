"""What the `explain` command does, on a gateway made in this process."""

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.cli import in_process
from gateway.cli.documents import checked
from gateway.errors import CommandError
from gateway.management.explain import Asked, questioned
from gateway.store.tables import AccessToken
from policy.refusals import NotFound
from policy.vocabulary import Code

_NOTHING = (
    "What is asked must have either method and path, or a document: "
    "`explain ID GET /api/access/email/messages` or `explain ID --document FILE`."
)


async def explained(token_id: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """
    Answer as the management API does.

    Raises:
        Refusal: There is no such token, or nothing that can be asked about.
        CommandError: Nothing is asked.
    """
    if not asked:
        raise CommandError(_NOTHING)
    question = questioned(checked(Asked, dict(asked)))
    async with in_process.running() as gateway:
        async with gateway.services.database.reading() as session:
            token = await session.get(AccessToken, token_id)
        if token is None:
            raise NotFound(f"There is no token {token_id}.", code=Code.TOKEN_NOT_FOUND)
        found = await gateway.services.explainer.explain(token, question)
    # Surfaces, which `hiddenFields` is by, are words and yet no plain strings.
    plain: dict[str, Any] = orjson.loads(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS))
    return plain
