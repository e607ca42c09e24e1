"""Which account a call goes to, and which of its boards exist for the caller. Decisions 7.1."""

from collections.abc import Awaitable, Iterable
from collections.abc import Set as AbstractSet
from typing import TypeVar

from graph.context import Context
from policy.gates import Connection
from policy.refusals import (
    AccessDenied,
    InvalidInput,
    NoSuchProvider,
    NotFound,
    NoUsableConnection,
    OutsideBoards,
)
from policy.vocabulary import Code, Surface
from providers.failures import Missing, OutcomeUnknown, ProviderFailure, Refused
from providers.tasks.accounts import DISPLAY_NAMES, TaskAccount

AUTO = "AUTO"

Found = TypeVar("Found")


def code(provider: str | None, context: Context) -> str:
    """
    Read the parameter `provider`, in any case; `auto` gives way to the token's default.

    Returns:
        A known code, or `AUTO` when the connections decide.

    Raises:
        InvalidInput: `INVALID_PROVIDER`: there is no such provider.
    """
    wanted = (provider or AUTO).strip().upper()
    if wanted == AUTO:
        default = context.caller.grant.default_task_provider
        wanted = AUTO if default is None else default
    if wanted != AUTO and wanted not in DISPLAY_NAMES:
        raise InvalidInput(
            f"provider must be auto or one of {', '.join(DISPLAY_NAMES)}.",
            code=Code.INVALID_PROVIDER,
        )
    return wanted


def seat(wanted: str, context: Context) -> TaskAccount:
    """
    Choose the account of a code, the one with the lowest id where there are several.

    Raises:
        NoSuchProvider: Nothing is connected to it.
        NoUsableConnection: What is connected is inactive or excluded.
        InvalidInput: `PROVIDER_REQUIRED`: the caller must name one.
    """
    caller = context.caller
    if wanted == AUTO:
        usable = caller.usable_connections(Surface.TASKS)
        if len(usable) > 1:
            raise _ambiguous(usable)
        return _seat(usable, context)
    named = [
        one for one in caller.connections if one.kind == Surface.TASKS and one.provider == wanted
    ]
    if not named:
        raise NoSuchProvider(Surface.TASKS)
    return _seat(named, context)


def connections(context: Context) -> tuple[Connection, ...]:
    """Return the task connections that the token's settings do not exclude, in any state."""
    caller = context.caller
    return tuple(
        one for one in caller.connections if one.kind == Surface.TASKS and not caller.excludes(one)
    )


def boards(context: Context, seat: TaskAccount) -> AbstractSet[str] | None:
    """Return the boards that exist for the caller on this account; None for all."""
    scope = context.caller.grant.task_boards
    if scope is None:
        return None
    return frozenset(
        one.board_id for one in scope if _is_of(one.provider, seat.connection.provider)
    )


def require_board(context: Context, seat: TaskAccount, board_id: str) -> None:
    """
    Let a board of the token's scope pass.

    Raises:
        AccessDenied: It is not in it.
    """
    allowed = boards(context, seat)
    if allowed is not None and board_id not in allowed:
        raise outside(seat, board_id)


def require_creation(context: Context, seat: TaskAccount, board_id: str) -> None:
    """
    Let a board pass on which the token may create items.

    Raises:
        AccessDenied: It is outside the token's scope, or may only be looked at.
    """
    require_board(context, seat, board_id)
    scope = context.caller.grant.task_boards
    if scope is not None and not any(
        one.allow_create
        for one in scope
        if one.board_id == board_id and _is_of(one.provider, seat.connection.provider)
    ):
        raise OutsideBoards(seat.connection.provider, [board_id], to_create=True)


def require_any(context: Context, seat: TaskAccount, board_ids: Iterable[str]) -> None:
    """
    Let an item pass that is reached by one of *board_ids*.

    Raises:
        AccessDenied: None of them is in the token's scope.
    """
    allowed = boards(context, seat)
    if allowed is not None and not any(one in allowed for one in board_ids):
        raise outside(seat, *board_ids)


def require_writable(seat: TaskAccount) -> None:
    """
    Refuse writes over a connection that is known to have read scopes only.

    Raises:
        AccessDenied: It has.
    """
    connection = seat.connection
    if connection.granted_scopes and not connection.can_write:
        raise AccessDenied("The connection has read scopes only.")


def outside(seat: TaskAccount, *board_ids: str) -> OutsideBoards:
    """Say that a board, or the boards of an item, are not the token's business."""
    return OutsideBoards(seat.connection.provider, board_ids)


async def told(asking: Awaitable[Found], *, what: str) -> Found:
    """
    Await a port's answer and word its failures as this surface does.

    Raises:
        NotFound: There is no such *what*.
        AccessDenied: The provider does not let the account do it.
        ProviderFailure: Anything else, 502 unless it is a throttle or a time-out.
    """
    try:
        return await asking
    except Missing as missing:
        raise NotFound(f"No {what} with this id.") from missing
    except OutcomeUnknown:
        raise
    except Refused as refusal:
        if refusal.status == 403:
            raise AccessDenied("The provider does not let the account do this.") from refusal
        raise ProviderFailure("The provider refused the request.") from refusal


def _seat(usable: Iterable[Connection], context: Context) -> TaskAccount:
    for connection in sorted(usable, key=lambda one: one.id):
        found = context.tasks.account(connection.id)
        if found is not None:
            return found
    raise NoUsableConnection(Surface.TASKS)


def _is_of(provider: str | None, code: str) -> bool:
    return provider in {None, code}


def _ambiguous(usable: Iterable[Connection]) -> InvalidInput:
    refusal = InvalidInput(
        "Several task providers are connected: provider must name one.",
        code=Code.PROVIDER_REQUIRED,
    )
    refusal.connected_providers = tuple(dict.fromkeys(one.provider for one in usable))
    return refusal
