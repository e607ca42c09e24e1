"""Seed of the projects check: the projects of the demo (see ``peers/serve.py``)."""

from datetime import UTC, datetime

from sandbox.world.tasks.projects import seed


def fill(sandbox):
    state = sandbox.state
    facts = seed(state.database, datetime(2026, 11, 20, tzinfo=UTC))
    return {
        "projects": dict(facts.projects),
        "workspace": facts.workspace,
        "token": state.tokens.issue("projects", facts.account, ()),
        "reader": state.tokens.issue("projects", facts.account, ("tasks:read", "users:read")),
    }
