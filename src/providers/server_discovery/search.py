"""A search, its steps and its result."""

from collections.abc import Sequence
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
    """
    One step of a search.

    Attributes:
        target: The name, address or server that was asked.
        detail: A sentence.
    """

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
        username: The user; "": the address, or what the domain's configuration names, or its
            local part.
        password: None: servers are searched for and tried, and nobody signs in.
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
            ascii_domain = ascii_host(domain).lower()
        except UnicodeError:
            raise ValueError("The domain of the address is not valid.") from None
        labels = ascii_domain.split(".")
        if labels[-1].isdecimal() or not all(
            label and label.replace("-", "").isalnum() for label in labels
        ):
            raise ValueError("The domain of the address is not valid.")
        return ascii_domain

    def usernames(self, named: str) -> tuple[str, ...]:
        """Return the users to try in order, at most two; *named*: by the configuration, or ""."""
        if self.username:
            return (self.username,)
        if named:
            return (named,)
        local_part = self.email.rpartition("@")[0]
        return (self.email,) if self.has_token else (self.email, local_part)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServers:
    """
    The servers of a mailbox.

    Attributes:
        server: Address of the server for IMAP, as a connection's `baseUrl`.
        submission: Address of the server for outgoing mail; "": none works.
        username: The user that the servers take; without a password, the one that they may take.
        signed_in: Whether the server took the password.
        refused: Whether it refused it.
    """

    server: str
    submission: str
    username: str
    signed_in: bool
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarServer:
    """
    The server of calendars; attributes as of `MailServers`.

    Attributes:
        calendars: How many the account has; None: nobody signed in.
    """

    server: str
    username: str
    signed_in: bool
    refused: bool = False
    calendars: int | None = None


@dataclass(slots=True)
class Report:
    """The steps so far, and the hosts that need a confirmation."""

    steps: list[Step] = field(default_factory=list)
    confirmations: list[Confirmation] = field(default_factory=list)

    def add(self, target: str, outcome: StepOutcome, detail: str) -> None:
        """Add a step."""
        self.steps.append(Step(target, outcome, detail))

    def ask(self, target: str, confirmation: Confirmation) -> None:
        """Add a step that waits for a confirmation."""
        self.add(target, StepOutcome.NEEDS_CONFIRMATION, confirmation.reason)
        if confirmation not in self.confirmations:
            self.confirmations.append(confirmation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """
    The result of a search.

    Attributes:
        mail, calendar: What works, or what refused the password; None: nothing.
        is_complete: False when the time was over.
    """

    mail: MailServers | None
    calendar: CalendarServer | None
    steps: Sequence[Step]
    confirmations: Sequence[Confirmation]
    is_complete: bool = True
