"""Project files of yard and studio and accounts of the office: thousands of files."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import msgspec

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder

FIRST_BOAT = "H-101 Vesper"
RARE_WORD = "garboard"  # only in the first survey of 32 boats
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
    """Creates the files of one project, with its own random numbers, authors and times."""

    def __init__(
        self, builder: ContentBuilder, name: str, people: tuple[str, ...], start: date
    ) -> None:
        self._builder = builder
        self._people = people
        self._now = datetime.combine(start, datetime.min.time()) + timedelta(hours=7)
        self.rng = Random(name)

    def when(self) -> str:
        """Return a time after the previous one."""
        self._now += timedelta(hours=self.rng.randint(2, 60), minutes=self.rng.randint(0, 59))
        return f"{self._now.isoformat()}Z"

    def folder(self, parent: r.Item, name: str) -> r.Item:
        """Add a folder."""
        when = self.when()
        author = self.rng.choice(self._people)
        return self._builder.folder(
            parent, name, created=when, modified=when, author=author, editor=author
        )

    def file(self, parent: r.Item, name: str, kind: str, *lines: str, **more: Any) -> r.Item:
        """Add a file generated from a recipe."""
        when = self.when()
        return self._builder.file(
            parent,
            name,
            (kind, *lines),
            created=when,
            modified=when,
            author=self.rng.choice(self._people),
            editor=self.rng.choice(self._people),
            **more,
        )


def create_project_files(
    builder: ContentBuilder, sites: Mapping[str, r.Site], labels: Mapping[str, r.Label], day: date
) -> None:
    """Create the libraries of yard, studio and office."""
    _yard(builder, sites["/sites/yard"], labels, day)
    _studio(builder, sites["/sites/studio"], labels, day)
    _office(builder, sites["/sites/office"], labels, day)


def _label(builder: ContentBuilder, item: r.Item, label: r.Label, method: str = "standard") -> None:
    builder.add(msgspec.structs.replace(item, label=label.id, label_method=method))


# -- the yard


def _yard(builder: ContentBuilder, site: r.Site, labels: Mapping[str, r.Label], day: date) -> None:
    root = builder.library(site, "Documents", segment="Shared Documents", description="Every boat")
    drawing = r.ContentType(id="0x010100C0A1B2D3E4F5061728394A5B6C7D8E9F", name="Drawing")
    drawings = builder.library(
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
        project = ProjectFiles(builder, boat, _YARD, day - timedelta(days=900 - number * 20))
        name = f"H-{101 + number} {boat}"
        folder = project.folder(root, name)
        _survey(builder, project, folder, boat, labels, is_rare=number % 9 != 8)
        _photos(project, folder, boat)
        _invoices(builder, project, folder, boat, labels)
        for sheet in range(1, 5):
            project.file(
                drawings,
                f"{name} sheet {sheet}.pdf",
                "pdf",
                f"{boat}, sheet {sheet}",
                f"{project.rng.choice(_PARTS)} at {project.rng.choice(['1:10', '1:20', '1:50'])}",
                content_type=drawing.id,
                fields={"Scale": project.rng.choice(["1:10", "1:20", "1:50"]), "Sheet": sheet,
                        "Approved": sheet < 3},
            )  # fmt: skip


def _survey(
    builder: ContentBuilder,
    project: ProjectFiles,
    boat_folder: r.Item,
    boat: str,
    labels: Mapping[str, r.Label],
    *,
    is_rare: bool,
) -> None:
    folder = project.folder(boat_folder, "01 Survey")
    for year in (1, 2, 3):
        lines = [
            f"The {part} is {project.rng.choice(_STATES)}."
            for part in project.rng.sample(_PARTS, 4)
        ]
        if is_rare and year == 1:
            lines.append(f"The {RARE_WORD} strakes need new fastenings.")
        survey = project.file(
            folder, f"Survey {boat} {year}.docx", "docx", f"Survey of {boat}, part {year}", *lines
        )
        if year == 3:
            _label(builder, survey, labels["Confidential - Yard"])
    project.file(folder, "Moisture.csv", "text", "part;percent", *(
        f"{part};{project.rng.randint(12, 31)}" for part in _PARTS))  # fmt: skip
    deep = project.folder(project.folder(folder, "Below the waterline"), "Fastenings")
    project.file(deep, "Bolts.xlsx", "xlsx", "bolt;state", *(
        f"{number};{project.rng.choice(_STATES)}" for number in range(1, 12)))  # fmt: skip
    project.file(deep, "notes.md", "text", f"# {boat}", "", "Ask *Mikael* before drilling.")


def _photos(project: ProjectFiles, boat_folder: r.Item, boat: str) -> None:
    folder = project.folder(boat_folder, "02 Photos")
    for area in ("Hull", "Deck", "Rig"):
        subfolder = project.folder(folder, area)
        for number in range(1, 6):
            project.file(subfolder, f"IMG_{project.rng.randint(1000, 9999)}_{number}.png", "png",
                         boat, area, str(number))  # fmt: skip


def _invoices(
    builder: ContentBuilder,
    project: ProjectFiles,
    boat_folder: r.Item,
    boat: str,
    labels: Mapping[str, r.Label],
) -> None:
    folder = project.folder(boat_folder, "03 Contract and invoices")
    contract = project.file(
        folder, f"Contract {boat}.pdf", "pdf", f"Contract for {boat}", "Signed by both sides"
    )
    _label(builder, contract, labels["Confidential"], "privileged")
    for number in range(1, 5):
        project.file(folder, f"Invoice {2000 + project.rng.randint(1, 999)}-{number}.pdf", "pdf",
                     f"Invoice {number} for {boat}",
                     f"Labour {project.rng.randint(8, 90)} hours")  # fmt: skip


# -- the studio


def _studio(
    builder: ContentBuilder, site: r.Site, labels: Mapping[str, r.Label], day: date
) -> None:
    root = builder.library(site, "Documents", segment="Shared Documents")
    contracts = builder.library(site, "Contracts", description="Signed ones only")
    for number, house in enumerate(_HOUSES):
        project = ProjectFiles(builder, house, _STUDIO, day - timedelta(days=700 - number * 25))
        folder = project.folder(root, f"{number + 1:02} {house}")
        for phase in ("Sketch", "Planning", "Site"):
            subfolder = project.folder(folder, phase)
            for room in project.rng.sample(_ROOMS, 4):
                material = project.rng.choice(_MATERIALS)
                project.file(subfolder, f"{room}.docx", "docx", f"{house}: {room}",
                             f"The {room} is to be of {material}.")  # fmt: skip
                project.file(subfolder, f"{room}.svg", "svg", house, room)
            project.file(subfolder, "schedule.csv", "text", "week;work", *_weeks(project))
            notes = project.folder(subfolder, "Meetings")
            for meeting in range(1, 4):
                project.file(notes, f"minutes-{meeting}.html", "html",
                             f"{house}, meeting {meeting}",
                             f"Agreed: {project.rng.choice(_MATERIALS)} for the "
                             f"{project.rng.choice(_ROOMS)}.")  # fmt: skip
        contract = project.file(contracts, f"{house} - lease.pdf", "pdf", f"Lease of {house}")
        label = labels["Confidential - Studio" if number % 2 else "Highly confidential"]
        _label(builder, contract, label, "auto")


def _weeks(project: ProjectFiles) -> Iterator[str]:
    for week in range(1, 9):
        yield f"{week};{project.rng.choice(_ROOMS)} in {project.rng.choice(_MATERIALS)}"


# -- the office


def _office(
    builder: ContentBuilder, site: r.Site, labels: Mapping[str, r.Label], day: date
) -> None:
    root = builder.library(site, "Documents", segment="Shared Documents")
    people = ("linnea@harbourlight.example", "ingrid@harbourlight-studio.example")
    for year in range(day.year - 3, day.year + 1):
        project = ProjectFiles(builder, f"books {year}", people, date(year, 1, 4))
        books = project.folder(root, f"Accounts {year}")
        for month in range(1, 13):
            folder = project.folder(books, f"{year}-{month:02}")
            total = project.rng.randint(20_000, 90_000)
            project.file(folder, "ledger.xlsx", "xlsx", "account;sum", f"3000;{total}",
                         f"4000;{total // 3}")  # fmt: skip
            project.file(folder, "bank.csv", "text", "date;amount", f"{year}-{month:02}-05;{total}")
            wages = project.file(folder, "wages.pdf", "pdf", f"Wages {year}-{month:02}")
            if month % 3 == 0:
                _label(builder, wages, labels["Highly confidential"])
            project.file(folder, "receipt.png", "png", str(year), str(month))
