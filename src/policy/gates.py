"""
The gates that need no parameters, in the order of docs/spec/requests.md#order-of-checks.

    4  the surface's switch            422 …_NOT_ENABLED
    5  any connection of its kind      422 NO_…_PROVIDER
    6  the operation's flag or level   403, on collab 422

The first refusal wins, so a token without the flag learns nothing about parameters.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeVar

from policy import vocabulary
from policy.grants import Grant
from policy.refusals import (
    AccessDenied,
    NoSuchProvider,
    OperationNotAllowed,
    Refusal,
    SurfaceNotEnabled,
)

T = TypeVar("T")


class Connection(Protocol):
    """The attributes of a connection that policy reads; *kind* is the word of its surface."""

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
    @property
    def cause(self) -> str | None: ...
    @property
    def expires_at(self) -> int | None: ...
    @property
    def selected_site_ids(self) -> tuple[str, ...]: ...


def allows(grant: Grant, operation: vocabulary.Operation) -> bool:
    """Return whether *grant* has the flag (on the calendar: the access level) of *operation*."""
    match operation:
        case vocabulary.EmailOp():
            return operation in grant.email_operations
        case vocabulary.TaskOp():
            return operation in grant.task_operations
        case vocabulary.CollabOp():
            return operation in grant.collab_operations
        case vocabulary.CalendarOp.VIEW_EVENTS:
            return grant.calendar_level is not vocabulary.CalendarAccessLevel.FREE_BUSY_ONLY
        case vocabulary.CalendarOp():
            return True


def admit(
    surface: vocabulary.Surface,
    operations: Sequence[vocabulary.Operation],
    grant: Grant,
    connections: Sequence[Connection],
) -> None:
    """
    Run the gates in order; *operations* are alternatives, none when the surface is enough.

    Raises:
        Refusal: The first gate that refuses.
    """
    if not _SWITCH[surface](grant):
        raise SurfaceNotEnabled(surface)
    for connection in connections:
        if connection.kind == surface:
            break
    else:
        raise NoSuchProvider(surface)
    for operation in operations:
        if allows(grant, operation):
            return
    if operations:
        if surface is vocabulary.Surface.CALENDAR:
            raise AccessDenied(
                "This token may see free and busy times only.", layer=vocabulary.Layer.OPERATION
            )
        raise OperationNotAllowed(*operations)


def passing(candidates: Iterable[T], check: Callable[[T], None]) -> tuple[T, ...]:
    """
    Return those of *candidates* that *check* does not refuse, in their order.

    Raises:
        Refusal: None passes; the reason is that of the first.
    """
    refusals: list[Refusal] = []
    passed: list[T] = []
    for candidate in candidates:
        try:
            check(candidate)
            passed.append(candidate)
        except Refusal as refusal:
            refusals.append(refusal)
    if refusals and not passed:
        raise refusals[0]
    return tuple(passed)


_SWITCH: Mapping[vocabulary.Surface, Callable[[Grant], bool]] = MappingProxyType(
    {
        vocabulary.Surface.EMAIL: lambda grant: grant.email_enabled,
        vocabulary.Surface.CALENDAR: lambda grant: grant.calendar_enabled,
        vocabulary.Surface.TASKS: lambda _: True,  # no switch: the operation flags alone open tasks
        vocabulary.Surface.COLLAB: lambda grant: grant.collab_enabled,
    }
)


class SubscriptionsNotAllowed(AccessDenied):
    """The setting `subscriptionsEnabled` is false."""

    def __init__(self) -> None:
        message = "This token may not subscribe to changes: subscriptionsEnabled is false."
        super().__init__(message, layer=vocabulary.Layer.OPERATION)


def require_subscriptions_allowed(grant: Grant) -> None:
    """Raise `SubscriptionsNotAllowed` unless the token may subscribe."""
    if not grant.subscriptions:
        raise SubscriptionsNotAllowed
