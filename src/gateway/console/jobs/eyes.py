"""Job 11: look through a token's eyes."""

import asyncio

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.router import Id, Router
from gateway.explain import eyes
from gateway.http.request_services import AppServices
from gateway.operations import tokens
from policy import presets

router = Router()


@router.get("/tokens/{token_id:int}/eyes")
async def show_sight(request: Request, services: AppServices, token_id: Id) -> Response:
    """Show what a token may do and see."""
    async with services.database.reading() as session:
        token = await tokens.read(session, token_id)
    return pages.page(
        request,
        "eyes.html",
        title=f"Through the eyes of {token.name}",
        token=token,
        sentences=await asyncio.to_thread(presets.sentences, token.settings),
        sight=await eyes.sight(services, token_id),
        minutes=eyes.LIFETIME_MS // 60_000,
    )


@router.post("/tokens/{token_id:int}/eyes")
async def open_eyes(
    request: Request, services: AppServices, token_id: Id, _form: SentForm
) -> Response:
    """Make a short-lived child, and show the way to the explorer with it."""
    child, text = await eyes.open_eyes(services, token_id)
    settings = services.settings
    return pages.page(
        request,
        "open_eyes.html",
        title="Open the explorer",
        child=child,
        text=text,
        explorer=f"{settings.base_url if settings.admin_port else ''}/explorer/",
    )
