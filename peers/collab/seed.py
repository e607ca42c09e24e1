"""Seed of the collab check: the tenant of the demo, and tokens (see ``peers/serve.py``)."""

from datetime import UTC, datetime

from sandbox.world.collab import sites
from sandbox.world.people import STUDIO_ACCOUNT

WRITE = ("Files.ReadWrite.All", "Sites.ReadWrite.All", "SensitivityLabel.Read", "User.Read")
READ = ("Files.Read.All", "Sites.Read.All")


def fill(sandbox):
    state = sandbox.state
    facts = sites.seed(state.database, state.content, datetime(2026, 11, 20, tzinfo=UTC))
    tokens = state.tokens
    return {
        "token": tokens.issue("collab", STUDIO_ACCOUNT, WRITE),
        "reader": tokens.issue("collab", STUDIO_ACCOUNT, READ),
        "application": tokens.issue("collab", "all", ("Sites.Read.All",), app_only=True),
        "selected": tokens.issue("collab", sites.APPLICATION, ("Sites.Selected",), app_only=True),
        "sites": dict(facts.sites),
        "subjects": dict(facts.subjects),
    }
