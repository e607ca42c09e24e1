"""The projects of yard and studio and the books of the office: some thousand files in folders."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import msgspec

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder

FIRST_BOAT = "H-101 Vesper"
RARE_WORD = "garboard"  # in forty surveys and nowhere else
_BOATS = (
    "Vesper", "Sturnus", "Alma", "Havsörn", "Kittiwake", "Petrea", "Bris", "Lotta", "Näcken",
    "Sula", "Thetis", "Vega", "Ydun", "Zephyr", "Aurora", "Brage", "Cirrus", "Dunlin", "Ellida",
    "Freja", "Gullmar", "Hilda", "Ida", "Juno", "Karin", "Linnea", "Mistral", "Njord", "Orion",
    "Polaris", "Rán", "Saga", "Tärnan", "Ulla", "Viola", "Wilma",
)  # fmt: skip
_HOUSES = (
    "Boathouse Nacka", "Kaj 14", "Villa Skär", "Pier House", "Lotsgården", "Fish Hall Elbe",
    "Sauna Raft", "Harbour Bath", "Lock Keeper's House", "Rowing Club Kinvara", "Ferry Terminal",
    "Corniche Pavilion", "Salt Store", "Lighthouse Annex", "Net Loft", "Reed House", "Wharf 7",
    "Float Homes", "Dry Dock Office", "Marina Kiosk", "Breakwater Bar", "Sail Loft", "Quay School",
    "Museum Jetty",
)  # fmt: skip
_PARTS = ("keel", "stem", "transom", "deck", "mast", "rudder", "coaming", "planking", "frames")
_STATES = ("sound", "soft at the ends", "to be replaced", "repaired last year", "freshly oiled")
_ROOMS = ("kitchen", "hall", "terrace", "bath", "stairs", "roof", "jetty", "studio", "cellar")
_MATERIALS = ("larch", "oak", "zinc", "limestone", "reed", "brick", "glass", "ash", "cork")
_YARD = ("jonas@harbourlight.example", "astrid@harbourlight.example",
         "mikael@harbourlight.example", "priya@harbourlight.example")  # fmt: skip
_STUDIO = ("henrik@harbourlight-studio.example", "saskia@harbourlight-studio.example",
           "yuki@harbourlight-studio.example", "fatou@harbourlight-studio.example")  # fmt: skip


class ProjectFiles:
    """Makes one project's files: its own chance, its people, and days that move on."""

    def __init__(
        self, make: ContentBuilder, name: str, people: tuple[str, ...], start: date
    ) -> None:
        self._make = make
        self._people = people
        self._at = datetime.combine(start, datetime.min.time()) + timedelta(hours=7)
        self.chance = Random(name)

    def when(self) -> str:
        """Return a moment after the one before."""
        self._at += timedelta(hours=self.chance.randint(2, 60), minutes=self.chance.randint(0, 59))
        return f"{self._at.isoformat()}Z"

    def folder(self, parent: r.Item, name: str) -> r.Item:
        """Make a folder."""
        when = self.when()
        author = self.chance.choice(self._people)
        return self._make.folder(
            parent, name, created=when, modified=when, author=author, editor=author
        )

    def file(self, parent: r.Item, name: str, kind: str, *lines: str, **more: Any) -> r.Item:
        """Make a file of a recipe."""
        when = self.when()
        return self._make.file(
            parent,
            name,
            (kind, *lines),
            created=when,
            modified=when,
            author=self.chance.choice(self._people),
            editor=self.chance.choice(self._people),
            **more,
        )


def create_project_files(
    make: ContentBuilder, sites: Mapping[str, r.Site], labels: Mapping[str, r.Label], day: date
) -> None:
    """Make the libraries of yard, studio and office."""
    _yard(make, sites["/sites/yard"], labels, day)
    _studio(make, sites["/sites/studio"], labels, day)
    _office(make, sites["/sites/office"], labels, day)


def _labelled(make: ContentBuilder, item: r.Item, label: r.Label, method: str = "standard") -> None:
    make.add(msgspec.structs.replace(item, label=label.id, label_method=method))


# -- the yard


def _yard(make: ContentBuilder, site: r.Site, labels: Mapping[str, r.Label], day: date) -> None:
    root = make.library(site, "Documents", segment="Shared Documents", description="Every boat")
    drawing = r.ContentType(id="0x010100C0A1B2D3E4F5061728394A5B6C7D8E9F", name="Drawing")
    drawings = make.library(
        site,
        "Drawings",
        description="Lines, sections and sail plans",
        columns=(
            r.Column(
                name="Scale",
                title="Scale",
                kind="choice",
                is_indexed=True,
                facet={"choices": ["1:10", "1:20", "1:50"], "displayAs": "dropDownMenu"},
            ),
            r.Column(name="Sheet", title="Sheet", kind="number", facet={"decimalPlaces": "none"}),
            r.Column(name="Approved", title="Approved", kind="boolean"),
        ),
        content_types=(drawing, r.ContentType(id="0x0120", name="Folder")),
    )
    for number, boat in enumerate(_BOATS):
        hand = ProjectFiles(make, boat, _YARD, day - timedelta(days=900 - number * 20))
        name = f"H-{101 + number} {boat}"
        folder = hand.folder(root, name)
        _survey(make, hand, folder, boat, labels, is_rare=number % 9 != 8)
        _photos(hand, folder, boat)
        _invoices(make, hand, folder, boat, labels)
        for sheet in range(1, 5):
            hand.file(
                drawings,
                f"{name} sheet {sheet}.pdf",
                "pdf",
                f"{boat}, sheet {sheet}",
                f"{hand.chance.choice(_PARTS)} at {hand.chance.choice(['1:10', '1:20', '1:50'])}",
                content_type=drawing.id,
                fields={"Scale": hand.chance.choice(["1:10", "1:20", "1:50"]), "Sheet": sheet,
                        "Approved": sheet < 3},
            )  # fmt: skip


def _survey(
    make: ContentBuilder,
    hand: ProjectFiles,
    boat_folder: r.Item,
    boat: str,
    labels: Mapping[str, r.Label],
    *,
    is_rare: bool,
) -> None:
    folder = hand.folder(boat_folder, "01 Survey")
    for year in (1, 2, 3):
        lines = [
            f"The {part} is {hand.chance.choice(_STATES)}."
            for part in hand.chance.sample(_PARTS, 4)
        ]
        if is_rare and year == 1:
            lines.append(f"The {RARE_WORD} strakes need new fastenings.")
        survey = hand.file(
            folder, f"Survey {boat} {year}.docx", "docx", f"Survey of {boat}, part {year}", *lines
        )
        if year == 3:
            _labelled(make, survey, labels["Confidential - Yard"])
    hand.file(folder, "Moisture.csv", "text", "part;percent", *(
        f"{part};{hand.chance.randint(12, 31)}" for part in _PARTS))  # fmt: skip
    deep = hand.folder(hand.folder(folder, "Below the waterline"), "Fastenings")
    hand.file(deep, "Bolts.xlsx", "xlsx", "bolt;state", *(
        f"{place};{hand.chance.choice(_STATES)}" for place in range(1, 12)))  # fmt: skip
    hand.file(deep, "notes.md", "text", f"# {boat}", "", "Ask *Mikael* before drilling.")


def _photos(hand: ProjectFiles, boat_folder: r.Item, boat: str) -> None:
    folder = hand.folder(boat_folder, "02 Photos")
    for place in ("Hull", "Deck", "Rig"):
        inside = hand.folder(folder, place)
        for number in range(1, 6):
            hand.file(inside, f"IMG_{hand.chance.randint(1000, 9999)}_{number}.png", "png",
                      boat, place, str(number))  # fmt: skip


def _invoices(
    make: ContentBuilder,
    hand: ProjectFiles,
    boat_folder: r.Item,
    boat: str,
    labels: Mapping[str, r.Label],
) -> None:
    folder = hand.folder(boat_folder, "03 Contract and invoices")
    contract = hand.file(
        folder, f"Contract {boat}.pdf", "pdf", f"Contract for {boat}", "Signed by both sides"
    )
    _labelled(make, contract, labels["Confidential"], "privileged")
    for number in range(1, 5):
        hand.file(folder, f"Invoice {2000 + hand.chance.randint(1, 999)}-{number}.pdf", "pdf",
                  f"Invoice {number} for {boat}",
                  f"Labour {hand.chance.randint(8, 90)} hours")  # fmt: skip


# -- the studio


def _studio(make: ContentBuilder, site: r.Site, labels: Mapping[str, r.Label], day: date) -> None:
    root = make.library(site, "Documents", segment="Shared Documents")
    contracts = make.library(site, "Contracts", description="Signed ones only")
    for number, house in enumerate(_HOUSES):
        hand = ProjectFiles(make, house, _STUDIO, day - timedelta(days=700 - number * 25))
        folder = hand.folder(root, f"{number + 1:02} {house}")
        for phase in ("Sketch", "Planning", "Site"):
            inside = hand.folder(folder, phase)
            for room in hand.chance.sample(_ROOMS, 4):
                material = hand.chance.choice(_MATERIALS)
                hand.file(inside, f"{room}.docx", "docx", f"{house}: {room}",
                          f"The {room} is to be of {material}.")  # fmt: skip
                hand.file(inside, f"{room}.svg", "svg", house, room)
            hand.file(inside, "schedule.csv", "text", "week;work", *_weeks(hand))
            notes = hand.folder(inside, "Meetings")
            for meeting in range(1, 4):
                hand.file(notes, f"minutes-{meeting}.html", "html", f"{house}, meeting {meeting}",
                          f"Agreed: {hand.chance.choice(_MATERIALS)} for the "
                          f"{hand.chance.choice(_ROOMS)}.")  # fmt: skip
        contract = hand.file(contracts, f"{house} - lease.pdf", "pdf", f"Lease of {house}")
        label = labels["Confidential - Studio" if number % 2 else "Highly confidential"]
        _labelled(make, contract, label, "auto")


def _weeks(hand: ProjectFiles) -> Iterator[str]:
    for week in range(1, 9):
        yield f"{week};{hand.chance.choice(_ROOMS)} in {hand.chance.choice(_MATERIALS)}"


# -- the office


def _office(make: ContentBuilder, site: r.Site, labels: Mapping[str, r.Label], day: date) -> None:
    root = make.library(site, "Documents", segment="Shared Documents")
    people = ("linnea@harbourlight.example", "ingrid@harbourlight-studio.example")
    for year in range(day.year - 3, day.year + 1):
        hand = ProjectFiles(make, f"books {year}", people, date(year, 1, 4))
        books = hand.folder(root, f"Accounts {year}")
        for month in range(1, 13):
            folder = hand.folder(books, f"{year}-{month:02}")
            total = hand.chance.randint(20_000, 90_000)
            hand.file(folder, "ledger.xlsx", "xlsx", "account;sum", f"3000;{total}",
                      f"4000;{total // 3}")  # fmt: skip
            hand.file(folder, "bank.csv", "text", "date;amount", f"{year}-{month:02}-05;{total}")
            wages = hand.file(folder, "wages.pdf", "pdf", f"Wages {year}-{month:02}")
            if month % 3 == 0:
                _labelled(make, wages, labels["Highly confidential"])
            hand.file(folder, "receipt.png", "png", str(year), str(month))
