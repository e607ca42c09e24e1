"""Pages of the console from templates; refusals are pages too."""

from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from gateway.console import sessions
from gateway.console.sessions import Session
from gateway.errors import Overloaded
from gateway.http.request_state import request_state
from gateway.look import pages
from gateway.store import timestamps
from graph import errors
from policy.refusals import Refusal
from providers.catalogue.tables import PRODUCTS

TEMPLATES = Path(__file__).parent / "templates"
SIGN_IN = f"{sessions.PATH}/sign-in"


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page; beside *values* its template sees the session, the jobs, and `when`."""
    session = getattr(request.state, "session", None)
    jobs = request.app.state.console_jobs if session else ()
    if session and session.approver:
        jobs = [job for job in jobs if job.for_approvers]
    return pages.page(
        TEMPLATES,
        template,
        status=status,
        session=session,
        console=sessions.PATH,
        jobs=jobs,
        home=f"{sessions.PATH}{jobs[0].path if jobs else '/'}",
        when=_when,
        product=_product,
        form_token=lambda: _hidden(session),
        **values,
    )


def refused(request: Request, failure: Exception) -> HTMLResponse:
    """Return the page of a refusal; nothing was changed."""
    refusal = failure if isinstance(failure, Refusal) else Overloaded()
    request_id = request_state(request.scope).request_id
    error = errors.described(refusal, surface=None, request_id=request_id)
    status = error["extensions"]["httpStatus"]
    response = page(
        request,
        "refused.html",
        status=status,
        title=HTTPStatus(status).phrase,
        message=error["message"],
        details=refusal.details,
        request_id=request_id,
    )
    retry_after = getattr(refusal, "retry_after", None)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def redirect(path: str, **query: str) -> RedirectResponse:
    """Return the redirect after a form to *path* below /console, which a reload repeats."""
    target = f"{sessions.PATH}{path}"
    return RedirectResponse(f"{target}?{urlencode(query)}" if query else target, status_code=303)


def redirect_to_sign_in(request: Request) -> RedirectResponse:
    """Return the redirect to the page of sign-in, which leads back to a page that was asked for."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    query = f"?{urlencode({'to': asked})}" if request.method == "GET" else ""
    response = RedirectResponse(f"{SIGN_IN}{query}", status_code=303)
    if sessions.COOKIE in request.cookies:
        response.delete_cookie(sessions.COOKIE, path=sessions.PATH)
    return response


def _product(kind: str, provider: str) -> str:
    """Return the product of an account, as operators know it."""
    return PRODUCTS.get(kind, {}).get(provider, provider)


def _hidden(session: Session | None) -> Markup:
    """Return the hidden member that every form of a session has."""
    token = "" if session is None else session.form_token
    return Markup('<input type="hidden" name="form_token" value="{}">').format(token)


def _when(moment: int | None) -> str:
    """Return a time in milliseconds as people read it, in UTC; empty for None."""
    text = timestamps.optional_text(moment)
    return "" if text is None else f"{text[:10]} {text[11:16]} UTC"
