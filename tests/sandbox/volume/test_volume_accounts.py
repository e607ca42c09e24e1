"""Accounts of the size of real ones."""

from collections import Counter
from datetime import UTC, date, datetime
from functools import partial

import pytest

from sandbox.boards.store import BoardStore
from sandbox.collab import records as r
from sandbox.projects.store import ProjectStore
from sandbox.state import open_state
from sandbox.volume import accounts, calendars, content, mail, tasks
from sandbox.world.tasks import boards, projects

DAY = date(2026, 11, 20)


@pytest.mark.slow
def test_tenant_has_the_sites_libraries_and_files_that_were_asked_for():
    state = open_state(None)
    tenant = content.fill(
        state.database, state.content, DAY, sites=20, libraries=30, files=2 * 800 + 1
    )
    store = state.content
    assert len(store.every(r.Site)) == 20
    assert len(store.every(r.Library)) == 30
    files = Counter(item.drive_id for item in store.every(r.Item) if item.size)
    assert files.pop(tenant.drive) == 1601
    assert set(files.values()) == {1}
    assert len(files) == 29
    folder = store.item(tenant.drive, tenant.folder)
    assert len(store.children(folder)) == 800
    assert store.item(tenant.drive, tenant.file).parent_id == tenant.folder
    assert len(store.rows(tenant.list)) == content.ROWS


@pytest.mark.slow
def test_same_day_gives_the_same_content():
    made = []
    for _ in range(2):
        state = open_state(None)
        tenant = content.fill(state.database, state.content, DAY, sites=2, libraries=3, files=5)
        made.append((tenant, state.content.every(r.Item)))
    assert made[0] == made[1]


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
def test_calendar_lies_around_the_day(mailbox):
    state = open_state(None)
    calendar = calendars.fill(state.calendars, mailbox, DAY, events=360)
    starts = [event.content.start.at.date() for event in state.calendars.events(calendar)]
    assert len(starts) == 360 == len(set(starts))
    assert (starts[0], starts[180]) == (date(2026, 5, 24), DAY)


def test_items_made_later_have_ids_of_their_own():
    state = open_state(None)
    boards.seed(state.database)
    projects.seed(state.database)
    board_id = tasks.fill_board(state.database, DAY, items=50)
    project_id = tasks.fill_project(state.database, DAY, items=50)
    board_store = BoardStore(state.database)
    board = board_store.boards.find(board_id)
    added = board_store.add_item(board, "Later", group="part4", creator_id="")
    assert [item.name for item in board_store.board_items(board)] == [
        *(f"Job {number}" for number in range(50)),
        added.name,
    ]
    project_store = ProjectStore(state.database)
    names = {task.id: task.name for task in project_store.project_tasks(project_id)}
    assert len(names) == 50
    assert project_store.new_id() not in names


def test_all_accounts_are_filled(monkeypatch):
    """With a hundredth of the volume, which each part is given by its own default."""
    for module, name, sizes in (
        (calendars, "fill", {"events": 100}),
        (mail, "fill", {"messages": 1000}),
        (content, "fill", {"sites": 20, "libraries": 30, "files": 2000}),
        (tasks, "fill_board", {"items": 500}),
        (tasks, "fill_project", {"items": 500}),
    ):
        monkeypatch.setattr(module, name, partial(getattr(module, name), **sizes))
    state = open_state(None)
    boards.seed(state.database)
    projects.seed(state.database)
    made = accounts.fill(state, datetime(2026, 11, 20, 9, tzinfo=UTC))
    store = state.content
    assert len(store.every(r.Site)) == 20
    assert len(store.every(r.Library)) == 30
    assert sum(bool(item.size) for item in store.items(made.tenant.drive)) == 2000
    for mailbox in ("provider-a", "provider-b"):
        (calendar,) = (
            listed for listed in state.calendars.calendars(mailbox) if listed.name == calendars.NAME
        )
        assert len(state.calendars.events(calendar)) == 100
    board_store = BoardStore(state.database)
    assert len(board_store.board_items(board_store.boards.find(made.board))) == 500
    assert len(ProjectStore(state.database).project_tasks(made.project)) == 500
