"""The objects of the management API that describe a search for servers."""

from typing import Annotated

from gateway.operations.json_schemas import View, about, enum_of
from providers.server_discovery.search import Discovery, StepOutcome


class DiscoveredMail(View):
    """The servers of a mailbox, with the members of a connection."""

    base_url: Annotated[str, about("The server for reading, as a connection's `baseUrl`.")]
    submission_url: Annotated[
        str | None, about("The server for outgoing mail, as in `credentials`; null: none works.")
    ]
    username: Annotated[str, about("The user at both servers, as in `credentials`.")]
    signed_in: Annotated[bool, about("Whether the server took the password.")]
    refused: Annotated[bool, about("Whether the server refused the password.")]


class DiscoveredCalendar(View):
    """The server of calendars, with the members of a connection."""

    base_url: Annotated[str, about("The server, as a connection's `baseUrl`.")]
    username: Annotated[str, about("The user, as in `credentials`.")]
    signed_in: Annotated[bool, about("Whether the server took the password.")]
    refused: Annotated[bool, about("Whether the server refused the password.")]
    calendars: Annotated[int | None, about("How many calendars there are; null: nobody signed in.")]


class DiscoveryStep(View):
    """One step of the search."""

    target: Annotated[str, about("The name, address or server that was asked.")]
    outcome: Annotated[str, enum_of(StepOutcome), about("What came of it.")]
    detail: Annotated[str, about("The result as a sentence.")]


class HostConfirmation(View):
    """A host to which nothing is sent before a person confirms it."""

    host: Annotated[str, about("The host, for `confirmedHosts`.")]
    reason: Annotated[str, about("Why, as a sentence.")]


class ServerDiscovery(View):
    """The result of a search for servers; nothing is stored."""

    mail: Annotated[DiscoveredMail | None, about("The servers of the mailbox; null: none answers.")]
    calendar: Annotated[
        DiscoveredCalendar | None, about("The calendar server; null: none answers.")
    ]
    steps: Annotated[list[DiscoveryStep], about("What was tried.")]
    confirmations: Annotated[
        list[HostConfirmation], about("Hosts that the search leaves out until they are confirmed.")
    ]
    complete: Annotated[bool, about("False when the search ended by its time limit.")]


def view(discovery: Discovery) -> ServerDiscovery:
    """Return the API's ServerDiscovery object."""
    mail = calendar = None
    if (servers := discovery.mail) is not None:
        sending = servers.submission or None
        mail = DiscoveredMail.of(servers, base_url=servers.server, submission_url=sending)
    if (server := discovery.calendar) is not None:
        calendar = DiscoveredCalendar.of(server, base_url=server.server)
    return ServerDiscovery(
        mail=mail,
        calendar=calendar,
        steps=list(map(DiscoveryStep.of, discovery.steps)),
        confirmations=list(map(HostConfirmation.of, discovery.confirmations)),
        complete=discovery.is_complete,
    )
