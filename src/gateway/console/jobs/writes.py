"""Job 9: release or reject what is held. Approvers have it, too, and no other."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Depends, Request, Response

from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.registry import WRITES
from gateway.console.router import Router, Visit, Visiting
from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.paging import Filters
from gateway.operations import operators
from gateway.operations.approvals import approvers, decisions
from gateway.operations.approvals.approvers import Decider
from gateway.operations.approvals.decisions import Rejection
from gateway.operations.approvals.views import ShownHeldWrite
from gateway.operations.validation import invalid, validated
from policy.refusals import AccessDenied, InvalidInput, Refusal
from policy.vocabulary import HeldState

if TYPE_CHECKING:
    from gateway.console.sessions import Session

SHOWN = 20  # writes of a page, and of a decision
ACCESS_TOKEN = (
    "Your admin token is at the same time an access token, and access tokens release nothing."  # noqa: S105 - a sentence
)

router = Router(for_approvers=True)


class WriteFilters(Filters):
    """*state*: of the writes; `all`: in any."""

    state: HeldState | Literal["all"] = HeldState.HELD


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


@router.get("/writes")
async def list_writes(
    visit: Visiting,
    decider: Deciding,
    filters: Annotated[WriteFilters, Depends(paging.query(WriteFilters))],
) -> Response:
    """Show the newest writes that wait, or those in another state, each with what it would do."""
    return await _list(visit, decider, filters)


@router.get("/writes/{write_id}")
async def show_write(visit: Visiting, decider: Deciding, write_id: str) -> Response:
    """Show one write, with the buttons while it waits."""
    async with visit.database.reading() as session:
        write = await decisions.show(session, visit.services.keyring, decider, write_id)
    return await _page(visit, "write.html", [write], title=write.sentences[0])


@router.post("/writes")
async def decide(visit: Visiting, decider: Deciding, form: SentForm) -> Response:
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
            await _decide(visit, decider, write_id, reason, releases=decision == "release")
        except Refusal as refusal:
            if len(chosen) == 1:
                raise
            refused.append((write_id, refusal.message))
    if not refused:
        return pages.redirect(f"/writes/{chosen[0]}" if len(chosen) == 1 else WRITES.path)
    decided = len(chosen) - len(refused)
    return await _list(visit, decider, WriteFilters(), refused=refused, decided=decided)


async def _decide(
    visit: Visit, decider: Decider, write_id: str, reason: str | None, *, releases: bool
) -> None:
    services = visit.services
    decide = partial(decisions.decide, keyring=services.keyring, releases=releases, reason=reason)
    await visit.write(lambda session: decide(session, decider=decider, write_id=write_id))
    if releases:
        services.releases.wake()
    else:
        services.held_writes.waiting.ended([write_id])


async def _list(visit: Visit, decider: Decider, filters: WriteFilters, **values: Any) -> Response:
    pager = visit.pager(filters, most=SHOWN)
    async with visit.database.reading() as session:
        writes = await decisions.show_newest(
            session,
            visit.services.keyring,
            decider,
            state=None if filters.state == "all" else filters.state,
            limit=pager.fetch,
            before=None if pager.after is None else (int(pager.after[0]), str(pager.after[1])),
        )
    values |= {"state": filters.state, "states": (*HeldState, "all")}
    values["following"] = visit.following(pager, writes, "created_at", "id")
    return await _page(visit, "writes.html", writes[: pager.limit], **values)


async def _page(
    visit: Visit, template: str, writes: list[ShownHeldWrite], *, title: str = "", **values: Any
) -> Response:
    async with visit.database.reading() as session:
        people = await operators.list_by_id(session, {write.operator_id for write in writes})
    names = {person.id: person.display_name for person in people}
    return visit.page(template, title, writes=writes, people=names, **values)
