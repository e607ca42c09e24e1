"""The jobs, in the order of the first page."""

from typing import NamedTuple


class Job(NamedTuple):
    """One job of an operator: *path* is below /console, *purpose* a sentence on the first page."""

    path: str
    title: str
    purpose: str


WRITES = Job("/writes", "Release or reject what is held", "Writes that wait for a person.")
JOBS = (
    Job("/", "Is everything alive?", "Accounts, upstreams, this process and warnings."),
    Job("/accounts/new", "Connect an account", "By consent, password or API token, with a test."),
    Job("/accounts", "Reconnect an account", "Now, or by a one-time link for its owner."),
    Job("/tokens/new", "Make a token", "From a preset, for a program or an agent."),
    Job("/tokens", "Change a token", "The difference is shown before it is saved."),
    Job("/tokens/end", "Revoke or expire tokens", "One, or all of a person, now or later."),
    WRITES,
    Job("/rules", "Edit rules", "Of files and of recipients, and try an example."),
    Job("/why", "Why was this refused?", "And what would allow it."),
    Job("/calls", "Follow calls", "As they come, by token, verdict and interface."),
    Job("/charts", "How much is called?", "Calls by hour, and the time of each account."),
    Job("/changes", "Who changed what?", "Changes by administrators, and their export."),
    Job("/people", "People", "Their accounts and tokens on one page, and new people."),
    Job("/settings", "Settings", "The few that matter for this deployment."),
)
