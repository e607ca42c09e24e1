"""Check of the targets of wake-up calls: whether they can be called."""

from sqlmodel import col, select

from gateway.cli.checkup.findings import Finding, ok, warn
from gateway.store.database import Database
from gateway.store.further_tables import WebhookTarget
from gateway.webhooks import targets

NAME = "webhooks"
_NAMED = 5


async def webhooks(store: Database) -> Finding:
    """Count the targets; name those that are dead, or whose last call failed."""
    row = WebhookTarget
    async with store.reading() as session:
        counts = await targets.count_by_state(session)
        is_failing = (col(row.state) == targets.DEAD) | (col(row.failures) > 0)
        query = select(row).where(is_failing).order_by(col(row.state).desc(), col(row.id))
        failing = (await session.exec(query.limit(_NAMED))).all()
    if not failing:
        return ok(NAME, f"{counts[targets.ACTIVE]} targets" if counts[targets.ACTIVE] else "none")
    named = ", ".join(
        f"{target.id} ({target.owner_kind}: {target.last_error})" for target in failing
    )
    more = ", …" if counts[targets.DEAD] + counts["failing"] > _NAMED else ""
    remedy = "Mend its receiver; a new secret for a dead target has it called again."
    return warn(
        NAME, f"{counts[targets.DEAD]} dead, {counts['failing']} failing: {named}{more}", remedy
    )
