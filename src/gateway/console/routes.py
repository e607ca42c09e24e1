"""The frame of the console: signing in and out, and the routes of all jobs."""

from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from gateway.audit import changes
from gateway.audit.changes import Actor
from gateway.audit.decision import EntryPoint
from gateway.console import forms, pages, sessions
from gateway.console.forms import SentForm
from gateway.console.jobs import (
    accounts,
    alive,
    calls,
    change_token,
    new_account,
    people,
    rules,
    tokens,
    writes,
)
from gateway.console.registry import WRITES
from gateway.console.router import NO_PAGE, Router
from gateway.http.request_services import AppServices
from gateway.http.request_state import request_state
from gateway.operations.approvals import approvers
from policy.refusals import NotFound, Unauthenticated

HOME = f"{sessions.PATH}/"
NOT_KNOWN = "This is neither an admin token nor an approver's credential of this deployment."

strangers = Router(needs_session=False)
router = Router(for_approvers=True)
ROUTERS: tuple[Router, ...] = (
    *(alive.router, people.router, accounts.router, new_account.router, tokens.router),
    *(change_token.router, calls.router, writes.router, rules.router),
)


def install(app: FastAPI) -> None:
    """Add the console to *app*."""
    for part in (strangers, router, *ROUTERS, _unknown):
        app.include_router(part)


@strangers.get("")
async def with_slash() -> Response:
    """Lead to the first page."""
    return RedirectResponse(HOME, status_code=307)


@strangers.get("/sign-in")
async def ask(request: Request, to: str = "") -> Response:
    """Ask for an admin token, or the credential of an approver."""
    return _ask(request, to)


@strangers.post("/sign-in")
async def sign_in(request: Request, services: AppServices) -> Response:
    """Begin a session of an admin or an approver; one that the browser had before ends."""
    forms.require_own_page(request, services.settings.base_url)
    form = await forms.read_any(request)
    token = form.text("token").encode("utf-8", "replace")
    async with services.database.reading() as session:
        known = await approvers.by_digest(session)
    try:
        credential = await services.entry.match_secret(
            request.scope, token, [*services.admins, *known]
        )
    except Unauthenticated:
        return _ask(request, form.text("to"), error=NOT_KNOWN, status=403)
    request_id = request_state(request.scope).request_id
    approver = known.get(credential)
    name = services.admins[credential] if approver is None else approver.actor
    changes.actor.set(Actor(name, EntryPoint.MANAGEMENT, request_id))
    replaced = request.cookies.get(sessions.COOKIE, "")
    secret = await sessions.begin(services, approver or name, credential, replaced=replaced)
    target = _own_path(form.text("to"))
    if approver is not None and not target.startswith(f"{sessions.PATH}{WRITES.path}"):
        target = f"{sessions.PATH}{WRITES.path}"
    response = RedirectResponse(target, status_code=303)
    response.set_cookie(
        sessions.COOKIE,
        secret,
        path=sessions.PATH,
        secure=_is_secure(request, services.settings.base_url),
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request, services: AppServices, _form: SentForm) -> Response:
    """End the session."""
    await sessions.end(services, request.cookies[sessions.COOKIE])
    response = RedirectResponse(pages.SIGN_IN, status_code=303)
    response.delete_cookie(sessions.COOKIE, path=sessions.PATH)
    return response


_unknown = Router()


@_unknown.get("/{path:path}")
async def unknown() -> Response:
    """Say that there is no such page."""
    raise NotFound(NO_PAGE)


def _ask(request: Request, to: str, *, error: str = "", status: int = 200) -> Response:
    return pages.page(
        request, "sign_in.html", status=status, title="Sign in", to=_own_path(to), error=error
    )


def _own_path(text: str) -> str:
    """Return *text* if it is the path of a page of the console, else the first page."""
    parts = urlsplit(text)
    is_own = text.startswith(HOME) and not parts.scheme and not parts.netloc and "\\" not in text
    return text if is_own and text.isprintable() and text.isascii() else HOME


def _is_secure(request: Request, base_url: str) -> bool:
    """Return whether the browser reaches the console by https: its form says so, or the URL."""
    return (request.headers.get("origin") or base_url).startswith("https:")
