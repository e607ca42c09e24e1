"""The access token of a test's caller, as `@pytest.mark.caller` describes it."""

from typing import Any


async def token_of_caller(request: Any, world: Any, made: dict[str, str] | None = None) -> str:
    """
    Return the access token of the test's caller; that of an equal one, if it is in *made*.

    ``@pytest.mark.caller(allowedEmailOperations=["send_email"])``: the marker's keywords are token
    settings over those that open all of email; `resources` and `expiresAt` are the token's own.
    """
    marker = request.node.get_closest_marker("caller")
    settings = dict(marker.kwargs) if marker else {}
    own = {name: settings.pop(name) for name in ("resources", "expiresAt") if name in settings}
    key, made = repr((sorted(settings.items()), own)), {} if made is None else made
    if key not in made:
        made[key] = await world.token(settings, **own)
    return made[key]
