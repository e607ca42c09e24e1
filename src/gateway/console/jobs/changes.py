"""Job 12: who changed what, and its export."""

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from gateway.console import pages
from gateway.console.jobs.calls import flush, position, second
from gateway.console.router import Job, Router
from gateway.http.request_services import AppServices
from gateway.operations import decisions
from gateway.operations.decisions import DecisionQuery
from gateway.operations.overviews import changes
from gateway.operations.validation import invalid

SHOWN = 50
FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}

router = Router()
JOB = Job("/changes", "Who changed what?", "Changes by administrators, and their export.", router)


@router.get(JOB.path)
async def list_changes(  # noqa: PLR0913, PLR0917 - each is a member of the form
    request: Request,
    services: AppServices,
    actor: str = "",
    action: str = "",
    token: str = "",
    before: str = "",
) -> Response:
    """List changes, newest first."""
    wanted = _query(action, token)
    await flush(services)
    names = await changes.actors(services.database)
    listed = await changes.newest(
        services.database,
        [actor] if actor else names,
        wanted,
        limit=SHOWN + 1,
        before=position(before),
    )
    chosen = {"actor": actor, "action": action.strip(), "token": token.strip()}
    return pages.page(
        request,
        "changes.html",
        title=JOB.title,
        changes=listed,
        shown=SHOWN,
        chosen=chosen,
        actors=names,
        most=changes.MOST_EXPORTED,
        second=second,
        query={name: value for name, value in chosen.items() if value},
    )


@router.get("/changes/export")
async def export_changes(
    services: AppServices,
    format: str = "csv",  # noqa: A002 - a name of the form
    actor: str = "",
    action: str = "",
    token: str = "",
) -> Response:
    """Send the changes as a file, in parts."""
    if format not in FORMATS:
        raise invalid("format", f"must be one of: {', '.join(FORMATS)}")
    wanted = _query(action, token)
    await flush(services)
    names = [actor] if actor else await changes.actors(services.database)
    rows = changes.every(services.database, names, wanted)
    return StreamingResponse(
        changes.as_csv(rows) if format == "csv" else changes.as_json(rows),
        media_type=FORMATS[format],
        headers={"Content-Disposition": f'attachment; filename="changes.{format}"'},
    )


def _query(action: str, token: str) -> DecisionQuery:
    return decisions.query({"operation": action.strip() or None, "tokenId": token.strip() or None})
