"""Accounts at mail servers."""

from collections.abc import Callable
from dataclasses import dataclass, field

from providers.imap.endpoints import Endpoint

Notify = Callable[[str, str, float], None]


def ignore(method: str, outcome: str, began: float) -> None:
    """Note nothing."""
    del method, outcome, began


@dataclass(frozen=True, slots=True)
class Account:
    """
    A mailbox on a server, with its user and password.

    Attributes:
        password: With *has_token* an OAuth access token.
        notify: Is called after each command with its name, its outcome as of
            `providers.http.events.CallEvent`, and its beginning on the `time.perf_counter` scale.
    """

    endpoint: Endpoint
    username: str
    password: str = field(repr=False)
    notify: Notify = field(default=ignore, compare=False, repr=False)
    has_token: bool = False
