"""
The pages of an OAuth consent: reconnect links and the callback. They run no scripts.

The page of a one-time link is a form: programs that open the links in mail use none up by that.
"""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from gateway.audit import changes
from gateway.audit.changes import Actor
from gateway.audit.decision import EntryPoint
from gateway.connections import one_time_links, reconnect_links
from gateway.connections.oauth_flow import ConsentFailed
from gateway.connections.oauth_servers import CALLBACK
from gateway.connections.one_time_links import LinkEnded, PasswordRefused
from gateway.http.request_services import AppServices
from gateway.http.request_state import request_state
from gateway.look import pages as look
from gateway.store.tables import ConnectionRow
from policy.refusals import InvalidInput, NotFound
from providers.catalogue.tables import OWN_SERVERS, PRODUCTS
from rest_compat.body import read_body

router = APIRouter(include_in_schema=False)

_TEMPLATES = Path(__file__).parent / "templates"
_MAX_FORM = 8192  # bytes
_MAX_PASSWORD = 1000  # characters


async def _charge(request: Request, services: AppServices) -> None:
    """
    Charge the client address like a wrong credential: the pages write to the database.

    What the request changes is the change of a link's holder, whose name nobody knows.
    """
    await services.entry.charge_unauthenticated(request.scope)
    request_id = request_state(request.scope).request_id
    changes.actor.set(Actor("reconnect link", EntryPoint.SIGN_IN, request_id))


async def _read_password(request: Request) -> str:
    """Return the password in the body, a form; "" without one, or with one that is too long."""
    declared = request.headers.get("content-length")
    body = await read_body(request.receive, declared=declared, limit=_MAX_FORM)
    fields = parse_qs(body.decode("latin-1"), max_num_fields=10)
    password = fields.get("password", [""])[0]
    return password if len(password) <= _MAX_PASSWORD else ""


@router.get(f"{reconnect_links.PATH}/{{link}}", dependencies=[Depends(_charge)])
async def reconnect(link: str, services: AppServices) -> Response:
    """Redirect the holder of a signed link to the provider's consent page."""
    try:
        connection_id = services.links.verify(link)
        started = await services.oauth.start(
            connection_id, redirect_uri=callback_url(services.settings.base_url)
        )
    except (reconnect_links.InvalidLink, NotFound, InvalidInput):
        return _ended()
    return RedirectResponse(started.authorize_url, status_code=302)


@router.get(f"{one_time_links.PATH}/{{link}}", dependencies=[Depends(_charge)])
async def show_link(link: str, services: AppServices) -> Response:
    """Show the page of a one-time link."""
    try:
        return _link_page(await services.one_time_links.connection_of(link), services)
    except LinkEnded:
        return _ended()


@router.post(f"{one_time_links.PATH}/{{link}}", dependencies=[Depends(_charge)])
async def follow_link(
    link: str, services: AppServices, password: Annotated[str, Depends(_read_password)]
) -> Response:
    """Redirect to the consent page of a link's provider, or store the new password."""
    links = services.one_time_links
    try:
        row = await links.connection_of(link)
        if row.provider not in OWN_SERVERS:
            redirect_uri = callback_url(services.settings.base_url)
            started = await links.start_consent(link, redirect_uri=redirect_uri)
            return RedirectResponse(started.authorize_url, status_code=303)
        if not password:
            return _link_page(row, services, error="Enter the password.", status=400)
        try:
            row = await links.accept_password(link, password)
        except PasswordRefused as refused:
            return _link_page(row, services, error=refused.message, status=400)
    except LinkEnded:
        return _ended()
    return _connected(row)


def _link_page(
    row: ConnectionRow, services: AppServices, *, error: str = "", status: int = 200
) -> Response:
    server = None
    if row.provider not in OWN_SERVERS:
        server = services.endpoints.authorization_server(row.provider)
        if server is None:
            return _ended()
    # Browsers hold the redirect that follows a form to its policy, too.
    destination = "" if server is None else _origin(server.url)
    return _page(
        status,
        f"'self' {destination}".strip(),
        title="Reconnect an account",
        product=PRODUCTS[row.kind][row.provider],
        account=masked(row.account_email),
        error=error,
        asks_for_password=server is None,
        has_form=True,
    )


def masked(address: str) -> str:
    """Return an address of which its owner knows which one it is, and others do not learn it."""
    name, at, domain = address.rpartition("@")
    return f"{name[:1]}…{at}{domain}" if at else "…"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _ended() -> Response:
    return page("This link is no longer valid", "Please ask for a new one.", status=410)


def _connected(row: ConnectionRow) -> Response:
    return page("The account is connected", f"{row.account_email} can be used again.")


@router.get(CALLBACK, dependencies=[Depends(_charge)])
async def callback(request: Request, services: AppServices) -> Response:
    """Finish the consent with the parameters of the provider's redirect."""
    try:
        row = await services.oauth.finish(dict(request.query_params))
    except ConsentFailed as failure:
        return page("The account is not connected", failure.message, status=failure.status)
    return _connected(row)


def callback_url(base_url: str) -> str:
    """Return the redirect URI that must be registered with the provider."""
    return f"{base_url}{CALLBACK}"


def page(title: str, text: str, *, status: int = 200) -> HTMLResponse:
    """Return a page with a heading and a sentence; both are escaped."""
    return _page(status, "'none'", title=title, text=text)


def _page(status: int, form_action: str, **values: Any) -> HTMLResponse:
    shown = look.page(
        _TEMPLATES, "oauth_page.html", status=status, form_action=form_action, **values
    )
    shown.headers["referrer-policy"] = "no-referrer"  # its address is a secret
    return shown
