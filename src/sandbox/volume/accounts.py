"""All volume content together, added to the accounts of a sandbox."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sandbox.mail.ids import PROVIDER_A, PROVIDER_B
from sandbox.state import SandboxState
from sandbox.volume import calendars, content, mail, tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeAccounts:
    """
    Upstream ids of the volume content.

    Attributes:
        tenant: The sites, and the large library.
        board, project: A board and a project of 50,000 items.
    """

    tenant: content.Tenant
    board: str
    project: str


def fill(state: SandboxState, now: datetime | None = None) -> VolumeAccounts:
    """Add the volume content around the day of *now* to the accounts of the demo world."""
    day = (now or datetime.now(UTC)).astimezone(UTC).date()
    for mailbox in (PROVIDER_A, PROVIDER_B):
        calendars.fill(state.calendars, mailbox, day)
        mail.fill(state.mails, mailbox, day)
    return VolumeAccounts(
        tenant=content.fill(state.database, state.content, day),
        board=tasks.fill_board(state.database, day),
        project=tasks.fill_project(state.database, day),
    )
