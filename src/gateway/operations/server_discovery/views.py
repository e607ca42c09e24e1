"""The objects of the management API that describe a search for servers."""

from typing import Annotated, TypedDict

from gateway.operations.json_schemas import enum_of
from providers.server_discovery.search import CalendarServer, Discovery, MailServers, StepOutcome


class DiscoveredMail(TypedDict):
    """The servers of a mailbox, with the members of a connection."""

    baseUrl: Annotated[str, "The server for reading, as a connection's `baseUrl`."]
    submissionUrl: Annotated[
        str | None, "The server for outgoing mail, as in `credentials`; null: none works."
    ]
    username: Annotated[str, "The user at both servers, as in `credentials`."]
    signedIn: Annotated[bool, "Whether the server took the password."]
    refused: Annotated[bool, "Whether the server refused the password."]


class DiscoveredCalendar(TypedDict):
    """The server of calendars, with the members of a connection."""

    baseUrl: Annotated[str, "The server, as a connection's `baseUrl`."]
    username: Annotated[str, "The user, as in `credentials`."]
    signedIn: Annotated[bool, "Whether the server took the password."]
    refused: Annotated[bool, "Whether the server refused the password."]
    calendars: Annotated[int | None, "How many calendars there are; null: nobody signed in."]


class DiscoveryStep(TypedDict):
    """One step of the search."""

    target: Annotated[str, "The name, address or server that was asked."]
    outcome: Annotated[str, enum_of(StepOutcome), "What came of it."]
    detail: Annotated[str, "The result as a sentence."]


class HostConfirmation(TypedDict):
    """A host to which nothing is sent before a person confirms it."""

    host: Annotated[str, "The host, for `confirmedHosts`."]
    reason: Annotated[str, "Why, as a sentence."]


class ServerDiscovery(TypedDict):
    """The result of a search for servers; nothing is stored."""

    mail: Annotated[DiscoveredMail | None, "The servers of the mailbox; null: none answers."]
    calendar: Annotated[DiscoveredCalendar | None, "The calendar server; null: none answers."]
    steps: Annotated[list[DiscoveryStep], "What was tried."]
    confirmations: Annotated[
        list[HostConfirmation], "Hosts that the search leaves out until they are confirmed."
    ]
    complete: Annotated[bool, "False when the search ended by its time limit."]


def view(discovery: Discovery) -> ServerDiscovery:
    """Return the API's ServerDiscovery object."""
    return {
        "mail": None if discovery.mail is None else _mail(discovery.mail),
        "calendar": None if discovery.calendar is None else _calendar(discovery.calendar),
        "steps": [
            {"target": step.target, "outcome": step.outcome.value, "detail": step.detail}
            for step in discovery.steps
        ],
        "confirmations": [
            {"host": confirmation.host, "reason": confirmation.reason}
            for confirmation in discovery.confirmations
        ],
        "complete": discovery.is_complete,
    }


def _mail(servers: MailServers) -> DiscoveredMail:
    return {
        "baseUrl": servers.server,
        "submissionUrl": servers.submission or None,
        "username": servers.username,
        "signedIn": servers.signed_in,
        "refused": servers.refused,
    }


def _calendar(server: CalendarServer) -> DiscoveredCalendar:
    return {
        "baseUrl": server.server,
        "username": server.username,
        "signedIn": server.signed_in,
        "refused": server.refused,
        "calendars": server.calendars,
    }
