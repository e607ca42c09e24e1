"""A search, its steps and its result."""

from dataclasses import dataclass, field
from enum import StrEnum

from providers.web_addresses import ascii_host


class StepOutcome(StrEnum):
    """
    Outcome of a step.

    Attributes:
        FOUND: The record, page or address that was asked names a server.
        NOT_FOUND: It names none.
        WORKS: A server answers, or takes the login.
        FAILED: It does not.
        NEEDS_CONFIRMATION: A person must confirm the host first: nothing was sent there.
    """

    FOUND = "found"
    NOT_FOUND = "not-found"
    WORKS = "works"
    FAILED = "failed"
    NEEDS_CONFIRMATION = "needs-confirmation"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a search: *target* was asked, and *detail* is a sentence."""

    target: str
    outcome: StepOutcome
    detail: str


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A host that a person must confirm, and why."""

    host: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """
    A search for the servers of an address.

    Attributes:
        email: The address.
        username: The user; "": what the domain's configuration names, or the address.
        password: None: servers are searched for and tried, without a sign-in.
        has_token: Whether *password* is an OAuth access token.
        mail, calendar: What is searched for.
        server, submission, calendar_url: Addresses that a person names; "": searched for.
        confirmed: Hosts that a person confirms.
    """

    email: str
    username: str = ""
    password: str | None = field(default=None, repr=False)
    has_token: bool = False
    mail: bool = True
    calendar: bool = True
    server: str = ""
    submission: str = ""
    calendar_url: str = ""
    confirmed: frozenset[str] = frozenset()

    @property
    def domain(self) -> str:
        """
        The domain of the address in A-labels.

        Raises:
            ValueError: It is not one.
        """
        domain = self.email.rpartition("@")[2].strip().rstrip(".")
        try:
            labels = ascii_host(domain).lower().split(".")
        except UnicodeError:
            labels = []
        if not all(label.replace("-", "").isalnum() for label in labels or ("",)):
            raise ValueError("The domain of the address is not valid.")
        if labels[-1].isdecimal():
            raise ValueError("The domain of the address is not valid.")
        return ".".join(labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """
    The server of calendars, or of a mailbox.

    Attributes:
        server: Its address, as a connection's `baseUrl`.
        username: The user to sign in with.
        signed_in: Whether the server took the password.
        refused: Whether it refused it.
        submission: The server for outgoing mail, of a mailbox; "": none works.
        calendars: How many the account has; None without a sign-in.
    """

    server: str
    username: str
    signed_in: bool = False
    refused: bool = False
    submission: str = ""
    calendars: int | None = None


@dataclass(slots=True)
class Discovery:
    """
    The result of a search, which is filled while it runs.

    Attributes:
        mail, calendar: What works, or what refused the password; None: nothing.
        steps: What was tried.
        confirmations: The hosts that need one.
        is_complete: False when the time was over.
    """

    mail: Server | None = None
    calendar: Server | None = None
    steps: list[Step] = field(default_factory=list)
    confirmations: list[Confirmation] = field(default_factory=list)
    is_complete: bool = True

    def add(self, target: str, outcome: StepOutcome, detail: str) -> None:
        """Add a step."""
        self.steps.append(Step(target, outcome, detail))

    def ask(self, target: str, confirmation: Confirmation) -> None:
        """Add a step that waits for a confirmation."""
        self.add(target, StepOutcome.NEEDS_CONFIRMATION, confirmation.reason)
        if confirmation not in self.confirmations:
            self.confirmations.append(confirmation)
