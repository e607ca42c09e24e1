"""The settings that matter for this deployment; of the others, those that are set."""

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.router import Job, Router
from gateway.http.request_services import AppServices
from gateway.operations.overviews.deployment import further_settings, settings_that_matter

router = Router()
JOB = Job("/settings", "Settings", "The few that matter for this deployment.", router)


@router.get(JOB.path)
async def show_settings(request: Request, services: AppServices) -> Response:
    """Show the settings that matter here, without secrets."""
    changed, hidden = further_settings(services.settings)
    return pages.page(
        request,
        "settings.html",
        title=JOB.title,
        settings=settings_that_matter(services.settings),
        changed=changed,
        hidden=hidden,
    )
