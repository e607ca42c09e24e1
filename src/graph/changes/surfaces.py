"""The table of the surfaces that are followed (docs/spec/changes.md#what-is-followed)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from graph.changes import content, events, mail, tasks
from graph.changes.following import Call, Outcome
from graph.changes.types import ChangeSurface
from policy import gates
from policy.caller import Caller
from policy.vocabulary import (
    WORD_TYPES,
    CalendarField,
    CalendarOp,
    CollabField,
    EmailField,
    EmailOp,
    Field,
    Operation,
    Surface,
    TaskField,
)


class FollowedSurface(msgspec.Struct, frozen=True):
    """
    A surface that is followed.

    Attributes:
        operations: All that its listing needs; the first alone lets a call of the feed in.
        hiding: The word that hides the connection of its objects.
        follow: Returns what each of its connections tells.
    """

    operations: tuple[Operation, ...]
    hiding: Field
    follow: Callable[[Call], Awaitable[Mapping[int, Outcome]]]

    @property
    def surface(self) -> Surface:
        """The surface of its operations and connections."""
        return WORD_TYPES[type(self.operations[0])].surface

    def admit(self, caller: Caller) -> None:
        """Check that *caller* may list it; raises as `Caller.admit`."""
        for operation in self.operations:
            caller.admit(self.surface, operation)


SURFACES: Final[Mapping[ChangeSurface, FollowedSurface]] = MappingProxyType(
    {
        ChangeSurface.EMAIL: FollowedSurface(
            (EmailOp.SEARCH_EMAILS,), EmailField.CONNECTION_ID, mail.follow
        ),
        ChangeSurface.CALENDAR: FollowedSurface(
            (CalendarOp.VIEW_EVENTS,), CalendarField.CONNECTION_ID, events.follow
        ),
        ChangeSurface.TASKS: FollowedSurface(
            tasks.OPERATIONS, TaskField.CONNECTION_ID, tasks.follow
        ),
        ChangeSurface.FILES: FollowedSurface(
            content.FILE_OPERATIONS, CollabField.CONNECTION_ID, content.follow_files
        ),
        ChangeSurface.LISTS: FollowedSurface(
            content.LIST_OPERATIONS, CollabField.CONNECTION_ID, content.follow_lists
        ),
    }
)
# Any of them lets a call of the feed in.
OPERATIONS: Final = tuple(row.operations[0] for row in SURFACES.values())


def admitted(caller: Caller, surfaces: Iterable[ChangeSurface]) -> tuple[ChangeSurface, ...]:
    """
    Return those of *surfaces* that may be listed.

    Raises:
        Refusal: None may; the reason is that of the first.
    """
    return gates.passing(surfaces, lambda surface: SURFACES[surface].admit(caller))
