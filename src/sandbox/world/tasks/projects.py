"""
The project provider of the demo world: the studio's workspace, its people, projects and tasks.

The same day gives the same records: nothing here looks at a clock or at chance.
"""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sandbox.projects.records import CustomField, Membership, Option, Task, Team, User
from sandbox.projects.records import Workspace as Space
from sandbox.projects.store import ProjectStore, format_time
from sandbox.storage.database import Database
from sandbox.world.people import PEOPLE, STUDIO_ACCOUNT
from sandbox.world.tasks.board_plan import start_of_work

_SEEDED = "world:projects"  # meta key: the day the world was made for
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
_ODD = (
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
    What the project world holds.

    Attributes:
        day: The day it was made for (UTC).
        created: Whether this call wrote it, rather than an earlier one.
        account: The address of the user who sees it.
        workspace: The workspace's id.
        projects: Name to id, archived and private ones among them.
    """

    day: date
    created: bool
    account: str
    workspace: str
    projects: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Studio:
    """What is made first and referred to later: keys or names to ids."""

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


def seed(store: Database, now: datetime | None = None) -> ProjectFacts:
    """Write the projects once; later calls leave the store alone and say what it holds."""
    day = (now or datetime.now(UTC)).astimezone(UTC)
    projects = ProjectStore(store, clock=start_of_work(day).timestamp)
    kept = store.meta(_SEEDED)
    if kept is None:
        with store.transaction():
            _fill(_studio(projects, start_of_work(day)))
            store.set_meta(_SEEDED, day.date().isoformat())
    spaces = projects.workspaces.all()
    return ProjectFacts(
        day=day.date() if kept is None else date.fromisoformat(kept),
        created=kept is None,
        account=STUDIO_ACCOUNT,
        workspace=spaces[0].id,
        projects={one.name: one.id for one in projects.projects.all()},
    )


def _studio(store: ProjectStore, now: datetime) -> _Studio:
    space = store.workspaces.put(
        Space(
            id=store.new_id(),
            name="Harbourlight Studio",
            email_domains=("harbourlight-studio.example",),
        )
    )
    users = {}
    for place, key in enumerate(_MEMBERS):
        person = PEOPLE[key]
        users[key] = store.new_id()
        store.users.put(
            User(
                id=users[key],
                owner=space.id,
                position=float(place),
                name=person.name,
                email=person.email,
            )
        )
    team = store.teams.put(
        Team(id=store.new_id(), owner=space.id, name="Architecture", members=tuple(users.values()))
    )
    names = ("urgent", "Wettbewerb", "waiting for client", "水")
    return _Studio(
        store=store,
        now=now,
        workspace=space.id,
        team=team.id,
        users=users,
        fields={field.name: store.fields.put(field) for field in _fields(store, space.id, users)},
        tags={name: store.add_tag(space.id, name, "light-blue").id for name in names},
    )


def _fields(store: ProjectStore, workspace: str, users: Mapping[str, str]) -> Iterator[CustomField]:
    made: list[CustomField] = []

    def new(name: str, kind: str, *options: str, **rest: Any) -> CustomField:
        field_id = store.new_id()
        choices = tuple(
            Option(id=store.new_id(), name=one, color=color)
            for one, color in zip(options, ("red", "orange", "green", "blue"), strict=False)
        )
        field = CustomField(
            id=field_id,
            owner=workspace,
            position=float(len(made)),
            name=name,
            kind=kind,
            options=choices,
            creator=users["fatou"],
            **rest,
        )
        made.append(field)
        return field

    yield new("Priority", "enum", "High", "Medium", "Low")
    yield new("Status", "enum", "On track", "At risk", "Off track", "Waiting")
    yield new("Disciplines", "multi_enum", "Structure", "Fire", "Acoustics", "Energy")
    yield new("Sheet", "text")
    yield new("Hours", "number", precision=1)
    yield new("Rate", "number", precision=2)
    yield new("Fee", "number", precision=2, formula=(made[4].id, made[5].id))
    yield new("Reviewers", "people")
    yield new("Hand-over", "date")
    yield new("Client code", "text", locked_by=users["henrik"])


def _fill(studio: _Studio) -> None:
    _pavilion(studio)
    _ferry(studio)
    _small(studio, "Kinvara clubhouse", archived=True)
    _small(studio, "Partners only", privacy="private", members=(studio.users["henrik"],))
    _small(studio, "Ideas & leftovers 💡")


def _pavilion(studio: _Studio) -> None:
    """The big one: five sections, sixty tasks, a custom field of every type."""
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
            place = Membership(project=project.id, section=section.id)
            name = f"{_VERBS[stage]} the {room}"
            task = studio.store.add_task(
                studio.workspace,
                name,
                creator=studio.users["saskia"],
                memberships=(place,),
                created_at=studio.ago(days=100 - number),
                modified_at=studio.ago(days=number % 9, hours=number % 5),
                **_filled(studio, number),
            )
            _talk(studio, task, number)
            if number % 15 == 1:
                _steps(studio, task)
    for number, name in enumerate(_ODD):
        _odd(studio, project.id, sections[0].id, number, name)


def _filled(studio: _Studio, number: int) -> dict[str, Any]:
    keys = list(studio.users)
    filled: dict[str, Any] = {
        "values": dict(_values(studio, number)),
        "notes": f"See sheet A-{number:03}.\n\nÜberarbeiten, dann an Lukas." if number % 4 else "",
    }
    if number % 6:
        filled["assignee"] = studio.users[keys[number % len(keys)]]
    if number % 5:
        filled["due_on"] = studio.day(number * 3 - 60)
    if number % 20 == 7:
        filled["due_at"] = f"{studio.day(number * 3 - 60)}T14:30:00.000Z"
    if number % 7 == 0:
        filled["start_on"] = studio.day(number * 3 - 75)
    if number % 3 == 0:
        names = list(studio.tags)
        filled["tags"] = tuple(dict.fromkeys(studio.tags[names[n % 4]] for n in (number, 1)))
    if number % 4 == 0:
        filled["completed_at"] = studio.ago(days=1 + number % 30)
        filled["completed_by"] = studio.users["fatou"]
    if number % 12 == 0:
        filled["subtype"] = "milestone"
    return filled


def _values(studio: _Studio, number: int) -> Iterator[tuple[str, Any]]:
    fields, users = studio.fields, list(studio.users.values())

    def option(name: str, place: int) -> str:
        options = fields[name].options
        return options[place % len(options)].id

    if number % 5:
        yield fields["Priority"].id, option("Priority", number)
    if number % 7:
        yield fields["Status"].id, option("Status", number)
    if number % 2:
        both = dict.fromkeys(option("Disciplines", n) for n in (number, number // 2))
        yield fields["Disciplines"].id, list(both)
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


def _talk(studio: _Studio, task: Task, number: int) -> None:
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


def _steps(studio: _Studio, task: Task) -> None:
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


def _odd(studio: _Studio, project: str, section: str, number: int, name: str) -> None:
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


def _ferry(studio: _Studio) -> None:
    """One with few fields, two sections, and tasks that stand in another project as well."""
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
        place = Membership(project=project.id, section=done.id)
        studio.store.add_task(
            studio.workspace,
            name,
            creator=studio.users["henrik"],
            memberships=(place if number > 2 else studio.store.default_membership(project.id),),
            assignee=studio.users["yuki"],
            due_on=studio.day(10 + number),
            values={fields["Priority"].id: fields["Priority"].options[number % 3].id},
            created_at=studio.ago(days=40 - number),
        )


def _small(studio: _Studio, name: str, **rest: Any) -> None:
    project = studio.store.add_project(
        studio.workspace,
        name,
        creator=studio.users["henrik"],
        team=studio.team,
        created_at=studio.ago(days=300),
        **{"members": tuple(studio.users.values()), **rest},
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
