"""`/api/held-writes`, for admin tokens and approvers; the rest for admin tokens alone."""

from typing import Annotated

from fastapi import Depends, Request, Response

from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router, RowId
from gateway.operations.approvals import approvers, decisions, notices, views
from gateway.operations.approvals.approvers import Decider, NewApprover
from gateway.operations.approvals.decisions import Rejection
from gateway.operations.approvals.notices import NewNotice
from policy.vocabulary import HeldState

router = Router(prefix="/api", tags=["Held writes"])
approver_router = Router(prefix="/api", tags=["Held writes"])


class HeldWriteFilters(Filters):
    """Filters of the list; without a state all that wait or ended in the last day."""

    state: HeldState | None = None


def _decider(request: Request) -> Decider:
    decider: Decider = request.state.decider
    return decider


Deciding = Annotated[Decider, Depends(_decider)]


@router.get("/held-writes", openapi_extra=paging.described(HeldWriteFilters))
async def list_held_writes(
    services: AppServices,
    decider: Deciding,
    query: Annotated[HeldWriteFilters, Depends(paging.query(HeldWriteFilters))],
    response: Response,
) -> views.HeldWritePage:
    """List held writes, newest first; an approver sees those that it may decide."""
    pager = Pager(services.keyring, "held writes", query, response)
    before = None if pager.after is None else (int(pager.after[0]), str(pager.after[1]))
    async with services.database.reading() as session:
        listed = await decisions.list_newest(
            session, decider, state=query.state, limit=pager.fetch, before=before
        )
    page = pager.page(listed, lambda row: (row.created_at, row.id))
    return views.HeldWritePage(writes=listed[: pager.limit], **page)


@router.get("/held-writes/{write_id}")
async def get_held_write(
    services: AppServices, decider: Deciding, write_id: str
) -> views.ShownHeldWrite:
    """Show what a held write would do."""
    async with services.database.reading() as session:
        return await decisions.show(session, services.keyring, decider, write_id)


@router.post("/held-writes/{write_id}/release")
async def release_write(
    services: AppServices, decider: Deciding, write_id: str
) -> views.ShownHeldWrite:
    """Release a held write: exactly what was shown runs, once, or nothing does."""
    async with services.database.writing() as session:
        released = await decisions.decide(
            session, services.keyring, decider, write_id, releases=True
        )
    services.releases.wake()
    return released


@router.post("/held-writes/{write_id}/reject", openapi_extra=described(Rejection))
async def reject_write(
    services: AppServices,
    decider: Deciding,
    write_id: str,
    rejection: Annotated[Rejection, Depends(body(Rejection))],
) -> views.ShownHeldWrite:
    """Reject a held write: nothing of it is done."""
    async with services.database.writing() as session:
        rejected = await decisions.decide(
            session, services.keyring, decider, write_id, releases=False, reason=rejection.reason
        )
    services.held_writes.waiting.ended([write_id])
    return rejected


@approver_router.post("/approvers", status_code=201, openapi_extra=described(NewApprover))
async def create_approver(
    services: AppServices, new: Annotated[NewApprover, Depends(body(NewApprover))]
) -> views.AddedApprover:
    """Add a person who releases held writes; the credential is never seen again."""
    async with services.database.writing() as session:
        return await approvers.add(session, new)


@approver_router.get("/approvers")
async def list_approvers(services: AppServices) -> views.ApproverList:
    """List the approvers, oldest first, without their credentials."""
    async with services.database.reading() as session:
        return views.ApproverList(approvers=await approvers.list_all(session))


@approver_router.delete("/approvers/{approver_id}", status_code=204)
async def delete_approver(services: AppServices, approver_id: RowId) -> None:
    """Remove an approver; what it released stays released."""
    async with services.database.writing() as session:
        await approvers.remove(session, approver_id)


@approver_router.post("/held-write-notices", status_code=201, openapi_extra=described(NewNotice))
async def create_notice(
    services: AppServices, new: Annotated[NewNotice, Depends(body(NewNotice))]
) -> views.AddedNotice:
    """Add a URL that is told of new held writes by signed calls; the secret is shown once."""
    async with services.database.writing() as session:
        added = await notices.add(session, services.keyring, new)
    services.webhooks.look_soon()
    return added


@approver_router.get("/held-write-notices")
async def list_notices(services: AppServices) -> views.NoticeList:
    """List the URLs that are told of new held writes, oldest first, without their secrets."""
    async with services.database.reading() as session:
        return views.NoticeList(notices=await notices.list_all(session))


@approver_router.post("/held-write-notices/{notice_id}/rotate")
async def rotate_notice(services: AppServices, notice_id: str) -> views.AddedNotice:
    """Give a notice a new secret; the old one signs for a day, and a dead one is called again."""
    async with services.database.writing() as session:
        return await notices.rotate(session, services.keyring, notice_id)


@approver_router.delete("/held-write-notices/{notice_id}", status_code=204)
async def delete_notice(services: AppServices, notice_id: str) -> None:
    """Remove a URL that is told of new held writes."""
    async with services.database.writing() as session:
        await notices.remove(session, notice_id)
