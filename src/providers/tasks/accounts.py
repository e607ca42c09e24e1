"""The task accounts of one caller, and which of them a provider's code names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from providers.ports.mail import ConnectionInfo
from providers.ports.tasks import TaskPort

# What providers are called; the codes are all that there are.
DISPLAY_NAMES: Mapping[str, str] = MappingProxyType(
    {"BOARDS": "Task boards", "PROJECTS": "Task projects"}
)


@dataclass(frozen=True, slots=True)
class Seat:
    """One account: what is known of the connection, and the way to it."""

    connection: ConnectionInfo
    port: TaskPort


class TaskDesk:
    """The usable task accounts, lowest connection id first."""

    def __init__(self, seats: Sequence[tuple[ConnectionInfo, TaskPort]] = ()) -> None:
        self._seats = tuple(
            Seat(connection, port) for connection, port in sorted(seats, key=lambda one: one[0].id)
        )

    def seat(self, connection_id: int) -> Seat | None:
        """Return the account behind a connection; None when it is not usable."""
        return next((one for one in self._seats if one.connection.id == connection_id), None)
