"""
The enforcement layers that need no parameters, in the order of decisions 2, steps 4 to 6.

    4  the surface's switch            422 …_NOT_ENABLED
    5  any connection at all           422 NO_…_PROVIDER
    6  the operation's flag or level   403, on collab 422

The first refusal wins, so a token without the flag learns nothing about parameters.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from policy.grants import Grant
from policy.refusals import AccessDenied, NoSuchProvider, OperationNotAllowed, SurfaceNotEnabled
from policy.vocabulary import (
    CalendarAccessLevel,
    CalendarOp,
    CollabOp,
    EmailOp,
    Layer,
    Operation,
    Surface,
    TaskOp,
)


class Connection(Protocol):
    """What policy needs to know of a connection; *kind* is the surface's word."""

    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def can_write(self) -> bool: ...
    @property
    def account_email(self) -> str: ...
    @property
    def reconnect_url(self) -> str | None: ...


class AccessRequest(NamedTuple):
    """What is asked: *operations* are alternatives, one suffices; none means none is needed."""

    surface: Surface
    operations: tuple[Operation, ...]


def allows(grant: Grant, operation: Operation) -> bool:
    """Say whether *grant* has the flag (on the calendar: the access level) of *operation*."""
    match operation:
        case EmailOp():
            return operation in grant.email_operations
        case TaskOp():
            return operation in grant.task_operations
        case CollabOp():
            return operation in grant.collab_operations
        case CalendarOp.VIEW_EVENTS:
            return grant.calendar_level is not CalendarAccessLevel.FREE_BUSY_ONLY
        case CalendarOp():
            return True


def admit(call: AccessRequest, grant: Grant, connections: Sequence[Connection]) -> None:
    """
    Run the layers in order.

    Raises:
        Refusal: The first layer that refuses.
    """
    for layer in GATES:
        layer(call, grant, connections)


def require_surface(call: AccessRequest, grant: Grant, _: Sequence[Connection]) -> None:
    """Layer 1. Tasks have no switch: their flags alone open them (decisions 2)."""
    if not _SWITCH[call.surface](grant):
        raise SurfaceNotEnabled(call.surface)


def require_connection(call: AccessRequest, _: Grant, connections: Sequence[Connection]) -> None:
    """Some connection of the surface's kind exists, whatever its state."""
    for connection in connections:
        if connection.kind == call.surface:
            return
    raise NoSuchProvider(call.surface)


def require_operation(call: AccessRequest, grant: Grant, _: Sequence[Connection]) -> None:
    """Layer 2: one of the operations is allowed."""
    if not call.operations:
        return
    for operation in call.operations:
        if allows(grant, operation):
            return
    if call.surface is Surface.CALENDAR:
        raise AccessDenied("This token may see free and busy times only.", layer=Layer.OPERATION)
    raise OperationNotAllowed(*call.operations)


GATES: tuple[Callable[[AccessRequest, Grant, Sequence[Connection]], None], ...] = (
    require_surface,
    require_connection,
    require_operation,
)

_SWITCH: Mapping[Surface, Callable[[Grant], bool]] = MappingProxyType(
    {
        Surface.EMAIL: lambda grant: grant.email_enabled,
        Surface.CALENDAR: lambda grant: grant.calendar_enabled,
        Surface.TASKS: lambda _: True,
        Surface.COLLAB: lambda grant: grant.collab_enabled,
    }
)
