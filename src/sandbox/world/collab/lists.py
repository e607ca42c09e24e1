"""Lists of the demo world: berths, customers, work orders, stock, and every template."""

from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.collab.lists.list_item_views import FIRST_PERSON

MOVEMENTS = 6000
URGENT = r.ContentType(id="0x01004F2C7B6A91D843E5B0C6A7D8E9F00112", name="Urgent work order")
_ORDER = r.ContentType(id="0x01004F2C7B6A91D843E5B0C6A7D8E9F00111", name="Work order")
_CUSTOMERS = (
    "Karin Wessel", "Birgitta Nyström", "Margarethe Hoffmann", "Bernd Köhler", "Étienne Lefèvre",
    "Camille Besson", "Setouchi Ferry", "Layla Corniche", "Noa Haifa Rowing", "Katarzyna Zielińska",
    "Grzegorz Łukasik", "Dmitri Sokolov", "James Whitcombe", "Aoife Kinvara", "Sven-Åke Dahl",
    "Rui Carvalho", "Maja Koch", "Helena Novák", "Ana Waterfront", "Tim O'Hara",
)  # fmt: skip
_WORK = ("Replace planks", "Varnish the mast", "Caulk the deck", "Service the engine",
         "New rudder fittings", "Sew a cover", "Paint below the waterline")  # fmt: skip
_STOCK = ("Larch plank", "Oak plank", "Bronze screw", "Copper rivet", "Varnish", "Tar", "Oakum",
          "Shackle", "Block", "Rope 10 mm")  # fmt: skip


def column(name: str, kind: str, **more: Any) -> r.Column:
    """Return a column; its default title is its unescaped name."""
    title = more.pop("title", name.replace("_x0020_", " "))
    return r.Column(name=name, title=title, kind=kind, **more)


def choices(*words: str, is_multiple: bool = False) -> dict[str, Any]:
    """Return the facet of a choice column."""
    return {
        "allowTextEntry": False,
        "choices": list(words),
        "displayAs": "checkBoxes" if is_multiple else "dropDownMenu",
    }


def timestamp(day: date, hour: int = 9) -> str:
    """Return a time of a day in the stored format."""
    return f"{day.isoformat()}T{hour:02}:00:00Z"


def create_lists(builder: ContentBuilder, sites: Mapping[str, r.Site], day: date) -> None:
    """Create all lists."""
    _berths(builder, sites["/sites/yard"], day)
    _orders(builder, sites["/sites/yard"], day)
    _movements(builder, sites["/sites/store"], day)
    _templates(builder, sites[""], day)


def _berths(builder: ContentBuilder, site: r.Site, day: date) -> None:
    rng = Random("berths")
    columns = (
        column("Pontoon", "choice", facet=choices("A", "B", "C"), is_indexed=True),
        column("Length", "number", is_indexed=True, facet={"decimalPlaces": "one"}),
        column("Draught", "number", facet={"decimalPlaces": "two"}),
        column("Paid", "boolean"),
        column("Until", "dateTime", facet={"displayAs": "default", "format": "dateOnly"}),
        column("Tenant", "text", facet={"maxLength": 255}, is_required=True),
        column("Fee", "currency", facet={"locale": "sv-SE"}),
        column("Extras", "choice", facet=choices("Power", "Water", "Crane", is_multiple=True)),
        column("Harbour_x0020_note", "text", facet={"allowMultipleLines": True}),
        column("Code", "text", facet={"maxLength": 20}, is_read_only=True),
        column("Label", "calculated", facet={"formula": "=Pontoon&Length", "outputType": "text"}),
        column("Internal", "text", is_hidden=True),
    )
    rows = []
    for number in range(1, 121):
        fields: dict[str, Any] = {
            "Title": f"Berth {number}",
            "Pontoon": "ABC"[number % 3],
            "Length": 6 + rng.randint(0, 140) / 10,
            "Paid": number % 4 != 0,
            "Tenant": rng.choice(_CUSTOMERS),
            "Fee": 400 + 25 * rng.randint(0, 40),
            "Code": f"B-{number:03}",
            "Label": f"{'ABC'[number % 3]}{number}",
        }
        if number % 7:
            fields["Draught"] = rng.randint(60, 240) / 100
        if number % 5:
            fields["Until"] = timestamp(day + timedelta(days=rng.randint(-90, 400)), 0)
        if number % 3 == 0:
            fields["Extras"] = rng.sample(["Power", "Water", "Crane"], 2)
        if number % 10 == 0:
            fields["Harbour_x0020_note"] = "Mind the ferry's wash.\nFenders on both sides."
        rows.append(fields)
    builder.list_in(site, "Berths", columns, rows, description="Who lies where, and until when")


def _orders(builder: ContentBuilder, site: r.Site, day: date) -> None:
    rng = Random("orders")
    customers = builder.list_in(
        site,
        "Customers",
        (
            column("Town", "text"),
            column("Since", "dateTime", is_indexed=True),
            column("Web", "hyperlinkOrPicture", facet={"isPicture": False}),
        ),
        [
            {
                "Title": name,
                "Town": rng.choice(("Stockholm", "Hamburg", "Nantes", "Gdańsk", "Galway")),
                "Since": timestamp(day - timedelta(days=rng.randint(100, 3000))),
                "Web": {"Url": f"https://customer-{number}.example/", "Description": name},
            }
            for number, name in enumerate(_CUSTOMERS, 1)
        ],
        template="contacts",
    )
    lookup = {"allowMultipleValues": False, "columnName": "Title", "listId": customers.id}
    orders = builder.list_in(
        site,
        "Work orders",
        (
            column("Customer", "lookup", facet=lookup, is_indexed=True),
            column("Assigned", "personOrGroup", facet={"allowMultipleSelection": False}),
            column("State", "choice", facet=choices("Open", "Doing", "Done"), is_indexed=True),
            column("Hours", "number"),
            column("Due", "dateTime", is_indexed=True),
        ),
        content_types=(_ORDER, URGENT),
        template="tasks",
    )
    for number in range(1, 181):
        builder.row(
            orders,
            {
                "Title": f"{rng.choice(_WORK)} #{number}",
                "CustomerLookupId": str(rng.randint(1, len(_CUSTOMERS))),
                "AssignedLookupId": str(FIRST_PERSON + rng.randint(0, 8)),
                "State": rng.choice(("Open", "Doing", "Done")),
                "Hours": rng.randint(1, 60),
                "Due": timestamp(day + timedelta(days=rng.randint(-60, 60))),
            },
            content_type=(URGENT if number % 12 == 0 else _ORDER).id,
            created=timestamp(day - timedelta(days=200 - number), 8),
            modified=timestamp(day - timedelta(days=190 - number), 14),
        )


def _movements(builder: ContentBuilder, site: r.Site, day: date) -> None:
    """Create a list above the threshold: one indexed column is selective, another is not."""
    builder.library(site, "Documents", segment="Shared Documents")
    rng = Random("stock")
    site_list = builder.list_in(
        site,
        "Stock movements",
        (
            column("Part", "text", is_indexed=True),
            column("Warehouse", "choice", facet=choices("Main", "Quay"), is_indexed=True),
            column("Direction", "choice", facet=choices("In", "Out")),
            column("Quantity", "number"),
            column("Moved", "dateTime", is_indexed=True),
            column("Counted", "boolean"),
        ),
        description="Everything that came or went",
    )
    start = day - timedelta(days=1500)
    for number in range(1, MOVEMENTS + 1):
        when = timestamp(start + timedelta(days=number // 4), 6 + number % 12)
        builder.row(
            site_list,
            {
                "Title": f"M-{number:05}",
                "Part": _STOCK[number % len(_STOCK)],
                "Warehouse": "Quay" if number % 8 == 0 else "Main",
                "Direction": "In" if number % 3 else "Out",
                "Quantity": rng.randint(1, 400),
                "Moved": when,
                "Counted": number % 50 == 0,
            },
            created=when,
            modified=when,
        )


def _templates(builder: ContentBuilder, site: r.Site, day: date) -> None:
    builder.list_in(
        site,
        "Announcements",
        (column("Body", "text", facet={"allowMultipleLines": True}), column("Expires", "dateTime")),
        [
            {
                "Title": f"{word} day",
                "Body": f"On the {word.lower()} day the crane is out of order.",
                "Expires": timestamp(day + timedelta(days=30)),
            }
            for word in ("Launching", "Cleaning", "Open", "Crane")
        ],
        template="announcements",
    )
    builder.list_in(
        site,
        "Moorings",
        (
            column("Place", "geolocation"),
            column("Picture", "thumbnail"),
            column("Kind", "term", facet={"allowMultipleValues": False}),
        ),
        [{"Title": "Buoy 7", "Place": {"latitude": 59.3, "longitude": 18.1}}],
        template="genericList",
    )
    for title, template in (
        ("Links", "links"),
        ("Defects", "issueTracking"),
        ("Club calendar", "events"),
        ("Customer survey", "survey"),
        ("Talk", "discussionBoard"),
    ):
        rows = [{"Title": f"{title} {number}"} for number in range(1, 6)]
        builder.list_in(site, title, (), rows, template=template)
    builder.list_in(site, "Workflow history", (), [{"Title": "run 1"}], is_hidden=True)
    builder.list_in(site, "appdata", (), is_system=True, is_hidden=True, template="noCodePublic")
