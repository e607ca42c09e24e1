"""Who may manage: the holder of the deployment's admin token, and no access token. Decisions 3."""

import hashlib
import hmac
from typing import Annotated

from fastapi import Depends, Request

from gateway.auth import token_format
from gateway.auth.authenticator import credential
from gateway.http.entry import Door
from gateway.management import paging
from gateway.services import Parts
from policy.refusals import AccessDenied, Detail, Unauthenticated
from policy.vocabulary import Code, UnauthorizedReason


# Dependencies are `async` though they wait for nothing: FastAPI asks others in a thread each.
async def parts(request: Request) -> Parts:
    """Return the process's parts."""
    found: Parts = request.app.state.parts
    return found


async def _door(request: Request) -> Door:
    found: Door = request.app.state.door
    return found


async def admitted(
    request: Request,
    door: Annotated[Door, Depends(_door)],
    process: Annotated[Parts, Depends(parts)],
) -> None:
    """
    Let the admin in.

    Raises:
        TooManyRequests: The address used up its management bucket.
        Unauthenticated: No credential, or not the admin token.
        AccessDenied: 403 `ADMIN_REQUIRED` for anything that has the form of an access token.
        InvalidInput: A query name that the path does not take.
    """
    await door.open_management(request.scope)
    text = credential(request.scope["headers"], str.encode)
    if hmac.compare_digest(hashlib.sha256(text).digest(), process.admin_digest):
        _check_query(request)
        return
    if token_format.digest(text.decode("utf-8", "replace")) is not None:
        raise AccessDenied(
            "An access token cannot manage anything; this needs the admin token.",
            code=Code.ADMIN_REQUIRED,
        )
    raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)


def _check_query(request: Request) -> None:
    """Refuse names that the route does not take: on this API nothing is silently dropped."""
    known = paging.known_names(getattr(request.scope.get("route"), "openapi_extra", None))
    details = [
        Detail(name, "is not known here") for name in request.query_params if name not in known
    ]
    if details:
        raise paging.refused(details)


Process = Annotated[Parts, Depends(parts)]
