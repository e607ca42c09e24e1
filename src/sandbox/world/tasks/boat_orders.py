"""The yard's largest board: a job per item, with a column of nearly every type."""

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


def columns(relation: Mapping[str, Any], subitems: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return the board's columns; *relation* and *subitems* are settings that link other boards."""
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
        Column(id="numbers_2", title="Rate", type="numbers", settings=numbers_settings("kr")),
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
        Column(id="subitems", title="Subitems", type="subtasks", settings=dict(subitems)),
        Column(id="item_id", title="Item ID", type="item_id"),
        Column(id="creation_log", title="Created", type="creation_log"),
        Column(id="last_updated", title="Last updated", type="last_updated"),
        Column(id="old_text", title="Retired column", type="text", archived=True),
    )


def subitem_columns() -> tuple[Column, ...]:
    """Return the columns of the board of the sub-items."""
    return (
        Column(id="person", title="Owner", type="people"),
        Column(id="status", title="Status", type="status", settings=status_settings()),
        Column(id="date0", title="Date", type="date"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReferences:
    """
    Records that the jobs refer to.

    Attributes:
        users, tags: Key or name to id.
        houses: Key to the id of an item of another board.
    """

    day: date
    users: Mapping[str, str]
    tags: Mapping[str, str]
    houses: Mapping[str, str]


def plan(
    references: JobReferences,
    *,
    relation: Mapping[str, Any],
    subitems: Mapping[str, Any],
    fields: Mapping[str, Any],
) -> BoardPlan:
    """Plan the board; *relation* and *subitems* are those of `columns`."""
    items = [*_jobs(references), *_unusual_items(references), *_inactive_items()]
    return BoardPlan(
        name=NAME, columns=columns(relation, subitems), groups=GROUPS, items=items, fields=fields
    )


def _jobs(references: JobReferences) -> Iterator[ItemPlan]:
    number = 0
    for boat_number, (boat, group) in enumerate(_BOATS):
        for step, (job, worker, hours, rate) in enumerate(_JOBS):
            number += 1
            values = {
                "numbers": str(hours + number % 5),
                "numbers_2": str(rate),
                "text": f"HL-{2019 + number % 7}-{number:03}",
                **dict(_labels(number, references)),
                **dict(_people(number, references, worker)),
                **dict(_days(number, references)),
                **dict(_texts(number)),
                **dict(_customer(number, references)),
            }
            yield ItemPlan(
                key=f"{boat}/{job}",
                name=f"{boat}: {job}",
                group=group,
                author=worker,
                age_days=20 + number * 3,
                changed_days_ago=number % 19,
                values=values,
                comments=_comments(number, worker),
                subitems=_subitems(number, references)
                if step in {0, 2} and boat_number < 4
                else (),
            )


# Some values stay empty, in no pattern that a test could rely on.


def _labels(number: int, references: JobReferences) -> Iterator[tuple[str, Any]]:
    yield "dropdown", {"ids": sorted({1 + number % 6, 1 + (number * 5) % 6})}
    if number % 11:
        yield "status", {"label": STATUSES[number % len(STATUSES)]}
    if number % 7:
        yield "priority_1", {"label": PRIORITIES[number % len(PRIORITIES)]}
    if number % 2:
        names = (("urgent", "winter", "insurance", "ärende")[number % 4], "yard")
        yield "tags", {"tag_ids": [int(references.tags[name]) for name in names]}
    if number % 5:
        yield "rating", {"rating": 1 + number % 5}


def _people(number: int, references: JobReferences, worker: str) -> Iterator[tuple[str, Any]]:
    if number % 9 == 0:
        return
    helper = _WORKERS[number % len(_WORKERS)]
    people = dict.fromkeys((worker, helper) if number % 3 == 0 else (worker,))
    ids = [{"id": int(references.users[person]), "kind": "person"} for person in people]
    yield "person", {"personsAndTeams": ids}


def _days(number: int, references: JobReferences) -> Iterator[tuple[str, Any]]:
    due = references.day + timedelta(days=number * 2 - 40)
    if number % 8:
        time_of_day = "13:30:00" if number % 10 == 3 else None
        yield "date4", {"date": due.isoformat(), "time": time_of_day}
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


def _customer(number: int, references: JobReferences) -> Iterator[tuple[str, Any]]:
    if number % 4 == 0:
        yield "check", {"checked": "true"}
        yield "email", {"email": f"owner{number}@customers.example", "text": "The owner"}
        yield "phone", {"phone": f"+46 70 123 45 {number:02}", "countryShortName": "SE"}
    if number % 13 == 0:
        house = list(references.houses.values())[number % len(references.houses)]
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


def _subitems(number: int, references: JobReferences) -> tuple[ItemPlan, ...]:
    steps = ("Order timber", "Make the template", "Steam and bend", "Rivet")
    return tuple(
        ItemPlan(
            name=step,
            group="topics",
            author="mikael",
            age_days=10 + number,
            values={
                "person": {
                    "personsAndTeams": [{"id": int(references.users["oskar"]), "kind": "person"}]
                },
                "status": {"label": ("Done", "Working on it", "Stuck")[step_number % 3]},
                "date0": {"date": (references.day + timedelta(days=step_number * 3)).isoformat()},
            }
            if step_number != 3
            else {},
        )
        for step_number, step in enumerate(steps)
    )


def _unusual_items(references: JobReferences) -> Iterator[ItemPlan]:
    """Plan items whose names and texts break careless parsers."""
    nora = {"personsAndTeams": [{"id": int(references.users["nora"]), "kind": "person"}]}
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
    for number, name in enumerate(names):
        yield ItemPlan(
            key=f"odd/{number}",
            name=name,
            group="gruppe_åäö",
            age_days=5 + number,
            changed_days_ago=number,
            values={
                "person": nora,
                "text": name[:60],
                "date4": {"date": (references.day + timedelta(days=number)).isoformat()},
                "long_text": {"text": f"«{name[:80]}»\n\\n is not a line"},
            },
        )
    yield ItemPlan(
        key="bare", name="Nothing filled in at all", group="slip", age_days=2, changed_days_ago=2
    )


def _inactive_items() -> Iterator[ItemPlan]:
    yield ItemPlan(
        name="Archived: old cradle", key="archived", group="slip", age_days=700, state="archived"
    )
    yield ItemPlan(
        name="Deleted by mistake", key="deleted", group="shed", age_days=30, state="deleted"
    )
