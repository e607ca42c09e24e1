"""Who may manage: the holder of the deployment's admin token, and no access token. Decisions 3."""

import hashlib
import hmac

from fastapi import Request

from gateway.auth import token_format
from gateway.auth.authenticator import read_bearer
from gateway.management import paging
from gateway.services import AppServices
from policy.refusals import AccessDenied, Detail, Unauthenticated
from policy.vocabulary import Code, UnauthorizedReason


async def admitted(request: Request, services: AppServices) -> None:
    """
    Let the admin in.

    Raises:
        TooManyRequests: The address used up its management bucket.
        Unauthenticated: No credential, or not the admin token.
        AccessDenied: 403 `ADMIN_REQUIRED` for anything that has the form of an access token.
        InvalidInput: A query name that the path does not take.
    """
    await services.entry.charge_management(request.scope)
    text = read_bearer(request.scope["headers"], str.encode)
    if hmac.compare_digest(hashlib.sha256(text).digest(), services.admin_digest):
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


Process = AppServices
