"""
The boards account of the demo world: the yard's people and boards.

The records depend on the given day alone, not on a clock or on chance.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sandbox.boards.records import Board, Column, Folder, Group, Team, User, Workspace
from sandbox.boards.settings import numbers_settings, status_settings
from sandbox.boards.store import BoardStore
from sandbox.storage.database import Database
from sandbox.world.people import PEOPLE, YARD_ACCOUNT
from sandbox.world.tasks import boat_orders
from sandbox.world.tasks.board_plan import (
    BoardBuilder,
    BoardPlan,
    CommentPlan,
    ItemPlan,
    start_of_work,
)

_SEEDED = "world:boards"  # meta key: the day of the world
_MEMBERS = (
    *("nora", "jonas", "astrid", "mikael", "priya", "tomasz", "linnea", "oskar", "elif"),
    *("henrik", "saskia", "fatou", "lukas", "yamamoto"),
)
_KINDS = {"nora": "admin", "linnea": "admin", "oskar": "view_only", "yamamoto": "guest"}
_TAGS = ("urgent", "winter", "insurance", "ärende", "yard")
_STAGES = ("Sketch", "Permit", "On site", "Handed over")
_HOUSES = (
    ("Boathouse Nyström", "sketch", "saskia"),
    ("Elbspeicher, attic", "permit", "lukas"),
    ("Sauna on the point", "permit", "henrik"),
    ("Maison Besson", "site", "fatou"),
    ("Corniche pavilion / جناح", "site", "saskia"),
    ("Setouchi ferry pier 桟橋", "site", "henrik"),
    ("Kinvara rowing club", "done", "fatou"),
    ("Lock keeper's cabin", "done", "lukas"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardFacts:
    """
    Contents of the boards account.

    Attributes:
        day: The day of the world (UTC).
        created: Whether this call wrote the records, rather than an earlier one.
        account: Email address of the user whose tokens reach the boards.
        boards: Name to id, including archived and private boards.
    """

    day: date
    created: bool
    account: str
    boards: Mapping[str, str]


def seed(database: Database, now: datetime | None = None) -> BoardFacts:
    """Write the boards once; later calls change nothing and return what the store holds."""
    day = (now or datetime.now(UTC)).astimezone(UTC)
    store = BoardStore(database, clock=start_of_work(day).timestamp)
    seeded_day = database.meta(_SEEDED)
    if seeded_day is None:
        with database.transaction():
            _fill(store, start_of_work(day))
            database.set_meta(_SEEDED, day.date().isoformat())
    return BoardFacts(
        day=day.date() if seeded_day is None else date.fromisoformat(seeded_day),
        created=seeded_day is None,
        account=YARD_ACCOUNT,
        boards={board.name: board.id for board in store.boards.all()},
    )


def _fill(store: BoardStore, now: datetime) -> None:
    users = _add_people(store, now)
    tags = {name: store.get_or_create_tag(name).id for name in _TAGS}
    yard, studio, folder = _add_workspaces(store)
    builder = BoardBuilder(store, now, users)
    houses = builder.build(_houses(now.date(), users, studio))
    linked = {key: item.id for key, item in builder.items.items()}
    subitems_board = _add_subitems_board(builder, yard)
    orders = boat_orders.plan(
        boat_orders.JobReferences(day=now.date(), users=users, tags=tags, houses=linked),
        relation={"boardIds": [int(houses.id)]},
        subitems={"boardIds": [int(subitems_board.id)]},
        fields={
            "description": "Every job of the yard, from the first call to the sea trial.",
            "workspace_id": yard,
            "folder_id": folder,
            "tags": tuple(tags.values()),
        },
    )
    builder.build(orders, subitems_board)
    for plan in _other_boards(now.date(), users, yard, studio):
        builder.build(plan)


def _add_people(store: BoardStore, now: datetime) -> dict[str, str]:
    created_at = (now - timedelta(days=900)).strftime("%Y-%m-%dT%H:%M:%SZ")
    rig, wood = (store.new_id("team") for _ in range(2))
    store.teams.put(Team(id=rig, position=1.0, name="Rigging loft"))
    store.teams.put(Team(id=wood, position=2.0, name="Träverkstan"))
    teams = {"astrid": (rig,), "jonas": (wood,), "mikael": (wood,), "oskar": (wood, rig)}
    users: dict[str, str] = {}
    for position, key in enumerate(_MEMBERS):
        person = PEOPLE[key]
        users[key] = store.new_id("user")
        store.users.put(
            User(
                id=users[key],
                position=float(position),
                name=person.name,
                email=person.email,
                title=person.role,
                time_zone=person.zone,
                kind=_KINDS.get(key, "member"),
                teams=teams.get(key, ()),
                created_at=created_at,
            )
        )
    return users


def _add_workspaces(store: BoardStore) -> tuple[str, str, str]:
    at = "2024-01-08T09:00:00Z"
    yard, studio, folder = (store.new_id(kind) for kind in ("workspace", "workspace", "folder"))
    store.workspaces.put(
        Workspace(id=yard, position=0.0, name="Yard", description="Boats", created_at=at)
    )
    store.workspaces.put(Workspace(id=studio, position=1.0, name="Studio – Häuser", created_at=at))
    store.folders.put(Folder(id=folder, owner=yard, name="Running jobs", created_at=at))
    return yard, studio, folder


def _add_subitems_board(builder: BoardBuilder, workspace: str) -> Board:
    plan = BoardPlan(
        name=f"Subitems of {boat_orders.NAME}",
        columns=boat_orders.subitem_columns(),
        groups=(Group(id="topics", title="Subitems"),),
        items=(),
        fields={"type": "sub_items_board", "workspace_id": workspace},
    )
    return builder.build(plan)


def _houses(day: date, users: Mapping[str, str], workspace: str) -> BoardPlan:
    """Plan a board of another shape: own column ids, no priority column, dates as a timeline."""
    return BoardPlan(
        name="Waterfront houses",
        author="henrik",
        columns=(
            Column(
                id="status_1",
                title="Stage",
                type="status",
                settings=status_settings(_STAGES, done=3),
            ),
            Column(id="people_1", title="Architect", type="people"),
            Column(id="timeline_1", title="Time", type="timeline"),
            Column(id="text_1", title="Parcel", type="text"),
        ),
        groups=(
            Group(id="sketch", title="Sketch"),
            Group(id="permit", title="Permit"),
            Group(id="site", title="On site"),
            Group(id="done", title="Handed over"),
        ),
        items=_house_items(day, users),
        fields={"workspace_id": workspace},
    )


def _house_items(day: date, users: Mapping[str, str]) -> list[ItemPlan]:
    return [
        ItemPlan(
            key=name,
            name=name,
            group=group,
            author=author,
            age_days=200 - number * 9,
            changed_days_ago=number,
            values={
                "status_1": {"label": _STAGES[number // 2]},
                "people_1": {"personsAndTeams": [{"id": int(users[author]), "kind": "person"}]},
                "timeline_1": {
                    "from": (day + timedelta(days=number * 7 - 20)).isoformat(),
                    "to": (day + timedelta(days=number * 7 + 30)).isoformat(),
                },
                "text_1": f"Parcel {100 + number}:{number}",
            },
            comments=(
                CommentPlan(
                    author="fatou", body=f"<p>Meeting about {number} moved.</p>", hours=30 + number
                ),
            )
            if number % 2
            else (),
        )
        for number, (name, group, author) in enumerate(_HOUSES)
    ]


def _other_boards(
    day: date, users: Mapping[str, str], yard: str, studio: str
) -> Iterator[BoardPlan]:
    yield _paint_stock(day, yard)
    yield _winter_storage(day, users, yard)
    yield BoardPlan(
        name="Salaries",
        author="linnea",
        columns=(Column(id="numbers_1", title="Monthly", type="numbers"),),
        groups=(Group(id="topics", title="All"),),
        items=[
            ItemPlan(name=f"Row {n}", group="topics", author="linnea", values={"numbers_1": "1"})
            for n in range(5)
        ],
        fields={"kind": "private", "workspace_id": yard},
    )
    yield BoardPlan(
        name="Yard handbook",
        columns=(),
        groups=(Group(id="topics", title="Chapters"),),
        items=(),
        fields={"type": "document", "workspace_id": yard},
    )
    yield _competitions(day, users, studio)


def _competitions(day: date, users: Mapping[str, str], workspace: str) -> BoardPlan:
    """Plan a second board with text, status, date and people: all that the tasks surface needs."""
    entries = (
        ("Waterfront Prize", "Göteborg"),
        ("Harbour bath", "Aarhus"),
        ("Ferry terminal", "Gdańsk"),
        ("Quay 7", "Kobe"),
        ("Bell tower", "Bergen"),
    )
    return BoardPlan(
        name="Competition entries 設計競技",
        author="henrik",
        columns=(
            Column(id="status_9", title="Status", type="status", settings=status_settings()),
            Column(id="date_9", title="Deadline", type="date"),
            Column(id="person_9", title="Lead", type="people"),
            Column(id="text_9", title="Organiser", type="text"),
        ),
        groups=(Group(id="open", title="Open"), Group(id="closed", title="Closed")),
        items=[
            ItemPlan(
                name=name,
                group="open" if number < 3 else "closed",
                author="henrik",
                values={
                    "status_9": {"index": number % 3},
                    "date_9": {"date": (day + timedelta(days=30 * number - 40)).isoformat()},
                    "person_9": {
                        "personsAndTeams": [{"id": int(users["saskia"]), "kind": "person"}]
                    },
                    "text_9": f"City of {town}",
                },
                comments=(
                    CommentPlan(author="saskia", body=f"<p>{town} wants models.</p>", hours=20),
                )
                if number % 2
                else (),
            )
            for number, (name, town) in enumerate(entries)
        ],
        fields={"workspace_id": workspace},
    )


def _paint_stock(day: date, workspace: str) -> BoardPlan:
    """Plan a board without status, people and dates."""
    paints = ("Linseed oil paint, white", "Red lead", "Spar varnish", "Stockholm tar", "Antifoul")
    return BoardPlan(
        name="Paint & varnish <stock>",
        author="elif",
        columns=(
            Column(id="numbers_3", title="Litres", type="numbers", settings=numbers_settings("l")),
            Column(id="checkbox_3", title="Reordered", type="checkbox"),
            Column(id="link_3", title="Data sheet", type="link"),
            Column(id="week_3", title="Delivery week", type="week"),
            Column(id="hour_3", title="Delivery time", type="hour"),
            Column(id="country_3", title="Made in", type="country"),
        ),
        groups=(Group(id="topics", title="Cabinet 1"),),
        items=[
            ItemPlan(
                name=paint,
                group="topics",
                author="elif",
                values={
                    "numbers_3": f"{number * 2.5}",
                    "checkbox_3": {"checked": "true" if number % 2 else "false"},
                    "link_3": f"https://sheets.ohara-varnish.example/{number}",
                    "week_3": {
                        "week": {
                            "startDate": (day - timedelta(days=day.weekday())).isoformat(),
                            "endDate": (day + timedelta(days=6 - day.weekday())).isoformat(),
                        }
                    },
                    "hour_3": {"hour": 7 + number, "minute": 15},
                    "country_3": {"countryCode": "SE", "countryName": "Sweden"},
                },
            )
            for number, paint in enumerate(paints)
        ],
        fields={"workspace_id": workspace},
    )


def _winter_storage(day: date, users: Mapping[str, str], workspace: str) -> BoardPlan:
    return BoardPlan(
        name="Winter storage (closed)",
        columns=(
            Column(id="status", title="Status", type="status", settings=status_settings()),
            Column(id="date", title="Out by", type="date"),
            Column(id="person", title="Responsible", type="people"),
        ),
        groups=(Group(id="topics", title="Shed 3"), Group(id="yard", title="Under tarpaulin")),
        items=[
            ItemPlan(
                name=f"Berth {n}",
                group="topics" if n % 2 else "yard",
                age_days=500,
                changed_days_ago=300,
                values={
                    "status": {"label": "Done"},
                    "date": {"date": (day - timedelta(days=300 - n)).isoformat()},
                    "person": {"personsAndTeams": [{"id": int(users["jonas"]), "kind": "person"}]},
                },
            )
            for n in range(1, 7)
        ],
        fields={"state": "archived", "workspace_id": workspace},
    )
