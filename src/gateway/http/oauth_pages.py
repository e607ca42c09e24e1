"""The pages of an OAuth consent: the reconnect link and the callback. They run no scripts."""

import base64
import hashlib
from html import escape

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from gateway.connections import reconnect_links
from gateway.connections.oauth_flow import ConsentFailed
from gateway.connections.oauth_servers import CALLBACK
from gateway.http.request_services import AppServices
from policy.refusals import InvalidInput, NotFound

router = APIRouter(include_in_schema=False)

_STYLE = "body{font:16px/1.5 sans-serif;max-width:32em;margin:4em auto;padding:0 1em}"
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


async def _charge(request: Request, services: AppServices) -> None:
    """Charge the client address like a wrong credential: the pages write to the database."""
    await services.entry.charge_unauthenticated(request.scope)


@router.get(f"{reconnect_links.PATH}/{{link}}", dependencies=[Depends(_charge)])
async def reconnect(link: str, services: AppServices) -> Response:
    """Redirect the holder of a signed link to the provider's consent page."""
    try:
        connection_id = services.links.verify(link)
        started = await services.oauth.start(
            connection_id, redirect_uri=callback_url(services.settings.base_url)
        )
    except (reconnect_links.InvalidLink, NotFound, InvalidInput):
        return page("This link is no longer valid", "Please ask for a new one.", status=410)
    return RedirectResponse(started.authorize_url, status_code=302)


@router.get(CALLBACK, dependencies=[Depends(_charge)])
async def callback(request: Request, services: AppServices) -> Response:
    """Finish the consent with the parameters of the provider's redirect."""
    try:
        row = await services.oauth.finish(dict(request.query_params))
    except ConsentFailed as failure:
        return page("The account is not connected", failure.message, status=failure.status)
    return page("The account is connected", f"{row.account_email} can be used again.")


def callback_url(base_url: str) -> str:
    """Return the redirect URI that must be registered with the provider."""
    return f"{base_url}{CALLBACK}"


def page(title: str, text: str, *, status: int = 200) -> HTMLResponse:
    """Return a page with a heading and a sentence; both are escaped."""
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p>"
        "<p>You can close this page.</p></body></html>"
    )
    return HTMLResponse(body, status_code=status, headers={"content-security-policy": POLICY})
