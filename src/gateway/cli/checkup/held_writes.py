"""Check of the writes that wait for a person: whether there is somebody to release them."""

from gateway.cli.checkup.findings import Finding, ok, warn
from gateway.operations.approvals import approvers, decisions
from gateway.store import timestamps
from gateway.store.database import Database
from policy.vocabulary import HeldState

NAME = "held writes"
_COUNTED = 100
_NAMED = 5


async def held_writes(store: Database) -> Finding:
    """Count the writes that wait; name the newest when no approver is there to release them."""
    async with store.reading() as session:
        listed = await decisions.list_newest(
            session, approvers.ADMIN, state=HeldState.HELD, limit=_COUNTED + 1
        )
        people = len(await approvers.list_all(session))
    now = timestamps.now_ms()
    waiting = [write for write in listed if write.expires_at > now]
    count = f"more than {_COUNTED}" if len(waiting) > _COUNTED else f"{len(waiting)}"
    if waiting and not people:
        ids = ", ".join(write.id for write in waiting[:_NAMED])
        more = ", …" if len(waiting) > _NAMED else ""
        remedy = (
            "`access-gateway write show ID` and `access-gateway write release ID`, or the console; "
            "`access-gateway approver add NAME` lets another person do it."
        )
        return warn(
            NAME, f"{count} wait for a person, and no approver is there: {ids}{more}", remedy
        )
    return ok(NAME, f"{count} wait; approvers: {people}" if waiting else "none wait")
