"""Routes of a job: they need a session, and their refusals are pages."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from gateway.audit import changes
from gateway.audit.changes import Actor
from gateway.audit.decision import EntryPoint
from gateway.console import pages, sessions
from gateway.http.request_services import AppServices
from gateway.http.request_state import request_state
from gateway.store.database import StorageUnavailable
from policy.refusals import AccessDenied, NotFound, Refusal
from rest_compat.body import ClientGone

Id = Annotated[int, Path(ge=1, le=2**63 - 1)]


class SignInNeeded(Exception):
    """There is no session, or it has ended."""


class PageRoute(APIRoute):
    """A route whose refusals are pages; without a session it leads to the page of sign-in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_refusals(request: Request) -> Response:
            try:
                return await handle(request)
            except SignInNeeded:
                return pages.redirect_to_sign_in(request)
            except (Refusal, StorageUnavailable) as failure:
                return pages.refused(request, failure)
            except RequestValidationError:
                return pages.refused(request, NotFound("There is no such page."))
            except ClientGone:
                return Response(status_code=400)

        return handle_refusals


class Router(APIRouter):
    """
    Routes below /console.

    A form is read by the parameter `forms.SentForm`. A route that does nothing but one transaction
    is `retried`. Approvers get those *for_approvers* alone.
    """

    def __init__(self, *, needs_session: bool = True, for_approvers: bool = False) -> None:
        needed = [Depends(require_session)] if for_approvers else [Depends(require_admin)]
        super().__init__(
            prefix=sessions.PATH,
            route_class=PageRoute,
            include_in_schema=False,
            default_response_class=HTMLResponse,
            dependencies=needed if needs_session else [],
        )

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route; it returns responses alone."""
        super().add_api_route(path, endpoint, **{**options, "response_model": None})


class Job(NamedTuple):
    """
    One job of an operator.

    Attributes:
        path: Of its first page, below /console.
        title: On the first page, and of its page.
        purpose: A sentence for a person who reads nothing else.
        for_approvers: Whether they have it, too; as its router.
    """

    path: str
    title: str
    purpose: str
    router: Router
    for_approvers: bool = False


async def require_session(request: Request, services: AppServices) -> None:
    """
    Let a request pass that has a session, and make its person the actor of what it changes.

    Raises:
        SignInNeeded: There is none; the address is charged as for a wrong credential.
        TooManyRequests: The client address used up its management limit, or that limit.
    """
    secret = request.cookies.get(sessions.COOKIE, "")
    session = await sessions.find(services, secret) if secret else None
    if session is None:
        if secret:
            await services.entry.charge_unauthenticated(request.scope)
        raise SignInNeeded
    request.state.session = session
    state = request_state(request.scope)
    state.authenticated = True
    changes.actor.set(Actor(session.actor, EntryPoint.MANAGEMENT, state.request_id))
    await services.entry.charge_management(request.scope)


async def require_admin(request: Request, services: AppServices) -> None:
    """
    Let a request pass that has the session of an admin.

    Raises:
        SignInNeeded, TooManyRequests: As `require_session`.
        AccessDenied: It is an approver's.
    """
    await require_session(request, services)
    if request.state.session.approver is not None:
        raise AccessDenied("An approver sees held writes and nothing else.")
