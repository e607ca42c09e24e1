"""The jobs, in the order of the first page."""

from gateway.console.jobs import alive
from gateway.console.router import Job

JOBS: tuple[Job, ...] = (alive.JOB,)
