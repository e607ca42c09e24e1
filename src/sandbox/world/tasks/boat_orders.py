"""The yard's big board: a job a line, with a column of nearly every type."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sandbox.boards.records import Column, Group
from sandbox.boards.settings import dropdown_settings, numbers_settings, status_settings
from sandbox.world.tasks.board_plan import BoardPlan, CommentPlan, ItemPlan

NAME = "Boat orders"
STATUSES = ("Working on it", "Done", "Stuck", "Waiting for timber", "Sea trial")
PRIORITIES = ("Low", "Medium", "High", "Critical ⚠️")
MATERIALS = ("Larch", "Oak", "Pine tar", "Copper rivets", "Epoxy, slow", "Manila rope")

GROUPS = (
    Group(id="slip", title="On the slip", color="#fdab3d"),
    Group(id="shed", title="In the shed", color="#579bfc"),
    Group(id="afloat", title="Afloat again", color="#00c875"),
    Group(id="gruppe_åäö", title="Väntelista / 待ち", color="#a25ddc"),
)

_BOATS = (
    ("Ydun", "slip"),
    ("Sælen", "slip"),
    ("Kittiwake", "shed"),
    ("Havfrue", "shed"),
    ("Mary O'Brien", "shed"),
    ("松風", "afloat"),
    ("Tärnan", "afloat"),
    ("نورس", "gruppe_åäö"),
)
_JOBS = (
    ("replace the garboard strake", "jonas", 48, 380.0),
    ("re-caulk the deck", "mikael", 30, 310.0),
    ("rebuild the rudder", "mikael", 22, 340.0),
    ("survey the rig", "astrid", 6, 420.0),
    ("service the engine", "tomasz", 14, 395.5),
    ("varnish the spars", "elif", 18, 290.0),
    ("cut a new mainsail", "astrid", 40, 450.0),
    ("cast keel bolts", "tomasz", 26, 512.25),
)
_WORKERS = ("jonas", "astrid", "mikael", "tomasz", "elif", "oskar")


def columns(relation: Mapping[str, Any], below: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return the board's columns; *relation* and *below* are settings that name other boards."""
    mirrored = {
        "relation_column": {"connect_boards": True},
        "displayed_linked_columns": [
            {"board_id": str(board_id), "column_ids": ["status_1"]}
            for board_id in relation["boardIds"]
        ],
    }
    return (
        Column(id="person", title="Owner", type="people"),
        Column(id="status", title="Status", type="status", settings=status_settings(STATUSES)),
        Column(
            id="priority_1",
            title="Priority",
            type="status",
            settings=status_settings(PRIORITIES, done=0),
        ),
        Column(id="date4", title="Due date", type="date"),
        Column(id="timerange", title="Planned", type="timeline"),
        Column(id="text", title="Hull number", type="text"),
        Column(id="notes_7", title="Notes", type="long_text"),
        Column(id="long_text", title="Description", type="long_text", description="What to do"),
        Column(id="numbers", title="Hours", type="numbers", settings=numbers_settings("h")),
        Column(
            id="numbers_2",
            title="Rate",
            type="numbers",
            settings=numbers_settings("kr"),
        ),
        Column(
            id="formula",
            title="Cost",
            type="formula",
            settings={"formula": "{numbers} * {numbers_2}"},
        ),
        Column(
            id="dropdown",
            title="Materials",
            type="dropdown",
            settings=dropdown_settings(*MATERIALS),
        ),
        Column(id="tags", title="Tags", type="tags", settings={"hide_footer": False}),
        Column(id="link", title="Drawing", type="link"),
        Column(id="check", title="Paid", type="checkbox"),
        Column(id="email", title="Customer's address", type="email"),
        Column(id="phone", title="Customer's phone", type="phone"),
        Column(id="rating", title="Difficulty", type="rating", settings={"limit": 5}),
        Column(id="connect_boards", title="House", type="board_relation", settings=dict(relation)),
        Column(id="mirror", title="House status", type="mirror", settings=mirrored),
        Column(id="subitems", title="Subitems", type="subtasks", settings=dict(below)),
        Column(id="item_id", title="Item ID", type="item_id"),
        Column(id="creation_log", title="Created", type="creation_log"),
        Column(id="last_updated", title="Last updated", type="last_updated"),
        Column(id="old_text", title="Retired column", type="text", archived=True),
    )


def sub_columns() -> tuple[Column, ...]:
    """Return the columns of the board that holds the sub-items."""
    return (
        Column(id="person", title="Owner", type="people"),
        Column(id="status", title="Status", type="status", settings=status_settings()),
        Column(id="date0", title="Date", type="date"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Yard:
    """
    What the jobs refer to.

    Attributes:
        users, tags, houses: Key to id; houses are the items of another board.
    """

    day: date
    users: Mapping[str, str]
    tags: Mapping[str, str]
    houses: Mapping[str, str]


def plan(
    yard: Yard, *, relation: Mapping[str, Any], below: Mapping[str, Any], rest: Mapping[str, Any]
) -> BoardPlan:
    """Return the board; *relation* and *below* are those of `columns`."""
    items = [*_jobs(yard), *_odd(yard), *_gone()]
    return BoardPlan(
        name=NAME, columns=columns(relation, below), groups=GROUPS, items=items, rest=rest
    )


def _jobs(yard: Yard) -> Iterator[ItemPlan]:
    number = 0
    for place, (boat, group) in enumerate(_BOATS):
        for step, (job, worker, hours, rate) in enumerate(_JOBS):
            number += 1
            values = {
                "numbers": str(hours + number % 5),
                "numbers_2": str(rate),
                "text": f"HL-{2019 + number % 7}-{number:03}",
                **dict(_labels(number, yard)),
                **dict(_people(number, yard, worker)),
                **dict(_days(number, yard)),
                **dict(_texts(number)),
                **dict(_customer(number, yard)),
            }
            yield ItemPlan(
                key=f"{boat}/{job}",
                name=f"{boat}: {job}",
                group=group,
                author=worker,
                age=20 + number * 3,
                touched=number % 19,
                values=values,
                comments=_comments(number, worker),
                below=_below(number, yard) if step in {0, 2} and place < 4 else (),
            )


# Some cells stay empty, in no pattern that a reader could lean on.


def _labels(number: int, yard: Yard) -> Iterator[tuple[str, Any]]:
    yield "dropdown", {"ids": sorted({1 + number % 6, 1 + (number * 5) % 6})}
    if number % 11:
        yield "status", {"label": STATUSES[number % len(STATUSES)]}
    if number % 7:
        yield "priority_1", {"label": PRIORITIES[number % len(PRIORITIES)]}
    if number % 2:
        names = (("urgent", "winter", "insurance", "ärende")[number % 4], "yard")
        yield "tags", {"tag_ids": [int(yard.tags[name]) for name in names]}
    if number % 5:
        yield "rating", {"rating": 1 + number % 5}


def _people(number: int, yard: Yard, worker: str) -> Iterator[tuple[str, Any]]:
    if number % 9 == 0:
        return
    helper = _WORKERS[number % len(_WORKERS)]
    people = dict.fromkeys((worker, helper) if number % 3 == 0 else (worker,))
    ids = [{"id": int(yard.users[person]), "kind": "person"} for person in people]
    yield "person", {"personsAndTeams": ids}


def _days(number: int, yard: Yard) -> Iterator[tuple[str, Any]]:
    due = yard.day + timedelta(days=number * 2 - 40)
    if number % 8:
        hour = "13:30:00" if number % 10 == 3 else None
        yield "date4", {"date": due.isoformat(), "time": hour}
    if number % 4 != 1:
        start = due - timedelta(days=6 + number % 5)
        yield "timerange", {"from": start.isoformat(), "to": due.isoformat()}


def _texts(number: int) -> Iterator[tuple[str, Any]]:
    if number % 5 == 0:
        yield "notes_7", {"text": "Ask the customer before anything is cut."}
    if number % 3 != 2:
        yield "long_text", {"text": _description(number)}
    if number % 6 == 0:
        url = f"https://drawings.harbourlight.example/{number}?sheet=1&rev=b"
        yield "link", {"url": url, "text": f"Sheet {number}"}


def _customer(number: int, yard: Yard) -> Iterator[tuple[str, Any]]:
    if number % 4 == 0:
        yield "check", {"checked": "true"}
        yield "email", {"email": f"owner{number}@customers.example", "text": "The owner"}
        yield "phone", {"phone": f"+46 70 123 45 {number:02}", "countryShortName": "SE"}
    if number % 13 == 0:
        house = list(yard.houses.values())[number % len(yard.houses)]
        yield "connect_boards", {"item_ids": [int(house)]}


def _description(number: int) -> str:
    return (
        "Take the old one out with care, the seats are wanted as patterns.\n"
        f"Batch {number}. Behåll alla bultar – räkna dem.\n\n"
        "1. photograph  2. remove  3. measure twice"
    )


def _comments(number: int, worker: str) -> tuple[CommentPlan, ...]:
    if number == 10:  # more than an item shows at once
        return tuple(
            CommentPlan(
                author=_WORKERS[n % 6], body=f"<p>Day {n}: one seam done.</p>", hours=n * 24
            )
            for n in range(30, 0, -1)
        )
    if number % 3:
        return ()
    first = CommentPlan(
        author=worker,
        body="<p>Started. The old plank was <strong>softer</strong> than it looked &amp; wet.</p>",
        hours=72 + number,
        replies=(
            ("nora", "<p>Then we take the next one too.</p>", 70 + number),
            (worker, "<p>Tack! 👍</p>", 60 + number),
        )
        if number % 2
        else (),
    )
    second = CommentPlan(
        author="linnea",
        body=f"<p>Invoice {number} is prepared.<br>Whom do I send it to?</p>",
        hours=20 + number,
    )
    return (first, second)


def _below(number: int, yard: Yard) -> tuple[ItemPlan, ...]:
    steps = ("Order timber", "Make the template", "Steam and bend", "Rivet")
    return tuple(
        ItemPlan(
            name=step,
            group="topics",
            author="mikael",
            age=10 + number,
            values={
                "person": {"personsAndTeams": [{"id": int(yard.users["oskar"]), "kind": "person"}]},
                "status": {"label": ("Done", "Working on it", "Stuck")[place % 3]},
                "date0": {"date": (yard.day + timedelta(days=place * 3)).isoformat()},
            }
            if place != 3
            else {},
        )
        for place, step in enumerate(steps)
    )


def _odd(yard: Yard) -> Iterator[ItemPlan]:
    """Yield items whose names and texts trip up careless readers."""
    mine = {"personsAndTeams": [{"id": int(yard.users["nora"]), "kind": "person"}]}
    names = (
        'Quote " and backslash \\ and {"json": [1, 2]}',
        "<script>alert('name')</script> & <b>bold</b>",
        "   blanks   around   ",
        "Emoji 👩‍🔧🛠️ and a family 👨‍👩‍👧‍👦",
        "عودة الصاري — ליום שלישי",
        "null",
        "0",
        "Line\u2028separator and tab\there",
        "N" * 255,
        "ﬁne print ½ Ⅷ ＦＵＬＬ width",
    )
    for place, name in enumerate(names):
        yield ItemPlan(
            key=f"odd/{place}",
            name=name,
            group="gruppe_åäö",
            age=5 + place,
            touched=place,
            values={
                "person": mine,
                "text": name[:60],
                "date4": {"date": (yard.day + timedelta(days=place)).isoformat()},
                "long_text": {"text": f"«{name[:80]}»\n\\n is not a line"},
            },
        )
    yield ItemPlan(key="bare", name="Nothing filled in at all", group="slip", age=2, touched=2)


def _gone() -> Iterator[ItemPlan]:
    yield ItemPlan(
        name="Archived: old cradle", key="archived", group="slip", age=700, state="archived"
    )
    yield ItemPlan(name="Deleted by mistake", key="deleted", group="shed", age=30, state="deleted")
