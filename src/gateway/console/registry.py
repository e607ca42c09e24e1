"""The jobs, in the order of the first page."""

from gateway.console.jobs import (
    accounts,
    alive,
    calls,
    change_token,
    changes,
    eyes,
    new_account,
    new_token,
    people,
    remedies,
    rules,
    settings,
    tokens,
    why,
    writes,
)
from gateway.console.router import Job, Router

JOBS: tuple[Job, ...] = (
    alive.JOB,
    new_account.JOB,
    accounts.JOB,
    new_token.JOB,
    tokens.JOB,
    tokens.END_JOB,
    writes.JOB,
    rules.JOB,
    why.JOB,
    calls.JOB,
    changes.JOB,
    people.JOB,
    settings.JOB,
)
# Of pages that no job begins with.
FURTHER: tuple[Router, ...] = (change_token.router, remedies.router, eyes.router)
