"""Job 9: release or reject what is held. Approvers have it, too, and no other."""

import json
import re
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Request, Response

from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.router import Job, Router
from gateway.http.request_services import AppServices
from gateway.operations import operators
from gateway.operations.approvals import approvers, decisions
from gateway.operations.approvals.approvers import Decider
from gateway.operations.approvals.decisions import Rejection
from gateway.operations.approvals.views import ShownHeldWrite
from gateway.operations.validation import invalid, validated
from gateway.store.conflicts import retried
from policy.refusals import AccessDenied, InvalidInput, Refusal
from policy.vocabulary import HeldState

if TYPE_CHECKING:
    from gateway.console.sessions import Session
    from gateway.services import Services

SHOWN = 20  # writes of a page, and of a decision
STATES = (*HeldState, "all")
ACCESS_TOKEN = (
    "Your admin token is at the same time an access token, and access tokens release nothing."  # noqa: S105 - a sentence
)
_POSITION = re.compile(r"([0-9]{1,18})\.([A-Za-z0-9_-]{1,22})")

router = Router(for_approvers=True)
JOB = Job(
    "/writes",
    "Release or reject what is held",
    "Writes that wait for a person, each with what it would do.",
    router,
    for_approvers=True,
)


async def _decider(request: Request, services: AppServices) -> Decider:
    """
    Return what the person of the session may decide about.

    Raises:
        AccessDenied: The session was begun with an access token.
    """
    person: Session = request.state.session
    async with services.database.reading() as session:
        if await approvers.is_access_token(session, person.credential):
            raise AccessDenied(ACCESS_TOKEN)
    return approvers.ADMIN if person.approver is None else person.approver.decider


Deciding = Annotated[Decider, Depends(_decider)]


@router.get(JOB.path)
async def list_writes(
    request: Request,
    services: AppServices,
    decider: Deciding,
    state: str = "held",
    before: str = "",
) -> Response:
    """Show the newest writes that wait, or those in another state, each with what it would do."""
    return await _list(request, services, decider, state=state, before=before)


@router.get("/writes/{write_id}")
async def show_write(
    request: Request, services: AppServices, decider: Deciding, write_id: str
) -> Response:
    """Show one write, with the buttons while it waits."""
    async with services.database.reading() as session:
        write = await decisions.show(session, services.keyring, decider, write_id)
    return await _page(request, services, "write.html", [write], title=write.sentences[0])


@router.post(JOB.path)
async def decide(
    request: Request, services: AppServices, decider: Deciding, form: SentForm
) -> Response:
    """
    Release the chosen writes, or reject them, by the button that was pressed.

    Of several, each is decided by itself, and what was refused is shown with its reason.
    """
    chosen, decision = list(dict.fromkeys(form.texts("id"))), form.text("decision")
    reason = validated(Rejection, {"reason": form.text("reason") or None}).reason
    if not 1 <= len(chosen) <= SHOWN:
        raise InvalidInput(f"Choose 1 to {SHOWN} writes. Nothing was decided.")
    if decision not in {"release", "reject"}:
        raise invalid("decision", "must be release or reject")
    refused: list[tuple[str, str]] = []
    for write_id in chosen:
        try:
            await _decide(services, decider, write_id, reason, releases=decision == "release")
        except Refusal as refusal:
            if len(chosen) == 1:
                raise
            refused.append((write_id, refusal.message))
    if not refused:
        return pages.redirect(f"/writes/{chosen[0]}" if len(chosen) == 1 else JOB.path)
    decided = len(chosen) - len(refused)
    return await _list(request, services, decider, refused=refused, decided=decided)


@retried
async def _decide(
    services: "Services", decider: Decider, write_id: str, reason: str | None, *, releases: bool
) -> None:
    async with services.database.writing() as session:
        await decisions.decide(
            session, services.keyring, decider, write_id, releases=releases, reason=reason
        )
    if releases:
        services.releases.wake()
    else:
        services.held_writes.waiting.ended([write_id])


async def _list(
    request: Request,
    services: "Services",
    decider: Decider,
    *,
    state: str = "held",
    before: str = "",
    **values: Any,
) -> Response:
    if state not in STATES:
        raise invalid("state", f"must be one of: {', '.join(STATES)}")
    async with services.database.reading() as session:
        writes = await decisions.show_newest(
            session,
            services.keyring,
            decider,
            state=None if state == "all" else state,
            limit=SHOWN + 1,
            before=_position(before),
        )
    older = ""
    if len(writes) > SHOWN:
        last = writes[SHOWN - 1]
        older = urlencode({"state": state, "before": f"{last.created_at}.{last.id}"})
    values |= {"title": JOB.title, "state": state, "states": STATES, "older": older}
    return await _page(request, services, "writes.html", writes[:SHOWN], **values)


async def _page(
    request: Request,
    services: "Services",
    template: str,
    writes: list[ShownHeldWrite],
    **values: Any,
) -> Response:
    async with services.database.reading() as session:
        people = await operators.list_by_id(session, {write.operator_id for write in writes})
    return pages.page(
        request,
        template,
        writes=writes,
        people={person.id: person.display_name for person in people},
        arguments=lambda write: json.dumps(write.arguments, ensure_ascii=False, indent=2),
        **values,
    )


def _position(text: str) -> tuple[int, str] | None:
    """
    Return the place that a link names; None for an empty text.

    Raises:
        InvalidInput: It is not one.
    """
    match = _POSITION.fullmatch(text)
    if text and match is None:
        raise invalid("before", "must be that of a link")
    return (int(match[1]), match[2]) if match else None
