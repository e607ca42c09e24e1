"""
A small world of tasks: boards at the board provider, a project at the other one.

`fill` writes both into a sandbox's store; what it returns knows the ids by their names here.
"""

import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import world as worlds

from gateway.app import assemble
from sandbox.app import Sandbox, create
from sandbox.boards.records import Column, Group, User
from sandbox.boards.settings import dropdown_settings, status_settings
from sandbox.boards.store import BoardStore
from sandbox.projects.records import CustomField, Membership, Option, Workspace
from sandbox.projects.records import User as Member
from sandbox.projects.store import ProjectStore

ME = "me@tasks.example"
BOARD_SCOPES = [
    *("me:read", "boards:read", "boards:write", "updates:read", "updates:write", "users:read")
]
WIRES = {"BOARDS": ("tasks", BOARD_SCOPES), "PROJECTS": ("projects", ["default"])}
MADE = "2026-11-01T08:00:00Z"
CHANGED = "2026-11-02T09:30:00Z"

STATUSES = ("Working", "Done", "Stuck")
COLUMNS = (
    Column(id="state", title="Status", type="status", settings=status_settings(STATUSES)),
    Column(
        id="prio",
        title="Priority",
        type="status",
        settings=status_settings(("High", "Low"), done=0),
    ),
    Column(id="owner", title="Owner", type="people"),
    Column(id="helper", title="Helper", type="people"),
    Column(id="due", title="Due", type="date"),
    Column(id="span", title="Span", type="timeline"),
    Column(id="note", title="Note", type="text"),
    Column(id="story", title="Story", type="long_text"),
    Column(id="about", title="Description", type="long_text"),
    Column(id="kind", title="Kind", type="dropdown", settings=dropdown_settings("Wood", "Metal")),
    Column(id="tag", title="Tags", type="tags"),
    Column(id="hours", title="Hours", type="numbers"),
    Column(id="double", title="Double", type="formula", settings={"formula": "{hours}*2"}),
    Column(id="made", title="Made", type="creation_log"),
    Column(id="touched", title="Touched", type="last_updated"),
)
AT = {"changed_at": "2026-11-02T09:00:00.000Z"}


@dataclass
class TaskWorld:
    """
    The boards, the project and the connections.

    Attributes:
        ids: Names to ids: boards, items, tags, users, sections, fields, comments.
        connections: Connection ids by provider.
    """

    sandbox: Sandbox
    boards: BoardStore
    projects: ProjectStore
    ids: dict[str, str] = field(default_factory=dict)
    connections: dict[str, int] = field(default_factory=dict)
    both: int = 0

    def __getitem__(self, name: str) -> str:
        return self.ids[name]

    def documents(self) -> list[str]:
        """Return the documents that the board provider was sent since `forget`."""
        return [call["document"] for call in self.sandbox.upstreams["tasks"].calls]

    def calls(self) -> list[str]:
        """Return "GET /path" of each call to the project provider since `forget`."""
        return [
            f"{call['method']} {call['path']}" for call in self.sandbox.upstreams["projects"].calls
        ]

    def fields(self) -> list[str]:
        """Return the fields requested from the project provider, one entry per path."""
        return [
            name
            for call in self.sandbox.upstreams["projects"].calls
            for text in call["query"].get("opt_fields", [])
            for name in text.split(",")
        ]

    def forget(self) -> None:
        """Empty the call logs."""
        for name in ("tasks", "projects"):
            self.sandbox.upstreams[name].calls.clear()


@asynccontextmanager
async def opened(template, known, folder):
    """Open a copy of the tests' world in *folder*, without rate limits."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    sandbox = create(folder, public_base=f"{worlds.ORIGIN}/sandbox")
    settings = worlds._settings(folder).model_copy(update={"rate_limits": "off"})
    gateway = assemble(settings, sandbox=sandbox)
    with worlds.without_strange_calls(sandbox):
        async with gateway.running():
            yield worlds.World(
                gateway=gateway,
                sandbox=sandbox,
                operator_id=known["operator_id"],
                stranger_id=known["stranger_id"],
                mails={},
                connections=known["connections"],
                admin=worlds._client(gateway, {"authorization": f"Bearer {worlds.ADMIN}"}),
            )


async def resource(world, name: str) -> int:
    """Make a resource that the operator shares with the other one."""
    people = (world.operator_id, world.stranger_id)
    return await worlds.add_resource(world.admin, world.sandbox, name, *people)


async def connect(world, tasks: TaskWorld, provider: str, *, resource: int, **more: Any) -> int:
    """Connect the account ME at a provider; *more* are members of the connection."""
    upstream, scopes = WIRES[provider]
    token = world.sandbox.state.tokens.issue(upstream, ME, more.pop("tokenScopes", scopes))
    body = {
        "resourceId": resource,
        "operatorId": world.operator_id,
        "kind": "tasks",
        "provider": provider,
        "accountEmail": ME,
        "grantedScopes": ["boards:write", "tasks:write"],
        "credentials": {"apiToken": token},
        **more,
    }
    connection = await worlds._made(world.admin, "connections", body)
    tasks.connections.setdefault(provider, connection)
    return connection


def fill(sandbox: Sandbox, **more: Any) -> TaskWorld:
    """Write the boards and the project."""
    store = sandbox.state.database
    world = TaskWorld(sandbox, BoardStore(store), ProjectStore(store), **more)
    with store.transaction():
        _boards(world)
        _projects(world)
    return world


def _boards(world: TaskWorld) -> None:
    store, ids = world.boards, world.ids
    for number, (key, name) in enumerate((("me", "Mo"), ("ana", "Ana Müller"), ("bo", "Bo Li"))):
        user_id = store.new_id("user")
        ids[key] = user_id
        store.users.put(
            User(
                id=user_id,
                position=float(number),
                name=name,
                email=ME if key == "me" else f"{key}@tasks.example",
                created_at=MADE,
            )
        )
    for name in ("urgent", "winter"):
        ids[name] = store.get_or_create_tag(name).id
    me = ids["me"]
    kitchen = store.add_board(
        "Kitchen",
        creator_id=me,
        description="All about the kitchen",
        columns=COLUMNS,
        groups=(Group(id="todo", title="To do"), Group(id="done", title="Finished")),
        tags=(ids["urgent"],),
        created_at=MADE,
        updated_at=CHANGED,
    )
    ids["kitchen"] = kitchen.id
    below = store.add_board(
        "Subitems of Kitchen",
        creator_id=me,
        type="sub_items_board",
        columns=(
            Column(id="step", title="Status", type="status", settings=status_settings(STATUSES)),
            Column(id="who", title="Owner", type="people"),
        ),
        created_at=MADE,
    )
    ids["below"] = below.id
    sub = Column(id="sub", title="Subitems", type="subtasks", settings={"boardIds": [below.id]})
    kitchen = store.change_board(kitchen, columns=(*kitchen.columns, sub))

    def item(name: str, text: str, board: Any = kitchen, **more: Any) -> None:
        group = more.pop("group", "todo" if board is kitchen else board.groups[0].id)
        made = store.add_item(
            board, text, group=group, creator_id=me, created_at=MADE, updated_at=CHANGED, **more
        )
        ids[name] = made.id

    item(
        "door",
        "Paint the door",
        values={
            "state": {"index": 0, **AT},
            "prio": {"index": 0, **AT},
            "owner": {"personsAndTeams": [{"id": int(ids["ana"]), "kind": "person"}], **AT},
            "helper": {"personsAndTeams": [{"id": int(ids["bo"]), "kind": "person"}], **AT},
            "due": {"date": "2026-12-01", "time": "13:00:00", "icon": "", **AT},
            "span": {"from": "2026-11-20", "to": "2026-11-30", **AT},
            "note": "two coats",
            "story": {"text": "It was blue.", **AT},
            "about": {"text": "Paint it green.", **AT},
            "kind": {"ids": [1], **AT},
            "tag": {"tag_ids": [int(ids["urgent"])]},
            "hours": "2",
        },
    )
    item(
        "table",
        "Sand the table",
        values={
            "state": {"index": 1, **AT},
            "owner": {"personsAndTeams": [{"id": int(ids["bo"]), "kind": "person"}], **AT},
        },
    )
    item("floor", "Wax the floor", group="done", values={"state": {"index": 1, **AT}})
    item("hinge", "Oil the hinge", below, parent=ids["door"], values={"step": {"index": 2, **AT}})
    for name, text, who, at in (
        ("first", "Which green?", "ana", "2026-11-03T10:00:00Z"),
        ("second", "<p>Moss &amp; fern.<br>Two tins.</p>", "bo", "2026-11-04T11:00:00Z"),
    ):
        made = store.add_update(ids["door"], text, creator_id=ids[who], created_at=at)
        ids[name] = made.id
    for name, title, more in (
        ("garden", "Garden", {}),
        ("attic", "Attic", {"state": "archived"}),
        ("vault", "Vault", {"kind": "private", "subscribers": (ids["ana"],)}),
    ):
        board = store.add_board(title, creator_id=ids["ana"], created_at=MADE, **more)
        ids[name] = board.id
        if name == "garden":
            item("hedge", "Cut the hedge", board)


def _projects(world: TaskWorld) -> None:
    store, ids = world.projects, world.ids
    space = store.workspaces.put(Workspace(id=store.new_id(), name="Studio"))
    ids["space"] = space.id
    for number, (key, name) in enumerate((("p-me", "Mo"), ("p-ana", "Ana Müller"))):
        ids[key] = store.new_id()
        email = ME if key == "p-me" else "ana@tasks.example"
        store.users.put(
            Member(id=ids[key], owner=space.id, position=float(number), name=name, email=email)
        )
    for number, (key, name, kind, choices) in enumerate(
        (
            ("f-priority", "Priority", "enum", ("High", "Low")),
            ("f-stage", "Stage", "enum", ("Brief", "Build")),
            ("f-parts", "Parts", "multi_enum", ("Roof", "Wall")),
            ("f-sheet", "Sheet", "text", ()),
            ("f-hours", "Hours", "number", ()),
            ("f-crew", "Crew", "people", ()),
            ("f-start", "Start", "date", ()),
            ("f-locked", "Locked", "text", ()),
        )
    ):
        options = tuple(Option(id=store.new_id(), name=choice) for choice in choices)
        ids |= {f"{key}-{option.name}": option.id for option in options}
        ids[key] = store.new_id()
        store.fields.put(
            CustomField(
                id=ids[key],
                owner=space.id,
                position=float(number),
                name=name,
                kind=kind,
                options=options,
                precision=1,
                locked_by=ids["p-ana"] if key == "f-locked" else None,
            )
        )
    names = ("priority", "stage", "parts", "sheet", "hours", "crew", "start", "locked")
    project = store.add_project(
        space.id,
        "Pavilion",
        creator=ids["p-me"],
        notes="At the water.",
        fields=tuple(ids[f"f-{name}"] for name in names),
        created_at=MADE,
        modified_at=CHANGED,
    )
    ids["pavilion"] = project.id
    ids["untitled"] = store.sections.of(project.id)[0].id
    ids["sketches"] = store.add_section(project.id, "Sketches").id
    ids["p-tag"] = store.add_tag(space.id, "wet").id
    membership = Membership(project=project.id, section=ids["sketches"])

    def task(name: str, text: str, **more: Any) -> None:
        made = store.add_task(
            space.id, text, creator=ids["p-me"], created_at=MADE, modified_at=CHANGED, **more
        )
        ids[name] = made.id

    task(
        "roof",
        "Draw the roof",
        memberships=(membership,),
        notes="Flat, or not.",
        assignee=ids["p-ana"],
        due_on="2026-12-24",
        tags=(ids["p-tag"],),
        values={
            ids["f-priority"]: ids["f-priority-High"],
            ids["f-stage"]: ids["f-stage-Brief"],
            ids["f-parts"]: [ids["f-parts-Roof"]],
            ids["f-sheet"]: "A-1",
            ids["f-hours"]: 2.5,
            ids["f-crew"]: [ids["p-me"]],
            ids["f-start"]: {"date": "2026-11-30", "date_time": None},
        },
    )
    for number in range(3):
        task(
            f"wall{number}", f"Build wall {number}", memberships=(membership,), assignee=ids["p-me"]
        )
    task("gutter", "Fix the gutter", parent=ids["roof"])
    at = "2026-11-05T12:00:00Z"
    ids["remark"] = store.add_story(
        store.tasks.find(ids["roof"]), "Steep?", creator=ids["p-ana"], created_at=at
    ).id
    other = store.add_project(space.id, "Attic rooms", creator=ids["p-me"], archived=True)
    ids["rooms"] = other.id
    hidden = store.add_project(
        space.id, "Partners", creator=ids["p-ana"], privacy="private", members=(ids["p-ana"],)
    )
    ids["partners"] = hidden.id
