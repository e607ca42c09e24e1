"""Seed of the boards check: the boards of the demo (see ``peers/serve.py``)."""

from datetime import UTC, datetime

from sandbox.boards.complexity import set_budget
from sandbox.world.tasks.boards import seed

READ = ("me:read", "boards:read", "users:read", "updates:read")


def fill(sandbox):
    state = sandbox.state
    facts = seed(state.database, datetime(2026, 11, 20, tzinfo=UTC))
    set_budget(state.database, 50_000_000)
    return {
        "boards": dict(facts.boards),
        "token": state.tokens.issue("tasks", facts.account, ()),
        "reader": state.tokens.issue("tasks", facts.account, READ),
    }
