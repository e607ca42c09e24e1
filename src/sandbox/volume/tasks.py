"""A board and a project of very many items."""

from datetime import UTC, date, datetime, time

from sandbox.boards import store as board_store
from sandbox.boards.records import Column, Group, Item
from sandbox.boards.settings import status_settings
from sandbox.projects import store as project_store
from sandbox.projects.records import Task
from sandbox.storage.database import Database
from sandbox.world.people import STUDIO_ACCOUNT, YARD_ACCOUNT

ITEMS = 50_000
NAME = "Every job"
_GROUPS = tuple(Group(id=f"part{number}", title=f"Part {number}") for number in range(5))


def fill_board(database: Database, day: date, *, items: int = ITEMS) -> str:
    """Add a board with *items* items; return its id."""
    store = board_store.BoardStore(database, clock=_midnight(day).timestamp)
    user = store.user_by_email(YARD_ACCOUNT)
    creator = "" if user is None else user.id
    columns = (
        Column(id="status", title="Status", type="status",
               settings=status_settings()),
        Column(id="note", title="Note", type="text"),
    )  # fmt: skip
    board = store.add_board(NAME, creator_id=creator, columns=columns, groups=_GROUPS)
    first = int(store.new_id("item"))
    now = store.now()
    store.items.put_many(
        Item(
            id=str(first + number),
            owner=board.id,
            position=float(first + number),
            name=f"Job {number}",
            group=_GROUPS[number * len(_GROUPS) // items].id,
            creator_id=creator,
            updater_id=creator,
            created_at=now,
            updated_at=now,
            values={"status": {"index": number % 3}, "note": f"Note {number}"},
        )
        for number in range(items)
    )
    used = int(database.meta("counter:boards.item") or 0)
    database.set_meta("counter:boards.item", str(used + items))  # past the ids above
    return board.id


def fill_project(database: Database, day: date, *, items: int = ITEMS) -> str:
    """Add a project with *items* tasks; return its id."""
    store = project_store.ProjectStore(database, clock=_midnight(day).timestamp)
    workspace = store.workspaces.all()[0].id
    user = store.user_by_email(STUDIO_ACCOUNT)
    creator = "" if user is None else user.id
    project = store.add_project(workspace, NAME, creator=creator)
    membership = store.default_membership(project.id)
    first, now = int(store.new_id()), store.now()
    store.tasks.put_many(
        Task(
            id=str(first + number),
            owner=workspace,
            position=float(first + number),
            name=f"Job {number}",
            notes=f"Note {number}",
            creator=creator,
            followers=(creator,),
            memberships=(membership,),
            created_at=now,
            modified_at=now,
        )
        for number in range(1, items + 1)
    )
    used = int(database.meta("counter:projects.id") or 0)
    database.set_meta("counter:projects.id", str(used + items))  # past the ids above
    return project.id


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
