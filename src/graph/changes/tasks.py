"""Rows of tasks: the items of all boards, compared with what the token saw of them."""

from collections.abc import Mapping

from graph.changes.following import Call, Outcome, visible
from graph.changes.listings import ListingFeed
from graph.context import Context
from graph.masking import masks
from graph.tasks import routing
from policy.vocabulary import Surface, TaskOp
from providers import fanout
from providers.failures import Missing, ProviderFailure, TooMuch
from providers.fanout import ConnectionWarning
from providers.ports.tasks import BoardQuery, ItemQuery, ItemVisibility, StalePosition
from providers.records.tasks import TaskItem
from providers.tasks.accounts import TaskAccount

OPERATIONS = (TaskOp.VIEW_ITEMS, TaskOp.VIEW_BOARDS)
# Of the type `TaskItem`, in its order; without its id, its connection, its edges, and the comments,
# which listings do not have.
ATTRIBUTES = (
    *("board_id", "group_id", "group_name", "name", "status", "assignees", "due_date"),
    *("priority", "labels", "description", "created_at", "updated_at", "web_url"),
    *("sub_items", "column_values"),
)
MAX_BOARDS, MAX_ITEMS = 100, 5_000  # of one account; docs/spec/changes.md#limits
SECONDS = 60.0  # that reading an account may take
_PAGE = 200


async def follow(call: Call) -> Mapping[int, Outcome]:
    """Return what each account tells whose items are listed, by its connection."""
    context = call.context
    accounts: dict[str, tuple[TaskAccount, ListingFeed]] = {}
    for name, caller in call.admitted(Surface.TASKS, *OPERATIONS).items():
        account = context.tasks.account(name)
        if account is not None:  # of several accounts of a provider, the first one is listed
            seen = visible(caller.grant, "TaskItem", ATTRIBUTES)
            feed = ListingFeed(call, (name,), seen, most=MAX_ITEMS)
            accounts.setdefault(account.connection.provider, (account, feed))
    results = await fanout.gather_results(
        [_read(context, account, feed.seen) for account, feed in accounts.values()], SECONDS
    )
    outcomes: dict[int, Outcome] = {}
    for (account, feed), result in zip(accounts.values(), results, strict=True):
        if isinstance(result, ProviderFailure):
            outcomes |= feed.failed(result, [ConnectionWarning(account.connection, result)])
        else:
            outcomes |= await feed.compare({account.connection.id: result})
    return outcomes


async def _read(context: Context, account: TaskAccount, seen: tuple[str, ...]) -> list[TaskItem]:
    """
    Read the items of all boards of an account, each once.

    Raises:
        TooMuch: There are too many boards or items.
    """
    hidden = masks.hidden_attributes("TaskItem", routing.caller_on(context, account).grant)
    visibility = ItemVisibility(
        projection=frozenset(seen) - hidden, hidden=hidden, boards=routing.boards(context, account)
    )
    items: dict[str, TaskItem] = {}
    for board_id in await _board_ids(context, account):
        read = await _items(account, board_id, visibility, most=MAX_ITEMS - len(items))
        # An item on several boards is told as on the first of them.
        items |= {item.id: account.item(item, hidden) for item in read if item.id not in items}
    return list(items.values())


async def _board_ids(context: Context, account: TaskAccount) -> list[str]:
    """Return the boards that the token may see, in an order that does not change."""
    query = BoardQuery(only=routing.boards(context, account), limit=_PAGE)
    ids: set[str] = set()
    position = None
    while True:
        page = await account.port.boards(query, after=position, projection=frozenset())
        ids.update(board.id for board in page.boards)
        position = page.position
        if len(ids) > MAX_BOARDS:
            raise TooMuch
        if position is None:
            return sorted(ids)


async def _items(
    account: TaskAccount, board_id: str, visibility: ItemVisibility, *, most: int
) -> list[TaskItem]:
    """Return the items of a board; none of a board that is gone since it was listed."""
    items: list[TaskItem] = []
    position = None
    while True:
        try:
            page = await account.port.items(
                board_id, ItemQuery(limit=_PAGE), after=position, visibility=visibility
            )
        except Missing:
            return []
        except StalePosition:
            raise TooMuch from None
        items += page.items
        position = page.position
        if len(items) > most:
            raise TooMuch
        if position is None:
            return items
