"""Job 8: follow the calls of tokens, newest first."""

import contextlib
import re
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlencode

from fastapi import Request, Response

from gateway.audit.decision import EntryPoint, Outcome
from gateway.console import pages, sessions
from gateway.console.router import Job, Router
from gateway.http.request_services import AppServices
from gateway.operations import decisions
from gateway.operations.overviews import calls
from gateway.operations.validation import invalid
from gateway.store import timestamps
from gateway.store.database import StorageUnavailable

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 50
REFRESH_SECONDS = 5
# Following keeps the session alive, so it ends by itself: after ten minutes.
MOST_REFRESHES = 120
DOORS = (EntryPoint.REST, EntryPoint.GRAPHQL, EntryPoint.AGENT, EntryPoint.INTERNAL)
_POSITION = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")

router = Router()
JOB = Job("/calls", "Follow calls", "As they come, by token, verdict and interface.", router)


@router.get(JOB.path)
async def list_calls(  # noqa: PLR0913, PLR0917 - each is a member of the form
    request: Request,
    services: AppServices,
    token: str = "",
    verdict: str = "",
    door: str = "",
    kind: str = "",
    before: str = "",
    follow: str = "",
) -> Response:
    """List calls; with *follow* the browser asks again so many times."""
    chosen = {"token": token.strip(), "verdict": verdict, "door": door, "kind": kind}
    wanted = decisions.query({"tokenId": chosen["token"] or None, "outcome": verdict or None})
    if door and door not in DOORS:
        raise invalid("door", f"must be one of: {', '.join(DOORS)}")
    if kind and kind not in get_args(calls.Kind):
        raise invalid("kind", "must be read or write")
    await flush(services)
    listed = await calls.newest(
        services.database,
        wanted,
        door=EntryPoint(door) if door else None,
        kind="write" if kind == "write" else "read" if kind else None,
        limit=SHOWN,
        before=position(before),
    )
    left = min(int(follow), MOST_REFRESHES) if re.fullmatch("[0-9]{1,4}", follow) else 0
    query = {name: value for name, value in chosen.items() if value}
    response = pages.page(
        request,
        "calls.html",
        title=JOB.title,
        page=listed,
        chosen=chosen,
        verdicts=[*Outcome],
        doors=DOORS,
        is_write=calls.is_write,
        second=second,
        here=urlencode(query),
        older=listed.next and urlencode({**query, "before": "{}.{}".format(*listed.next)}),
        follow=urlencode({**query, "follow": MOST_REFRESHES}),
        seconds=REFRESH_SECONDS if left and not before else 0,
    )
    if left and not before:
        again = urlencode({**query, "follow": left - 1})
        response.headers["Refresh"] = f"{REFRESH_SECONDS};url={sessions.PATH}{JOB.path}?{again}"
    return response


async def flush(services: "Services") -> None:
    """Store the decisions that wait in memory; what is stored already is shown all the same."""
    with contextlib.suppress(StorageUnavailable):
        await services.decisions.flush()


def position(text: str) -> calls.Position | None:
    """
    Return the position that a link names; None for an empty text.

    Raises:
        InvalidInput: It is not one.
    """
    match = _POSITION.fullmatch(text)
    if text and match is None:
        raise invalid("before", "must be that of a link")
    return (int(match[1]), int(match[2])) if match else None


def second(moment: int) -> str:
    """Return a time in milliseconds as people read it, to the second and in UTC."""
    return timestamps.to_text(moment)[:19].replace("T", " ")
