"""Pages of the console from templates; refusals are pages too."""

import json
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from gateway.console import sessions
from gateway.console.registry import JOBS, WRITES
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


def page(
    request: Request, template: str, *, title: str = "", status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page; without a *title* it has the one of its job."""
    session = getattr(request.state, "session", None)
    path = request.url.path.removeprefix(sessions.PATH)
    jobs = [WRITES] if session and session.approver else [*JOBS]
    return pages.page(
        TEMPLATES,
        "layout.html",
        content=template,
        status=status,
        title=title or next(job.title for job in jobs if job.path == path),
        session=session,
        console=sessions.PATH,
        jobs=jobs,
        home=f"{sessions.PATH}{jobs[0].path}",
        when=_when,
        second=partial(_when, length=19),
        as_json=as_json,
        product=lambda kind, provider: PRODUCTS.get(kind, {}).get(provider, provider),
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


def redirect(path: str) -> RedirectResponse:
    """Return the redirect after a form to *path* below /console, which a reload repeats."""
    return RedirectResponse(f"{sessions.PATH}{path}", status_code=303)


def redirect_to_sign_in(request: Request) -> RedirectResponse:
    """Return the redirect to the page of sign-in, which leads back to a page that was asked for."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    query = f"?{urlencode({'to': asked})}" if request.method == "GET" else ""
    response = RedirectResponse(f"{SIGN_IN}{query}", status_code=303)
    if sessions.COOKIE in request.cookies:
        response.delete_cookie(sessions.COOKIE, path=sessions.PATH)
    return response


def as_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON; empty for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=indent)


def _hidden(session: Session | None) -> Markup:
    """Return the hidden member that every form of a session has."""
    token = "" if session is None else session.form_token
    return Markup('<input type="hidden" name="form_token" value="{}">').format(token)


def _when(moment: int | None, *, length: int = 16) -> str:
    """Return a time in milliseconds as people read it, in UTC; empty for None."""
    text = timestamps.optional_text(moment)
    return "" if text is None else f"{text[:length].replace('T', ' ')}{' UTC' * (length < 19)}"
