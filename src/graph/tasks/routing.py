"""The choice of a task account, and the token's board scope (docs/spec/tasks.md#board-scope)."""

from collections.abc import Awaitable, Iterable
from collections.abc import Set as AbstractSet
from typing import TypeVar

from graph.context import Context
from policy import refusals
from policy.caller import Caller
from policy.gates import Connection
from policy.vocabulary import Code, Surface, TaskOp
from providers.catalogue.tables import KINDS
from providers.failures import Missing, MissingScope, OutcomeUnknown, ProviderFailure, Refused
from providers.ports.tasks import StalePosition, TaskTarget
from providers.tasks.accounts import TaskAccount

AUTO = "AUTO"
_CODES = KINDS[Surface.TASKS]

Result = TypeVar("Result")


def provider_code(provider: str | None, context: Context) -> str:
    """
    Read the parameter `provider`, in any case; `auto` gives way to the token's default.

    Returns:
        A known code, or `AUTO` when the connections decide.

    Raises:
        InvalidInput: `INVALID_PROVIDER`: there is no such provider.
    """
    code = (provider or AUTO).strip().upper()
    if code == AUTO:
        default = context.caller.grant.default_task_provider
        code = AUTO if default is None else default
    if code != AUTO and code not in _CODES:
        raise refusals.InvalidInput(
            f"provider must be auto or one of {', '.join(_CODES)}.", code=Code.INVALID_PROVIDER
        )
    return code


def choose_account(
    code: str, context: Context, operation: TaskOp, *, writing: bool = False
) -> TaskAccount:
    """
    Choose the account of a provider code; with several, the one with the lowest connection id.

    Accounts whose settings do not allow *operation* are left out.
    *writing*: the token may have to choose among several by itself.

    Raises:
        OperationNotAllowed: No account allows it.
        NoSuchProvider: The provider has no connection.
        NoUsableConnection: Its connections are inactive or excluded.
        InvalidInput: `PROVIDER_REQUIRED`: several providers are connected and none is named.
        AmbiguousAccount: A write could go to several accounts.
    """
    caller = context.caller
    if code == AUTO:
        usable = caller.usable_connections(Surface.TASKS)
        if len(usable) > 1:
            raise _ambiguous(usable)
        named = list(usable)
    else:
        named = [
            connection
            for connection in caller.connections
            if connection.kind == Surface.TASKS and connection.provider == code
        ]
    if not named:
        raise refusals.NoSuchProvider(Surface.TASKS)
    named = [each for each in named if context.tasks.account(each.id) is not None]
    admitted = caller.on_each(named, lambda account: account.admit(Surface.TASKS, operation))
    if writing:
        caller.require_one([each for each in named if each.id in admitted])
    account = context.tasks.account(min(admitted)) if admitted else None
    if account is None:
        raise caller.no_usable_connection(Surface.TASKS)
    return account


def caller_on(context: Context, account: TaskAccount) -> Caller:
    """Return the caller as the settings of *account* narrow it."""
    return context.caller.on(account.connection.id)


def connections(context: Context) -> tuple[Connection, ...]:
    """Return the task connections that the token's settings do not exclude, in any state."""
    caller = context.caller
    return tuple(
        connection
        for connection in caller.connections
        if connection.kind == Surface.TASKS and not caller.excludes(connection)
    )


def boards(context: Context, account: TaskAccount) -> AbstractSet[str] | None:
    """Return the board ids in the token's scope on this account; None for all boards."""
    scope = caller_on(context, account).grant.task_boards
    if scope is None:
        return None
    return frozenset(
        board.board_id for board in scope if _is_of(board.provider, account.connection.provider)
    )


def require_board(context: Context, account: TaskAccount, board_id: str) -> None:
    """
    Require a board of the token's scope.

    Raises:
        AccessDenied: The board is outside the scope.
    """
    allowed = boards(context, account)
    if allowed is not None and board_id not in allowed:
        raise outside(account, board_id)


def require_creation(context: Context, account: TaskAccount, board_id: str) -> None:
    """
    Require a board on which the token may create items.

    Raises:
        AccessDenied: The board is outside the scope, or read-only in it.
    """
    require_board(context, account, board_id)
    scope = caller_on(context, account).grant.task_boards
    if scope is not None and not any(
        board.allow_create
        for board in scope
        if board.board_id == board_id and _is_of(board.provider, account.connection.provider)
    ):
        raise refusals.OutsideBoards(account.connection.provider, [board_id], to_create=True)


def require_any(context: Context, account: TaskAccount, board_ids: Iterable[str]) -> None:
    """
    Require that one of an item's boards is in the token's scope.

    Raises:
        AccessDenied: All of *board_ids* are outside the scope.
    """
    allowed = boards(context, account)
    if allowed is not None and not any(board_id in allowed for board_id in board_ids):
        raise outside(account, *board_ids)


def require_writable(account: TaskAccount) -> None:
    """
    Require a connection that is not known to have read scopes only.

    Raises:
        AccessDenied: The connection has read scopes only.
    """
    connection = account.connection
    if connection.granted_scopes and not connection.can_write:
        raise refusals.AccessDenied("The connection has read scopes only.")


def outside(account: TaskAccount, *board_ids: str) -> refusals.OutsideBoards:
    """Return the refusal for boards outside the token's scope."""
    return refusals.OutsideBoards(account.connection.provider, board_ids)


async def read_target(
    context: Context,
    account: TaskAccount,
    item_id: str,
    *,
    columns: bool = False,
    change: bool = False,
) -> TaskTarget:
    """
    Return the boards of an item, and its *columns*, after checking the board scope.

    *change*: as in `translate_failures`.

    Raises:
        AccessDenied: The item is outside the scope; for a token with a board scope also when it
            does not exist or the provider hides it, so that the three cannot be told apart.
        NotFound: It does not exist, and the token has no board scope.
    """
    scoped = boards(context, account) is not None
    if columns or change:
        reading = account.port.target(item_id, columns=columns)
    else:
        reading = context.loaders.task_target(account, item_id)
    try:
        target = await translate_failures(reading, what="item", change=change and not scoped)
    except (refusals.NotFound, refusals.AccessDenied) as problem:
        if scoped:
            raise outside(account) from problem
        raise
    require_any(context, account, target.boards)
    return target


async def translate_failures(
    call: Awaitable[Result], *, what: str | None, change: bool = False
) -> Result:
    """
    Await a call of the task port and convert its failures to the errors of this surface.

    *what* is the kind of thing that the call names by its id; None: it names nothing.

    Raises:
        NotFound: The *what* does not exist.
        InvalidInput: `INVALID_PAGE_TOKEN`: the position is too old to be found again.
        AccessDenied: The provider does not let the account read it. A *change* that the provider
            forbids is its refusal: 502, as the contract says.
        ProviderFailure: Any other failure; 502 unless it is a throttle or a timeout.
    """
    try:
        return await call
    except Missing as missing:
        if what is None:
            raise ProviderFailure("The provider refused the request.") from missing
        raise refusals.NotFound(f"No {what} with this id.") from missing
    except StalePosition as stale:
        raise refusals.InvalidInput(
            "The pageToken is too old for a list of this length: begin again without it.",
            code=Code.INVALID_PAGE_TOKEN,
        ) from stale
    except OutcomeUnknown:
        raise
    except Refused as refusal:
        missing_scope = MissingScope(refusal.scopes).message if refusal.scopes else None
        if refusal.status == 403 and not change:
            raise refusals.AccessDenied(
                missing_scope or "The provider does not let the account do this."
            ) from refusal
        raise ProviderFailure(missing_scope or "The provider refused the request.") from refusal


def _is_of(provider: str | None, code: str) -> bool:
    return provider in {None, code}


def _ambiguous(usable: Iterable[Connection]) -> refusals.InvalidInput:
    refusal = refusals.InvalidInput(
        "Several task providers are connected: provider must name one.", code=Code.PROVIDER_REQUIRED
    )
    refusal.connected_providers = tuple(dict.fromkeys(connection.provider for connection in usable))
    return refusal
