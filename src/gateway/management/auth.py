"""Admin authentication: management calls need an admin token, whose name the audit log has."""

from fastapi import Request

from gateway.audit import changes
from gateway.audit.changes import Actor
from gateway.audit.decision import EntryPoint
from gateway.auth import token_format
from gateway.auth.authenticator import read_bearer
from gateway.http.request_services import AppServices
from gateway.http.request_state import request_state
from gateway.management import paging
from gateway.operations.approvals import approvers
from gateway.operations.validation import invalid_query
from policy.refusals import AccessDenied, Detail, Unauthenticated
from policy.vocabulary import Code, UnauthorizedReason, not_known


async def require_admin(request: Request, services: AppServices) -> None:
    """
    Let a call pass if it carries an admin token, and make its name the actor of what it changes.

    Raises:
        TooManyRequests: The client address used up its management limit, or its limit of
            requests without the token.
        Unauthenticated: There is no credential, or it is not an admin token.
        AccessDenied: 403 `ADMIN_REQUIRED`: the credential has the form of an access token.
        InvalidInput: The path does not take a query parameter.
    """
    try:
        digest = await services.entry.check_secret(request.scope, [*services.admins])
    except Unauthenticated as refusal:
        if refusal.reason == UnauthorizedReason.UNKNOWN_TOKEN and _is_access_token(request):
            raise _no_access_token() from None
        raise
    name, request_id = services.admins[digest], request_state(request.scope).request_id
    changes.actor.set(Actor(name, EntryPoint.MANAGEMENT, request_id))
    await services.entry.charge_management(request.scope)
    _check_query(request)


async def require_decider(request: Request, services: AppServices) -> None:
    """
    Let a call pass if it carries an admin token or the credential of an approver.

    An access token never decides about writes, not even one whose text is also an admin token.

    Raises:
        TooManyRequests: As `require_admin`.
        Unauthenticated: There is no credential, or it is another.
        AccessDenied: 403 `ADMIN_REQUIRED`: the credential is an access token.
        InvalidInput: The path does not take a query parameter.
    """
    async with services.database.reading() as session:
        known = await approvers.by_digest(session)
    try:
        digest = await services.entry.check_secret(request.scope, [*services.admins, *known])
    except Unauthenticated as refusal:
        if refusal.reason == UnauthorizedReason.UNKNOWN_TOKEN and _is_access_token(request):
            raise _no_access_token() from None
        raise
    async with services.database.reading() as session:
        if await approvers.is_access_token(session, digest):
            raise _no_access_token()
    approver = known.get(digest)
    name = services.admins[digest] if approver is None else approver.actor
    request_id = request_state(request.scope).request_id
    changes.actor.set(Actor(name, EntryPoint.MANAGEMENT, request_id))
    request.state.decider = approvers.ADMIN if approver is None else approver.decider
    await services.entry.charge_management(request.scope)
    _check_query(request)


def _no_access_token() -> AccessDenied:
    message = "Access tokens cannot use the management API; it needs an admin token."
    return AccessDenied(message, code=Code.ADMIN_REQUIRED)


def _is_access_token(request: Request) -> bool:
    """Return whether the credential has the form of an access token."""
    text = read_bearer(request.scope["headers"], str.encode)
    return token_format.digest(text.decode("utf-8", "replace")) is not None


def _check_query(request: Request) -> None:
    """Refuse parameters that the route does not take; nothing is ignored silently."""
    known = paging.known_names(getattr(request.scope.get("route"), "openapi_extra", None))
    unknown = [name for name in request.query_params if name not in known]
    details = [Detail(name, not_known(sorted(known), name=name)) for name in unknown]
    if details:
        raise invalid_query(details)
