"""Upstream calls behind edges, counted at the sandbox."""

import json

import calendar_world
import pytest
import whole_world


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("calls")) as world:
        for calendar in ("work", "home", "office", "club"):
            for number in (1, 2):
                start, end = (calendar_world.at(number, clock) for clock in ("09:00", "10:00"))
                content = calendar_world.meeting(start, end, f"Talk {number}")
                world.agendas.plant(calendar, f"{calendar} {number}", content)
        yield world


ROWS = [
    pytest.param(
        "emails { emails { % } }", "thread { subject messageCount }", 2, id="threads: 1 per mailbox"
    ),
    pytest.param(
        "emails { emails { % } }",
        "thread { subject } again: thread { messages { id } }",
        2,
        id="two aliases are one read",
    ),
    pytest.param(
        "emails { emails { % } }",
        "from { person { lastContact { email { subject receivedAt } } } }",
        0,
        id="the last contact: the page tells it",
    ),
    pytest.param(
        "taskItems(boardId: $boardId) { items { % } }", "board { board: name }", 1, id="one board"
    ),
    pytest.param(
        "taskItems(boardId: $boardId) { items { subItems { % } } }",
        "parent { name } again: parent { status }",
        1,
        id="the item of sub-items",
    ),
    pytest.param("collabFiles { files { % } }", "site { displayName }", 1, id="sites: 1 batch"),
    pytest.param("collabFiles { files { % } }", "parent { name }", 1, id="parents: 1 batch"),
    pytest.param(
        "collabFiles { files { % } }",
        "drive { name } again: drive { webUrl }",
        1,
        id="drives: 1 batch",
    ),
    pytest.param(
        "collabFiles { files { % } }", "listItem { name fields }", 1, id="list items: 1 batch"
    ),
    pytest.param(
        "collabFiles { files { % } }",
        "permissions { id } again: permissions { role }",
        2,
        id="permissions: 1 batch of files, and 1 of permissions",
    ),
    pytest.param(
        "collabFiles { files { % } }",
        "sensitivityLabel { labelId } again: sensitivityLabel { labelDisplayName }",
        2,
        id="labels: 1 batch of files, and 1 of labels",
    ),
    pytest.param(
        "collabSites { sites { % } }", "drives { drives { name } }", 1, id="libraries: 1 batch"
    ),
    pytest.param(
        'collabSearch(q: "a", entityTypes: "driveItem") { hits { % } }',
        "file { name size }",
        1,
        id="files of hits: 1 batch",
    ),
    pytest.param(
        "collabListItems(siteId: $siteId, listId: $listId) { items { % } }",
        "list { displayName }",
        0,
        id="the list of the page, which is cached",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "edge", "more"), ROWS)
def test_the_objects_of_a_page_are_read_together(world, page, edge, more):
    without = calls(world, page.replace("%", "id"))
    with_edge = calls(world, page.replace("%", f"id {edge}"))

    assert with_edge - without == more


# Many objects of a kind by their ids: the list that tells them, and the root field.
OBJECTS = [
    pytest.param(
        "taskItems(boardId: $boardId) { items { id } }",
        "taskItem(itemId: #) { item { name status } }",
        1,
        id="items",
    ),
    pytest.param(
        "collabFiles { files { id } }", "collabFile(fileId: #) { file { size } }", 1, id="files"
    ),
    pytest.param(
        "collabFiles { files { id } }",
        "collabFilePermissions(fileId: #) { permissions { id } }",
        2,
        id="permissions",
    ),
    pytest.param(
        "collabFiles { files { id } }",
        "fileSensitivityLabel(fileId: #) { labelId }",
        2,
        id="labels",
    ),
    pytest.param(
        "calendarEvents { events { id } }",
        "calendarEvent(eventId: #) { event { title } }",
        2,
        id="events: 1 batch per account",
    ),
    pytest.param("collabSites { sites { id } }", "collabSite(siteId: #) { name }", 1, id="sites"),
    pytest.param(
        "collabSites { sites { id } }",
        "collabDrives(siteId: #) { drives { id } }",
        1,
        id="libraries",
    ),
    pytest.param(
        "collabDrives(siteId: $siteId) { drives { id } }",
        "collabDrive(driveId: #) { name }",
        1,
        id="drives",
    ),
    pytest.param(
        "collabLists(siteId: $siteId) { lists { id } }",
        "collabList(siteId: $siteId, listId: #) { columns { name } }",
        1,
        id="lists",
    ),
    pytest.param(
        "collabListItems(siteId: $siteId, listId: $listId) { items { id } }",
        "collabListItem(siteId: $siteId, listId: $listId, itemId: #) { fields }",
        1,
        id="list items",
    ),
    pytest.param(
        "taskBoards { boards { id } }", "taskBoard(boardId: #) { board { name } }", 1, id="boards"
    ),
]


@pytest.mark.parametrize(("listing", "root", "made"), OBJECTS)
def test_objects_that_are_wanted_together_are_read_together(world, listing, root, made):
    ids = [entry["id"] for entry in entries(ask(world, listing))]
    aliases = [
        f"r{number}: {root.replace('#', json.dumps(name))}" for number, name in enumerate(ids)
    ]

    assert len(ids) > 1
    assert calls(world, " ".join(aliases)) == made


ALIASES = [
    pytest.param("email(emailId: $emailId)", "subject", "receivedAt", id="email"),
    pytest.param("emailThread(threadId: $threadId)", "subject", "messageCount", id="thread"),
    pytest.param("taskBoard(boardId: $boardId)", "board { name }", "board { id }", id="board"),
    pytest.param(
        "taskItem(itemId: $itemId)",
        "item { name }",
        "item { status columnValues { text } }",
        id="item",
    ),
    pytest.param("collabFile(fileId: $fileId)", "file { name }", "file { size }", id="file"),
    pytest.param(
        "collabFilePermissions(fileId: $fileId)",
        "permissions { id }",
        "permissions { role }",
        id="permissions",
    ),
    pytest.param("collabSite(siteId: $siteId)", "displayName", "webUrl", id="site"),
    pytest.param(
        "collabList(siteId: $siteId, listId: $listId)", "displayName", "webUrl", id="list"
    ),
]


@pytest.mark.parametrize(("root", "members", "other_members"), ALIASES)
def test_two_aliases_of_one_object_make_one_call(world, root, members, other_members):
    alone = calls(world, f"{root} {{ {members} }}")

    assert alone == (2 if "Permissions" in root else 1)
    both = f"{root} {{ {members} }} again: {root} {{ {other_members} }}"
    assert calls(world, both) == alone


def calls(world, body):
    """Return the upstream calls of a document: parts of a batch are one call; caches are warm."""
    for _ in range(2):
        for upstream in world.world.sandbox.upstreams.values():
            upstream.calls.clear()
        ask(world, body)
    made = [
        call["batch"] or index
        for upstream in world.world.sandbox.upstreams.values()
        for index, call in enumerate(upstream.calls)
        if not call["path"].endswith(("batch/gmail/v1", "batch/calendar/v3", "$batch"))
    ]
    return len(set(made))


def ask(world, body):
    """Return the data of a document whose variables are ids of what is there."""
    used = [name for name in world.parameters if f"${name}" in body]
    head = f"query ({', '.join(f'${name}: String!' for name in used)}) " if used else ""
    content = {
        "query": f"{head}{{ {body} }}",
        "variables": {name: world.parameters[name] for name in used},
    }
    response, _ = world.call("POST", "/graphql", json=content)
    assert "errors" not in response.json(), response.text
    return response.json()["data"]


def entries(data):
    """Return the only list in *data*."""
    while not isinstance(data, list):
        (data,) = data.values()
    return data
