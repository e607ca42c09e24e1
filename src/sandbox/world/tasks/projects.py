"""
The projects account of the demo world: the studio's workspace, people, projects and tasks.

The records depend on the given day alone, not on a clock or on chance.
"""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sandbox.projects.records import CustomField, Membership, Option, Task, Team, User, Workspace
from sandbox.projects.store import ProjectStore, format_time
from sandbox.storage.database import Database
from sandbox.world.people import PEOPLE, STUDIO_ACCOUNT
from sandbox.world.tasks.board_plan import start_of_work

_SEEDED = "world:projects"  # meta key: the day of the world
_MEMBERS = ("nora2", "henrik", "saskia", "matteo", "yuki", "fatou", "lukas", "ingrid", "daniel")

_STAGES = ("Brief", "Sketch design", "Permit", "Details", "Tender")
_ROOMS = (
    "entrance",
    "stair",
    "kitchen",
    "sauna",
    "roof",
    "quay wall",
    "boat lift",
    "façade",
    "ventilation",
    "lighting",
    "garden",
    "model 1:50",
)
_VERBS = ("Draw", "Check", "Price", "Discuss", "Redraw")
_UNUSUAL_NAMES = (
    'Quote " and backslash \\ and {"json": 1}',
    "<b>bold?</b> & <script>alert(1)</script>",
    "桟橋の照明 – Beleuchtung",
    "جناح الكورنيش",
    "👩‍🎨 moodboard",
    "   blanks around   ",
    "T" * 300,
    "",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFacts:
    """
    Contents of the projects account.

    Attributes:
        day: The day of the world (UTC).
        created: Whether this call wrote the records, rather than an earlier one.
        account: Email address of the user whose tokens reach the projects.
        workspace: Id of the workspace.
        projects: Name to id, including archived and private projects.
    """

    day: date
    created: bool
    account: str
    workspace: str
    projects: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Studio:
    """Ids of records that later ones refer to, by key or name, and times relative to *now*."""

    store: ProjectStore
    now: datetime
    workspace: str
    team: str
    users: Mapping[str, str]
    fields: Mapping[str, CustomField]
    tags: Mapping[str, str]

    def ago(self, *, days: int, hours: int = 0) -> str:
        return format_time((self.now - timedelta(days=days, hours=hours)).timestamp())

    def day(self, days: int) -> str:
        return (self.now.date() + timedelta(days=days)).isoformat()


def seed(database: Database, now: datetime | None = None) -> ProjectFacts:
    """Write the projects once; later calls change nothing and return what the store holds."""
    day = (now or datetime.now(UTC)).astimezone(UTC)
    store = ProjectStore(database, clock=start_of_work(day).timestamp)
    seeded_day = database.meta(_SEEDED)
    if seeded_day is None:
        with database.transaction():
            _fill(_add_studio(store, start_of_work(day)))
            database.set_meta(_SEEDED, day.date().isoformat())
    workspaces = store.workspaces.all()
    return ProjectFacts(
        day=day.date() if seeded_day is None else date.fromisoformat(seeded_day),
        created=seeded_day is None,
        account=STUDIO_ACCOUNT,
        workspace=workspaces[0].id,
        projects={project.name: project.id for project in store.projects.all()},
    )


def _add_studio(store: ProjectStore, now: datetime) -> _Studio:
    workspace = store.workspaces.put(
        Workspace(
            id=store.new_id(),
            name="Harbourlight Studio",
            email_domains=("harbourlight-studio.example",),
        )
    )
    users = {}
    for position, key in enumerate(_MEMBERS):
        person = PEOPLE[key]
        users[key] = store.new_id()
        store.users.put(
            User(
                id=users[key],
                owner=workspace.id,
                position=float(position),
                name=person.name,
                email=person.email,
            )
        )
    team = store.teams.put(
        Team(
            id=store.new_id(),
            owner=workspace.id,
            name="Architecture",
            members=tuple(users.values()),
        )
    )
    names = ("urgent", "Wettbewerb", "waiting for client", "水")
    return _Studio(
        store=store,
        now=now,
        workspace=workspace.id,
        team=team.id,
        users=users,
        fields={
            field.name: store.fields.put(field) for field in _fields(store, workspace.id, users)
        },
        tags={name: store.add_tag(workspace.id, name, "light-blue").id for name in names},
    )


def _fields(store: ProjectStore, workspace: str, users: Mapping[str, str]) -> Iterator[CustomField]:
    created: list[CustomField] = []

    def create(name: str, kind: str, *options: str, **fields: Any) -> CustomField:
        field_id = store.new_id()
        choices = tuple(
            Option(id=store.new_id(), name=option, color=color)
            for option, color in zip(options, ("red", "orange", "green", "blue"), strict=False)
        )
        field = CustomField(
            id=field_id,
            owner=workspace,
            position=float(len(created)),
            name=name,
            kind=kind,
            options=choices,
            creator=users["fatou"],
            **fields,
        )
        created.append(field)
        return field

    yield create("Priority", "enum", "High", "Medium", "Low")
    yield create("Status", "enum", "On track", "At risk", "Off track", "Waiting")
    yield create("Disciplines", "multi_enum", "Structure", "Fire", "Acoustics", "Energy")
    yield create("Sheet", "text")
    yield create("Hours", "number", precision=1)
    yield create("Rate", "number", precision=2)
    yield create("Fee", "number", precision=2, formula=(created[4].id, created[5].id))
    yield create("Reviewers", "people")
    yield create("Hand-over", "date")
    yield create("Client code", "text", locked_by=users["henrik"])


def _fill(studio: _Studio) -> None:
    _add_pavilion(studio)
    _add_ferry_pier(studio)
    _add_small_project(studio, "Kinvara clubhouse", archived=True)
    _add_small_project(
        studio, "Partners only", privacy="private", members=(studio.users["henrik"],)
    )
    _add_small_project(studio, "Ideas & leftovers 💡")


def _add_pavilion(studio: _Studio) -> None:
    """Add the largest project: five sections, sixty tasks, a custom field of every type."""
    fields = studio.fields
    project = studio.store.add_project(
        studio.workspace,
        "Corniche pavilion",
        creator=studio.users["saskia"],
        notes="Open hall at the water.\nLayla wants shade at noon.",
        team=studio.team,
        members=tuple(studio.users.values()),
        color="light-green",
        fields=tuple(field.id for field in fields.values()),
        due_on=studio.day(200),
        start_on=studio.day(-100),
        created_at=studio.ago(days=120),
        modified_at=studio.ago(days=1),
    )
    sections = [studio.store.add_section(project.id, name) for name in _STAGES]
    number = 0
    for stage, section in enumerate(sections):
        for room in _ROOMS:
            number += 1
            membership = Membership(project=project.id, section=section.id)
            task = studio.store.add_task(
                studio.workspace,
                f"{_VERBS[stage]} the {room}",
                creator=studio.users["saskia"],
                memberships=(membership,),
                created_at=studio.ago(days=100 - number),
                modified_at=studio.ago(days=number % 9, hours=number % 5),
                **_task_fields(studio, number),
            )
            _add_comments(studio, task, number)
            if number % 15 == 1:
                _add_subtasks(studio, task)
    for number, name in enumerate(_UNUSUAL_NAMES):
        _add_unusual_task(studio, project.id, sections[0].id, number, name)


def _task_fields(studio: _Studio, number: int) -> dict[str, Any]:
    keys = list(studio.users)
    fields: dict[str, Any] = {
        "values": dict(_values(studio, number)),
        "notes": f"See sheet A-{number:03}.\n\nÜberarbeiten, dann an Lukas." if number % 4 else "",
    }
    if number % 6:
        fields["assignee"] = studio.users[keys[number % len(keys)]]
    if number % 5:
        fields["due_on"] = studio.day(number * 3 - 60)
    if number % 20 == 7:
        fields["due_at"] = f"{studio.day(number * 3 - 60)}T14:30:00.000Z"
    if number % 7 == 0:
        fields["start_on"] = studio.day(number * 3 - 75)
    if number % 3 == 0:
        names = list(studio.tags)
        fields["tags"] = tuple(dict.fromkeys(studio.tags[names[n % 4]] for n in (number, 1)))
    if number % 4 == 0:
        fields["completed_at"] = studio.ago(days=1 + number % 30)
        fields["completed_by"] = studio.users["fatou"]
    if number % 12 == 0:
        fields["subtype"] = "milestone"
    return fields


def _values(studio: _Studio, number: int) -> Iterator[tuple[str, Any]]:
    fields, users = studio.fields, list(studio.users.values())

    def option(name: str, index: int) -> str:
        options = fields[name].options
        return options[index % len(options)].id

    if number % 5:
        yield fields["Priority"].id, option("Priority", number)
    if number % 7:
        yield fields["Status"].id, option("Status", number)
    if number % 2:
        ids = dict.fromkeys(option("Disciplines", n) for n in (number, number // 2))
        yield fields["Disciplines"].id, list(ids)
    if number % 3:
        yield fields["Sheet"].id, f"A-{number:03} «{number % 4}»"
    if number % 4:
        yield fields["Hours"].id, number * 1.5
    if number % 8:
        yield fields["Rate"].id, 95.25
    if number % 9 == 0:
        yield fields["Reviewers"].id, [users[number % 3], users[3 + number % 4]]
    if number % 6 == 0:
        yield fields["Hand-over"].id, {"date": studio.day(number), "date_time": None}
    yield fields["Client code"].id, f"CF-{number:04}"


def _add_comments(studio: _Studio, task: Task, number: int) -> None:
    rounds = 27 if number == 5 else 2 if number % 3 == 0 else 0
    writers = ("henrik", "yuki", "ingrid")
    for turn in range(rounds):
        text = f"Round {turn + 1}: looks right to me & the <stair> too."
        studio.store.add_story(
            task,
            text,
            creator=studio.users[writers[turn % 3]],
            created_at=studio.ago(days=rounds - turn, hours=number % 20),
            html_text=f"<body>{html.escape(text, quote=False)}</body>",
        )


def _add_subtasks(studio: _Studio, task: Task) -> None:
    for turn, name in enumerate(("Measure", "Ask Amara", "Draw", "Have it checked")):
        studio.store.add_task(
            studio.workspace,
            name,
            creator=studio.users["yuki"],
            parent=task.id,
            assignee=studio.users["daniel"] if turn % 2 else None,
            due_on=studio.day(turn),
            completed_at=studio.ago(days=2) if turn == 0 else None,
            created_at=studio.ago(days=30),
            modified_at=studio.ago(days=turn),
        )


def _add_unusual_task(studio: _Studio, project: str, section: str, number: int, name: str) -> None:
    studio.store.add_task(
        studio.workspace,
        name,
        creator=studio.users["nora2"],
        memberships=(Membership(project=project, section=section),),
        assignee=studio.users["nora2"],
        notes=f"Notes of {name[:40]}\n\ttab and \u2028separator",
        created_at=studio.ago(days=4),
        modified_at=studio.ago(days=number),
    )


def _add_ferry_pier(studio: _Studio) -> None:
    """Add a project with few custom fields and two sections."""
    fields = studio.fields
    project = studio.store.add_project(
        studio.workspace,
        "Setouchi ferry pier 桟橋",
        creator=studio.users["henrik"],
        team=studio.team,
        members=tuple(studio.users.values()),
        default_view="board",
        fields=(fields["Priority"].id, fields["Sheet"].id),
        created_at=studio.ago(days=60),
    )
    done = studio.store.add_section(project.id, "済 Done")
    for number, name in enumerate(("Pontoon", "Gangway", "Waiting room", "Ticket office", "Signs")):
        membership = Membership(project=project.id, section=done.id)
        studio.store.add_task(
            studio.workspace,
            name,
            creator=studio.users["henrik"],
            memberships=(
                membership if number > 2 else studio.store.default_membership(project.id),
            ),
            assignee=studio.users["yuki"],
            due_on=studio.day(10 + number),
            values={fields["Priority"].id: fields["Priority"].options[number % 3].id},
            created_at=studio.ago(days=40 - number),
        )


def _add_small_project(studio: _Studio, name: str, **fields: Any) -> None:
    project = studio.store.add_project(
        studio.workspace,
        name,
        creator=studio.users["henrik"],
        team=studio.team,
        created_at=studio.ago(days=300),
        **{"members": tuple(studio.users.values()), **fields},
    )
    for number in range(1, 7):
        studio.store.add_task(
            studio.workspace,
            f"{name}: point {number}",
            creator=studio.users["henrik"],
            memberships=(studio.store.default_membership(project.id),),
            due_on=studio.day(-200 + number) if number % 2 else None,
            created_at=studio.ago(days=280 - number),
        )
