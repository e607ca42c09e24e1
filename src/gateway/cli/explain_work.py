"""What the `explain` command does, on a gateway made in this process."""

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.app import assemble
from gateway.management.explain import Asked, questioned
from gateway.server import sandbox_of
from gateway.settings import Settings
from gateway.tables import AccessToken
from policy.refusals import NotFound
from policy.vocabulary import Code


async def explained(token_id: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """
    Answer as the management API does.

    Raises:
        Refusal: There is no such token, or nothing that can be asked about.
    """
    question = questioned(Asked.model_validate(dict(asked)))
    settings = Settings().ready_to_serve()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    async with assemble(settings, sandbox=sandbox_of(settings)).running() as gateway:
        async with gateway.parts.database.reading() as session:
            token = await session.get(AccessToken, token_id)
        if token is None:
            raise NotFound(f"There is no token {token_id}.", code=Code.TOKEN_NOT_FOUND)
        found = await gateway.app.state.explainer.explain(token, question)
    # Surfaces, which `hiddenFields` is by, are words and yet no plain strings.
    plain: dict[str, Any] = orjson.loads(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS))
    return plain
