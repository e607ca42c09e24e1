"""The demo's company in the upstreams of a sandbox, without a gateway."""

from sandbox.app import Sandbox
from sandbox.world.calendar import events
from sandbox.world.collab import sites
from sandbox.world.mail import mailboxes
from sandbox.world.tasks import boards, projects


def fill(sandbox: Sandbox) -> Sandbox:
    """Seed every upstream of *sandbox*; return it."""
    state = sandbox.state
    mailboxes.seed(state.database, state.mails)
    events.seed(state.database, state.calendars)
    boards.seed(state.database)
    projects.seed(state.database)
    sites.seed(state.database, state.content)
    return sandbox
