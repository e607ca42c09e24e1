"""Routes below /console: they need a session, and their refusals are pages."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit import changes
from gateway.audit.changes import Actor
from gateway.audit.decision import EntryPoint
from gateway.console import pages, sessions
from gateway.console.forms import SentForm
from gateway.http.request_services import AppServices
from gateway.http.request_state import request_state
from gateway.management import paging
from gateway.management.connections import Service
from gateway.management.paging import Filters, Pager
from gateway.operations import operators, tokens, views
from gateway.store.conflicts import retried
from gateway.store.database import StorageUnavailable
from policy.refusals import AccessDenied, NotFound, Refusal
from rest_compat.body import ClientGone

T = TypeVar("T")
NO_PAGE = "There is no such page."
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
                return pages.refused(request, NotFound(NO_PAGE))
            except ClientGone:
                return Response(status_code=400)

        return handle_refusals


class Visit:
    """The request for a page: what it reads, and the pages that answer it."""

    def __init__(self, request: Request, services: AppServices, connections: Service) -> None:
        self.request, self.services, self.connections = request, services, connections
        self.database = services.database

    def page(self, template: str, title: str = "", **values: Any) -> HTMLResponse:
        """Return a page; without a *title* it has the one of its job."""
        return pages.page(self.request, template, title=title, **values)

    def pager(self, filters: Filters, *, name: str = "", most: int = 50) -> Pager:
        """Return where a list of at most *most* rows begins; without a *name* it has its path."""
        name = f"console {name or self.request.url.path}"
        return Pager(self.services.keyring, name, filters, Response(), most=most)

    def following(self, pager: Pager, rows: Sequence[object], *position: str) -> str:
        """Return the query of the next page of *rows*, by those members; empty: there is none."""
        page = pager.page(rows, lambda row: [getattr(row, name) for name in position])
        token = page["next_page_token"]
        return "" if token is None else self.query(pager, pageToken=token)

    async def write(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """Return what *work* does in a transaction, again after a conflict with another one."""

        @retried
        async def run() -> T:
            async with self.database.writing() as session:
                return await work(session)

        return await run()

    @staticmethod
    def query(pager: Pager, **more: Any) -> str:
        """Return the filters of a list as a query, with *more* of it."""
        return urlencode({name: value for name, value in pager.filters.items() if value} | more)


Visiting = Annotated[Visit, Depends()]


async def _person(visit: Visiting, person_id: str) -> views.Operator:
    async with visit.database.reading() as session:
        return await operators.read(session, person_id)


async def _token(visit: Visiting, token_id: Id) -> views.ManagedAccessToken:
    async with visit.database.reading() as session:
        return await tokens.read(session, token_id)


Person = Annotated[views.Operator, Depends(_person)]
Paged = Annotated[Filters, Depends(paging.query(Filters))]
Token = Annotated[views.ManagedAccessToken, Depends(_token)]
Change = Callable[..., Awaitable[Any]]


class Router(APIRouter):
    """
    Routes below /console.

    A form is read by the parameter `forms.SentForm`. Approvers get those *for_approvers* alone.
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

    def change(self, path: str, *, then: str) -> Callable[[Change], Change]:
        """
        Add a form that makes one change, in a transaction, and leads to the page *then*.

        The function gets the transaction, the form and the ids of the path by their names.
        """

        def add(make: Change) -> Change:
            async def send(visit: Visiting, form: SentForm) -> Response:
                ids = visit.request.path_params
                if any(not 0 < each < 2**63 for each in ids.values() if isinstance(each, int)):
                    raise NotFound(NO_PAGE)
                await visit.write(lambda session: make(session, form, **ids))
                return pages.redirect(then.format(**ids))

            self.add_api_route(path, send, methods=["POST"], name=str(make))
            return make

        return add


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
